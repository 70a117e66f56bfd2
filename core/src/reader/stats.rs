//! What went through open files and what their reads wait for. Costs a read two relaxed additions.

use super::driver::{Counters, OpenFile};
use crate::transport::Local;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counts what goes through one open file, for it and for its mount.
#[derive(Debug)]
pub(super) struct Meter {
    delivered_bytes: AtomicU64,
    fetched_bytes: AtomicU64,
    mount: Arc<Counters>,
}

impl Meter {
    pub(super) fn new(mount: Arc<Counters>) -> Self {
        Meter { delivered_bytes: AtomicU64::new(0), fetched_bytes: AtomicU64::new(0), mount }
    }

    pub(super) fn delivered(&self, bytes: u64) {
        self.delivered_bytes.fetch_add(bytes, Relaxed);
        self.mount.delivered_bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn fetched(&self, bytes: u64) {
        self.fetched_bytes.fetch_add(bytes, Relaxed);
        self.mount.fetched_bytes.fetch_add(bytes, Relaxed);
    }

    /// What came from this device counts for the mount.
    pub(super) fn local(&self, from: Local, bytes: u64) {
        match from {
            Local::Store => &self.mount.store_bytes,
            Local::HubCache => &self.mount.hub_cache_bytes,
        }
        .fetch_add(bytes, Relaxed);
    }

    pub(super) fn failed(&self) {
        self.mount.failed_reads.fetch_add(1, Relaxed);
    }

    /// Bytes delivered and fetched.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.delivered_bytes.load(Relaxed), self.fetched_bytes.load(Relaxed))
    }
}

/// An open file, as of now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStats {
    /// The handle.
    pub file: OpenFile,
    /// Path in the repo.
    pub path: Arc<str>,
    /// Length in bytes.
    pub size: u64,
    /// Bytes that its reads were answered with.
    pub delivered_bytes: u64,
    /// Bytes off the network by fetches that it began. What it shares with another file counts there.
    pub fetched_bytes: u64,
    /// Reads that wait.
    pub waiting_reads: usize,
    /// What the oldest of them waits for.
    pub waits_for: Option<WaitsFor>,
}

/// What a read waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// Memory of the budget.
    Budget,
    /// Bytes on their way.
    Link,
    /// The next attempt after a failed one, so long from now.
    Retry(Duration),
    /// The moment that the Hub named, so long from now.
    HubLimit(Duration),
}
