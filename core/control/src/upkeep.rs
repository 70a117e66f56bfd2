//! The engine itself: pausing, stopping, and finding out what is wrong.

use crate::message::Method;
use serde::{Deserialize, Serialize};

/// Pauses all network, or goes on. Meanwhile nothing is asked of any Hub: what needs it (content, folders that were not listed,
/// new mounts, searches) fails at once with `paused`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Pause {
    /// Whether to pause.
    pub paused: bool,
}

impl Method for Pause {
    const NAME: &str = "pause";
    type Reply = Done;
}

/// Ends the engine: unmounts everything, then leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Stop {
    /// Also if files are open; else it is refused with `mount_point_busy`.
    #[serde(default)]
    pub force: bool,
    /// Whether the next engine mounts again what was mounted: a restart.
    #[serde(default)]
    pub keep_mounts: bool,
}

impl Method for Stop {
    const NAME: &str = "stop";
    type Reply = Done;
}

/// Frees what is kept on this device of what was read; what was not used for longest comes first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(default)]
pub struct Free {
    /// Only what was first read in this repo: `org/name`, `datasets/org/name`, `spaces/org/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Only say what would be freed.
    pub dry_run: bool,
}

impl Method for Free {
    const NAME: &str = "store.free";
    type Reply = Freed;
}

/// What was freed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Freed {
    /// Bytes on the disk, in all.
    pub bytes: u64,
    /// Files, in all.
    pub files: u64,
    /// The first of them, at most [`FREED_MAX`].
    pub first: Vec<FreedFile>,
}

/// Files of [`Freed`] that are listed at most.
pub const FREED_MAX: usize = 200;

/// A file of which something was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FreedFile {
    /// The repo that it was first read in; empty where that is not known any more.
    pub repo: String,
    /// Its path there.
    pub path: String,
    /// Bytes that it takes on the disk.
    pub bytes: u64,
}

/// It was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Done {}

/// Tests each hop to the Hub in turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Doctor {
    /// The Hub to test; the one of the settings without.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// Where the client has this address from, to be said beside it.
    #[serde(default)]
    pub endpoint_from: Option<String>,
}

impl Method for Doctor {
    const NAME: &str = "doctor";
    type Reply = Checkup;
}

/// What the tests found, in the order in which they ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Checkup {
    /// The hops; those behind one that failed are skipped.
    pub hops: Vec<Hop>,
    /// Hosts that a firewall must allow.
    pub hosts: Vec<String>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Hop {
    /// What was tested, for people: `file-system driver`, `name of the Hub`, `the Hub's answer`.
    pub name: String,
    /// How it went.
    pub state: HopState,
    /// What was found, in words; no full stop.
    pub detail: String,
    /// What to do about it; empty if nothing.
    #[serde(default)]
    pub advice: String,
    /// Stable name of what is wrong, as [`Fault`](crate::Fault) has it; empty if nothing.
    #[serde(default)]
    pub code: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// How a test went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum HopState {
    /// Good.
    Ok,
    /// Works, but somebody should look.
    Warning,
    /// Does not work.
    Failed,
    /// Not tested, since one before it failed.
    Skipped,
    /// A state of a newer protocol.
    #[serde(other)]
    Other,
}

/// Collects what a person who helps wants to know; tokens and signed addresses are taken out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Diagnose {}

impl Method for Diagnose {
    const NAME: &str = "diagnostics";
    type Reply = Diagnostics;
}

/// Text to read before it is sent to anybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Diagnostics {
    /// Versions, system, settings, mounts, figures, the end of the log.
    pub text: String,
}
