//! What one run of one pattern came to. Never a median; see [`super::table`].

use std::time::Duration;

use super::watch::Rss;

/// One run.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub(super) reads: Reads,
    /// Requests of any kind, and those for file contents.
    pub(super) requests: u64,
    pub(super) data_requests: u64,
    pub(super) bytes_fetched: u64,
    /// Of the process that serves the files, if it is known.
    pub(super) peak_mib: Option<f64>,
    pub(super) rss: Option<Rss>,
    pub(super) cpu: Option<Duration>,
}

/// What the readers saw.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    pub(super) took: Duration,
    pub(super) bytes: u64,
    /// From the first `open` to the first bytes.
    pub(super) first_byte: Duration,
    /// Of each read, where single reads are what the pattern is about, sorted.
    pub(super) each: Vec<Duration>,
    /// The slowest reader's time over the fastest's, where readers have equal work.
    pub(super) spread: Option<f64>,
}

impl Sample {
    pub(super) fn bytes_per_s(&self) -> f64 {
        self.reads.bytes as f64 / self.reads.took.as_secs_f64()
    }

    pub(super) fn cpu_s_per_gib(&self) -> Option<f64> {
        Some(self.cpu?.as_secs_f64() / (self.reads.bytes as f64 / (1u64 << 30) as f64))
    }

    pub(super) fn fetched_per_read(&self) -> f64 {
        self.bytes_fetched as f64 / self.reads.bytes as f64
    }
}
