//! How much goes through, how fast, and what waits for what. Rates are bytes a second.

use crate::message::Method;
use serde::{Deserialize, Serialize};

/// Asks for the figures of this moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GetStats {}

impl Method for GetStats {
    const NAME: &str = "stats";
    type Reply = Stats;
}

/// The figures of a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Stats {
    /// When, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// All mounts together.
    pub total: Traffic,
    /// The memory for file content.
    pub memory: Memory,
    /// Requests and what they met.
    pub network: Network,
    /// What came from this device instead.
    #[serde(default)]
    pub local: Local,
    /// Each mount, in the order of `status`.
    pub mounts: Vec<MountStats>,
    /// Each open file, at most [`FILES_MAX`], the busiest first.
    pub files: Vec<FileStats>,
}

/// Open files listed at most.
pub const FILES_MAX: usize = 200;

/// Bytes that went through, and how fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Traffic {
    /// Bytes that programs have read.
    pub delivered_bytes: u64,
    /// Bytes of content that came over the network.
    pub fetched_bytes: u64,
    /// Delivered over the last second.
    pub delivered_rate_1s: u64,
    /// Delivered over the last ten seconds.
    pub delivered_rate_10s: u64,
    /// Fetched over the last second.
    pub fetched_rate_1s: u64,
    /// Fetched over the last ten seconds.
    pub fetched_rate_10s: u64,
}

/// The memory for file content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Memory {
    /// What may be used.
    pub budget_bytes: u64,
    /// What is used, bytes on their way included.
    pub used_bytes: u64,
    /// Of this, fetched ahead and not read yet.
    pub ahead_bytes: u64,
    /// Of this, read already and kept for a second look.
    pub behind_bytes: u64,
    /// Of this, on its way.
    pub in_flight_bytes: u64,
}

/// Requests and what they met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Network {
    /// Content requests so far.
    pub requests: u64,
    /// Of these, tried again after a fault.
    pub retries: u64,
    /// Fetches under way.
    pub in_flight: u64,
    /// What the link was seen to carry, bytes a second.
    pub link_rate: Option<u64>,
    /// Reads so far.
    pub reads: u64,
    /// Of these, answered from memory.
    pub memory_hits: u64,
    /// Reads that wait now.
    pub waiting_reads: u64,
}

/// What came from this device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Local {
    /// Bytes of content that came from the local store.
    pub store_bytes: u64,
    /// Bytes of content that came from the Hugging Face cache.
    pub hub_cache_bytes: u64,
    /// Bytes that the store takes on the disk.
    pub kept_bytes: u64,
    /// Blocks that came faster than they could be written, and were not kept.
    pub dropped_blocks: u64,
}

/// One mount's figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct MountStats {
    /// The mount point.
    pub dir: String,
    /// What went through.
    pub traffic: Traffic,
    /// Files open now.
    pub open_files: u64,
    /// What its reads wait for, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// One open file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileStats {
    /// The mount point.
    pub dir: String,
    /// Path in the mount.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// The process that opened it, where the system told.
    pub pid: Option<u32>,
    /// That process's name.
    pub program: Option<String>,
    /// When it was opened, in seconds since 1970.
    pub opened_unix_s: u64,
    /// What went through.
    pub traffic: Traffic,
    /// What its reads wait for, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// What a read waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Waiting {
    /// Bytes on their way.
    Link,
    /// Memory of the budget.
    Budget,
    /// The next attempt after a fault.
    Retry {
        /// Seconds until then.
        in_s: u64,
    },
    /// The moment that the Hub named.
    HubLimit {
        /// Seconds until then.
        in_s: u64,
    },
    /// A reason of a newer protocol.
    #[serde(other)]
    Other,
}
