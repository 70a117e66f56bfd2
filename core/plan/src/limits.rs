//! The reader's numbers, each with its reason. Never reads a setting or the machine: the caller passes what it found.

use crate::BLOCK_BYTES;

const MIB: u64 = 1024 * 1024;

/// Every number the plan decides with. [`Limits::default`] has the product's; tests use tiny blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Unit of fetching and holding; a power of two.
    pub block_bytes: u64,
    /// No fetch crosses a multiple of this, so that a second pass asks for the same ranges; a multiple of the block.
    pub cell_bytes: u64,
    /// Bound of everything held, in flight and reserved (`read_ahead_mb`).
    pub budget_bytes: u64,
    /// The largest read the kernel sends; a budget that could not hold one is refused.
    pub read_bytes_max: u64,
    /// Blocks already read that one content keeps: what a program steps back over.
    pub behind_file_bytes: u64,
    /// Blocks read in part that one content keeps: the edges of what is read in pieces, of which the other part is likely to be
    /// wanted. Half of what may be kept in all.
    pub parts_file_bytes: u64,
    /// Blocks already read in all; a quarter of the budget if that is less.
    pub behind_bytes: u64,
    /// Silence after which a request counts as stalled.
    pub stall_ms: u64,
    /// A read fails after this, whatever its fetch does: a program that waits longer is killed by people.
    pub deadline_ms: u64,
    /// Silence after which a fetch that a read waits for gets a second attempt beside it.
    pub hedge_ms: u64,
    /// Attempts in a row that deliver nothing before a fetch fails.
    pub attempts_max: u32,
    /// Pause before the second attempt; five times longer before each further one. An attempt that delivered goes on at once.
    pub retry_ms: u64,
    /// Longest pause between attempts: a network that is back is noticed within it.
    pub retry_ms_max: u64,
    /// So long a read waits for what is away, whatever the number of attempts: changing networks takes up to about 15 s. Less than
    /// the deadline, so that the error is the network's own.
    pub outage_ms: u64,
    /// Spreads pauses by a quarter either way, each fetch and each jitter otherwise; 0 does not.
    pub jitter: u64,
    /// Sequential streams followed in one file: parallel loaders use up to 32 threads.
    pub streams_max: usize,
    /// Reads of a handle after which a stream that did not read has stopped.
    pub sweep_reads: u64,
    /// And so long without a read: of many threads one may be quick.
    pub sweep_ms: u64,
    /// Length of fetches near the reader, of a probe, and the least useful run.
    pub near_bytes: u64,
    /// Read-ahead of a read at the start of a file. Asked for as it may be in flight; 64 MiB were used up before the reader had
    /// come far enough to ask for more.
    pub start_window_bytes: u64,
    /// Least window of a stream that waited, once it came further than a short run.
    pub step_window_bytes: u64,
    /// Read-ahead of a stream from the middle when it first steps forward and nothing is known of runs there: a buffered read of
    /// 4 MiB, which the kernel cuts up, then takes two requests. Slices below 3 MiB cost more than 1.1 times what is read anyway, since the kernel reads 128 KiB beyond.
    pub first_window_bytes: u64,
    /// What is known to lie ahead of a run from the middle is asked for in one or two requests if it is no longer: 4 MiB, the
    /// edges of its blocks, and what the kernel asks for beyond.
    pub short_run_bytes: u64,
    /// Windows grow fourfold up to here, then twofold.
    pub fast_window_bytes: u64,
    /// Largest window.
    pub window_bytes_max: u64,
    /// A jump forward up to this continues a scan.
    pub jump_bytes: u64,
    /// Reads up to this far behind a stream's head belong to it: several event loops deliver out of order.
    pub disorder_bytes: u64,
    /// A first read of at least this is no probe. 128 KiB is the kernel's largest unprivileged read; `head` or a thumbnailer's
    /// first read arrives as 16 KiB.
    pub eager_read_bytes: u64,
    /// After this without a new block a reader gives back what exceeds its share.
    pub idle_ms: u64,
    /// After this it gives back everything.
    pub forget_ms: u64,
    /// Read-ahead in flight of a reader while nothing is known of the link.
    pub in_flight_start_bytes: u64,
    /// Least read-ahead in flight that slow fetches lead to.
    pub in_flight_bytes_min: u64,
    /// Most read-ahead in flight of a reader.
    pub in_flight_bytes_max: u64,
    /// A fetch that a read waits for starts at most what the link carries in this time before the byte it needs.
    pub lead_ms: u64,
    /// Read-ahead in flight of all readers is at most what the link carries in this time: five round trips of a far one, and
    /// a late reader queues no longer behind the others.
    pub ahead_ms: u64,
    /// Requests at once in all while nothing is known, for read-ahead (waiting reads always go).
    pub fetches_start: usize,
    /// Least requests at once that a collapse of throughput leads to.
    pub fetches_min: usize,
    /// Most requests at once.
    pub fetches_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            block_bytes: BLOCK_BYTES,
            cell_bytes: 32 * MIB,
            budget_bytes: 512 * MIB,
            read_bytes_max: MIB,
            behind_file_bytes: 8 * MIB,
            parts_file_bytes: 128 * MIB,
            behind_bytes: 256 * MIB,
            stall_ms: 30_000,
            deadline_ms: 45_000,
            hedge_ms: 10_000,
            attempts_max: 3,
            retry_ms: 200,
            retry_ms_max: 3_000,
            outage_ms: 30_000,
            jitter: 0,
            streams_max: 32,
            sweep_reads: 256,
            sweep_ms: 1_000,
            near_bytes: MIB,
            start_window_bytes: 128 * MIB,
            step_window_bytes: 2 * MIB,
            first_window_bytes: 4 * MIB,
            short_run_bytes: 5 * MIB,
            fast_window_bytes: 64 * MIB,
            window_bytes_max: 512 * MIB,
            jump_bytes: 16 * MIB,
            disorder_bytes: MIB,
            eager_read_bytes: 128 * 1024,
            idle_ms: 10_000,
            forget_ms: 120_000,
            in_flight_start_bytes: 64 * MIB,
            in_flight_bytes_min: 8 * MIB,
            in_flight_bytes_max: 256 * MIB,
            lead_ms: 5_000,
            ahead_ms: 1_500,
            fetches_start: 64,
            fetches_min: 4,
            fetches_max: 256,
        }
    }
}

impl Limits {
    /// The defaults with this budget.
    pub fn with_budget(budget_bytes: u64) -> Limits {
        Limits { budget_bytes, ..Limits::default() }
    }

    /// The smallest budget these limits allow: the largest read, which may start inside a block.
    pub fn budget_bytes_min(&self) -> u64 {
        self.read_bytes_max.next_multiple_of(self.block_bytes) + self.block_bytes
    }

    /// Read-ahead of a read at the start of a file of `size`: half as much again takes in a file that ends soon.
    pub(crate) fn start_window(&self, size: u64) -> u64 {
        if size <= self.start_window_bytes / 2 * 3 { size } else { self.start_window_bytes }
    }

    /// What blocks already read may take in all.
    pub(crate) fn behind_total(&self) -> u64 {
        self.behind_bytes.min(self.budget_bytes / 4)
    }

    pub(crate) fn check(&self) -> Result<(), LimitsError> {
        if !self.block_bytes.is_power_of_two() || self.block_bytes > u64::from(u32::MAX) {
            return Err(LimitsError::Block);
        }
        if self.cell_bytes == 0 || !self.cell_bytes.is_multiple_of(self.block_bytes) {
            return Err(LimitsError::Cell);
        }
        let least = self.budget_bytes_min();
        if self.budget_bytes < least {
            return Err(LimitsError::Budget { least });
        }
        Ok(())
    }
}

/// Why limits are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitsError {
    /// The block size is no power of two, or differs from the one the plan runs with.
    Block,
    /// The cell is no multiple of the block.
    Cell,
    /// The budget could not hold the largest read.
    Budget {
        /// The smallest budget in bytes that would do.
        least: u64,
    },
}

impl std::fmt::Display for LimitsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LimitsError::Block => write!(f, "the block size must be a power of two and cannot change"),
            LimitsError::Cell => write!(f, "the cell must be a multiple of the block"),
            LimitsError::Budget { least } => write!(f, "the memory budget must be at least {least} bytes"),
        }
    }
}

impl std::error::Error for LimitsError {}
