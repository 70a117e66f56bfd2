//! The stream of events: what a client that shows things must know without asking again. Sent as JSON-RPC notifications
//! named `event` after `subscribe`; a client that does not keep up loses the oldest and is told how many.

use crate::fault::Fault;
use crate::folder::FolderStatus;
use crate::message::Method;
use crate::mounts::MountStatus;
use crate::settings::SettingsReply;
use crate::stats::Stats;
use serde::{Deserialize, Serialize};

/// The name of the notification.
pub const EVENT: &str = "event";

/// Starts the stream on this connection, or changes what it carries. Requests go on as before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Subscribe {
    /// Milliseconds between two `stats` events, at least [`STATS_MS_MIN`]; none without.
    #[serde(default)]
    pub stats_ms: Option<u64>,
}

/// Nobody sees more than ten figures a second.
pub const STATS_MS_MIN: u64 = 100;

impl Method for Subscribe {
    const NAME: &str = "subscribe";
    type Reply = Subscribed;
}

/// The stream runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Subscribed {}

/// What a notification carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct EventMessage {
    /// Events that this client did not take in time and will not get; ask `status` if it is not 0.
    pub lost: u64,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A mount is new or changed.
    Mount {
        /// As it is now.
        mount: Box<MountStatus>,
    },
    /// A mount is no more.
    MountGone {
        /// The mount point.
        dir: String,
    },
    /// The Hub folder came, changed its state or went.
    Folder {
        /// As it is now; none while it is off.
        folder: Option<Box<FolderStatus>>,
    },
    /// Something people should know; once for each cause.
    Notice {
        /// The mount that it is about, if it is about one.
        dir: Option<String>,
        /// What, in words.
        fault: Fault,
    },
    /// The settings changed.
    Settings {
        /// As they are now.
        settings: Box<SettingsReply>,
    },
    /// The accounts changed: ask `accounts.list`.
    Accounts,
    /// All network is paused, or no longer.
    Paused {
        /// Whether it is.
        paused: bool,
    },
    /// The figures of this moment.
    Stats {
        /// The figures.
        stats: Box<Stats>,
    },
    /// An event of a newer protocol.
    #[serde(other)]
    Other,
}
