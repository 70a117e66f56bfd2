//! Figures for people and tests. Never used to decide.

/// A snapshot of [`crate::Plan::stats`]. Bytes are what the classes hold now; counts only grow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes that reads wait for, in flight or held for them.
    pub awaited_bytes: u64,
    /// Bytes in flight, awaited or ahead.
    pub flying_bytes: u64,
    /// Read-ahead in flight.
    pub ahead_flying_bytes: u64,
    /// Read-ahead that arrived and was not read.
    pub ahead_held_bytes: u64,
    /// Blocks already read.
    pub behind_bytes: u64,
    /// Cancelled fetches that have not settled, second attempts.
    pub extra_bytes: u64,
    /// Reserved by the driver.
    pub outside_bytes: u64,
    /// Sum of the above; never above the budget.
    pub charged_bytes: u64,
    /// Open handles.
    pub handles: usize,
    /// Contents with an open handle.
    pub contents: usize,
    /// Reads that wait now.
    pub waiting_reads: usize,
    /// Of these, reads that wait for memory.
    pub queued_reads: usize,
    /// Requests in flight.
    pub fetches_in_flight: usize,
    /// What the link was seen to carry, bytes a second.
    pub link_bytes_per_second: Option<u64>,
    /// Counts.
    pub counts: Counts,
}

/// What happened so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads.
    pub reads: u64,
    /// Reads answered from memory.
    pub hits: u64,
    /// Reads that had to wait.
    pub waits: u64,
    /// Reads that failed, closed ones aside.
    pub failures: u64,
    /// Reads past their deadline.
    pub deadlines: u64,
    /// Bytes that reads were answered with.
    pub read_bytes: u64,
    /// Requests.
    pub fetches: u64,
    /// Bytes asked for by requests.
    pub asked_bytes: u64,
    /// Bytes of blocks that arrived and were taken.
    pub arrived_bytes: u64,
    /// Requests after a failed one.
    pub retries: u64,
    /// Second attempts beside a silent one.
    pub hedges: u64,
    /// Requests that stalled.
    pub stalls: u64,
    /// Requests that were cancelled.
    pub cancelled: u64,
    /// Blocks given back unread.
    pub dropped_unread: u64,
}
