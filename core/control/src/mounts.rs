//! What is mounted and how it is unmounted. Sizes are bytes, times are seconds since 1970.

use crate::fault::Fault;
use crate::message::Method;
use serde::{Deserialize, Serialize};

/// Asks what is mounted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {}

impl Method for Status {
    const NAME: &str = "status";
    type Reply = StatusReply;
}

/// What is mounted, by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReply {
    /// The process that answers.
    pub process: Process,
    /// Its mounts, in the order in which they were made.
    pub mounts: Vec<MountStatus>,
}

/// A process that owns mounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// Product version.
    pub version: String,
    /// When it started.
    #[serde(default)]
    pub started_unix_s: u64,
    /// The memory it may use for file content.
    #[serde(default)]
    pub budget_bytes: u64,
    /// How much of that it uses.
    #[serde(default)]
    pub held_bytes: u64,
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountStatus {
    /// `org/name`, `datasets/org/name`, `spaces/org/name`.
    pub repo: String,
    /// The revision as it was named.
    pub revision: String,
    /// Full sha of the commit that is shown; empty while it is not known.
    pub commit: String,
    /// The folder of the repo that is shown as the root; empty for the whole repo.
    #[serde(default)]
    pub subfolder: String,
    /// The Hub it comes from.
    #[serde(default)]
    pub endpoint: String,
    /// Absolute path of the mount point.
    pub dir: String,
    /// What it is doing.
    pub state: MountState,
    /// The process that serves it; `None` where it is dead or cannot be asked.
    pub pid: Option<u32>,
    /// When it was mounted.
    #[serde(default)]
    pub mounted_unix_s: u64,
    /// Bytes that programs have read.
    #[serde(default)]
    pub bytes_delivered: u64,
    /// Bytes of content that came over the network.
    #[serde(default)]
    pub bytes_fetched: u64,
    /// Files open now.
    #[serde(default)]
    pub open_files: u64,
    /// Why reads fail or wait, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// What a mount is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountState {
    /// Asking the Hub, or the kernel.
    Starting,
    /// Files can be read.
    Ready,
    /// Going away.
    Stopping,
    /// Its process does not answer; said by clients, never by the process itself.
    Silent,
    /// Its process is gone and every access fails; said by clients.
    Dead,
    /// A state of a newer protocol.
    #[serde(other)]
    Other,
}

/// Unmounts one mount of the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmount {
    /// The mount point, as [`MountStatus::dir`] gives it.
    pub dir: String,
    /// What to do if files are open.
    pub manner: UnmountManner,
}

/// What to do with a mount that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnmountManner {
    /// Fail with `mount_point_busy` and the holders.
    #[default]
    Refuse,
    /// Take it out of the tree now; open files can be read until the process ends, which it does once they are closed.
    Lazily,
}

impl Method for Unmount {
    const NAME: &str = "unmount";
    type Reply = Unmounted;
}

/// The mount is gone from the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmounted {
    /// The mount point.
    pub dir: String,
}
