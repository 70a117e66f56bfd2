//! What is mounted, and how mounts come, change and go. Sizes are bytes, times are seconds since 1970.

use crate::fault::Fault;
use crate::folder::FolderStatus;
use crate::message::Method;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Asks what is mounted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Status {}

impl Method for Status {
    const NAME: &str = "status";
    type Reply = StatusReply;
}

/// What is mounted, by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct StatusReply {
    /// The engine that answers.
    pub engine: EngineStatus,
    /// The Hub folder, if it is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<FolderStatus>,
    /// Its mounts, in the order in which they were made; repos in use in the Hub folder are among them.
    pub mounts: Vec<MountStatus>,
}

/// A process that owns mounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct EngineStatus {
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
    /// Whether all network is paused.
    #[serde(default)]
    pub is_paused: bool,
    /// Its log file; empty if it logs to the terminal.
    #[serde(default)]
    pub log: String,
    /// What is wrong beyond a single mount, as long as it is: settings that cannot be read, a Hub that asks to slow down.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// What it keeps on this device; nothing where it keeps nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Box<StoreStatus>>,
}

/// What is kept on this device of what was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(default)]
pub struct StoreStatus {
    /// Its folder.
    pub dir: String,
    /// Bytes that it takes on the disk.
    pub used_bytes: u64,
    /// Bytes that it may take.
    pub max_bytes: u64,
    /// Bytes that it leaves free on the disk.
    pub keep_free_bytes: u64,
    /// Why nothing is kept at the moment, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct MountStatus {
    /// `org/name`, `datasets/org/name`, `spaces/org/name`.
    pub repo: String,
    /// The revision as it was named.
    pub revision: String,
    /// Full sha of the commit that is shown; empty while it is not known.
    pub commit: String,
    /// Full sha of the commit that the revision stands for by now, where that is another one: `mounts.update` moves the mount to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    /// The folder of the repo that is shown as the root; empty for the whole repo.
    #[serde(default)]
    pub subfolder: String,
    /// The Hub it comes from.
    #[serde(default)]
    pub endpoint: String,
    /// The account that asks, where one was chosen for this mount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
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
    /// Bytes of content that came from the local store.
    #[serde(default)]
    pub bytes_from_store: u64,
    /// Bytes of content that came from the Hugging Face cache.
    #[serde(default)]
    pub bytes_from_hub_cache: u64,
    /// Files open now.
    #[serde(default)]
    pub open_files: u64,
    /// Files of the repo known so far.
    #[serde(default)]
    pub files: u64,
    /// Bytes of these.
    #[serde(default)]
    pub size_bytes: u64,
    /// Whether the engine mounts it whenever it starts.
    #[serde(default)]
    pub at_login: bool,
    /// Whether it moves to a newer commit of its revision by itself.
    #[serde(default)]
    pub follow: bool,
    /// Whether it is a repo in the Hub folder.
    #[serde(default)]
    pub in_folder: bool,
    /// Whether its network is paused.
    #[serde(default)]
    pub is_paused: bool,
    /// Its share of the memory against other mounts; 1 is usual.
    #[serde(default = "one")]
    pub weight: u32,
    /// Why it is not there, or why reads fail, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl MountStatus {
    /// A mount of which no more is known.
    pub fn new(
        repo: impl Into<String>,
        revision: impl Into<String>,
        dir: impl Into<String>,
        state: MountState,
    ) -> Self {
        MountStatus {
            repo: repo.into(),
            revision: revision.into(),
            commit: String::new(),
            update: None,
            subfolder: String::new(),
            endpoint: String::new(),
            account: None,
            dir: dir.into(),
            state,
            pid: None,
            mounted_unix_s: 0,
            bytes_delivered: 0,
            bytes_fetched: 0,
            bytes_from_store: 0,
            bytes_from_hub_cache: 0,
            open_files: 0,
            files: 0,
            size_bytes: 0,
            at_login: false,
            follow: false,
            in_folder: false,
            is_paused: false,
            weight: one(),
            fault: None,
        }
    }
}

fn one() -> u32 {
    1
}

/// What a mount is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MountState {
    /// Asking the Hub, or the kernel.
    Starting,
    /// Files can be read.
    Ready,
    /// Wanted, and not there: `fault` says why. Tried again from time to time.
    Failed,
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

/// Mounts a repo. Mounting what is mounted there already is no error.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(default)]
pub struct AddMount {
    /// As people type it: `org/name`, `datasets/org/name`, `hf://…`, a link of the Hub with its revision and path.
    pub repo: String,
    /// Branch, tag, commit or `refs/pr/N`; `main` where nothing names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Show only this folder of the repo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subfolder: Option<String>,
    /// Absolute path of the mount point; a place in the mount folder without. In the Hub folder a repo is where its name says,
    /// and mounting it there keeps it listed and in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The Hub; the one of the settings without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The account that asks; the default one without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Absolute path of a file with the token, instead of an account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// A token for this mount alone, instead of an account: what `HF_TOKEN` of the client holds. Kept in memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Mount it again whenever the engine starts.
    pub at_login: bool,
    /// Move it to each newer commit of its revision by itself, as `mounts.update` does, once the engine has noticed it.
    pub follow: bool,
    /// Threads that answer the kernel; the setting without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_loops: Option<u16>,
}

/// Without the token.
impl fmt::Debug for AddMount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddMount")
            .field("repo", &self.repo)
            .field("revision", &self.revision)
            .field("subfolder", &self.subfolder)
            .field("dir", &self.dir)
            .field("endpoint", &self.endpoint)
            .field("account", &self.account)
            .field("token_file", &self.token_file)
            .field("at_login", &self.at_login)
            .field("follow", &self.follow)
            .field("event_loops", &self.event_loops)
            .finish_non_exhaustive()
    }
}

impl Method for AddMount {
    const NAME: &str = "mounts.add";
    type Reply = Mounted;
}

/// Files can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Mounted {
    /// The mount.
    pub mount: MountStatus,
    /// Whether it was there before.
    pub is_old: bool,
    /// What else there is to say, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Unmounts one mount of the engine, and forgets that it was wanted at login. A repo in the Hub folder is let go of until its name is
/// used again; the Hub folder itself is turned off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Unmount {
    /// The mount point, as [`MountStatus::dir`] gives it.
    pub dir: String,
    /// What to do if files are open.
    #[serde(default)]
    pub manner: UnmountManner,
}

/// What to do with a mount that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum UnmountManner {
    /// Fail with `mount_point_busy` and the holders.
    #[default]
    Refuse,
    /// Take it out of the tree now; open files can be read until they are closed.
    Lazily,
    /// Take it out of the tree now and end the reads that wait; open files give errors.
    Force,
}

impl Method for Unmount {
    const NAME: &str = "mounts.remove";
    type Reply = Unmounted;
}

/// The mount is gone from the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Unmounted {
    /// The mount point.
    pub dir: String,
}

/// Changes a mount that is there; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(default)]
pub struct SetMount {
    /// The mount point.
    pub dir: String,
    /// Whether the engine mounts it whenever it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_login: Option<bool>,
    /// Whether it moves to a newer commit of its revision by itself. A repo in the Hub folder does so anyway, once nobody has used it
    /// for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
    /// Whether its network is paused: reads that need it then fail at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Its share of the memory against other mounts, 1 to [`WEIGHT_MAX`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
}

/// Moves a mount to the commit that its revision stands for now. New opens and look-ups see it at once and as a whole; files that are
/// open keep their content. A mount that is there already stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UpdateMount {
    /// The mount point.
    pub dir: String,
}

impl Method for UpdateMount {
    const NAME: &str = "mounts.update";
    type Reply = MountStatus;
}

/// The largest share: a hundred times the usual one.
pub const WEIGHT_MAX: u32 = 100;

impl Method for SetMount {
    const NAME: &str = "mounts.set";
    type Reply = MountStatus;
}
