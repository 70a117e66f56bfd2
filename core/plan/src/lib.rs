//! Decides which blocks to fetch, which reads may go and what memory is for. Never waits, never reads a clock, does no I/O
//! and has no randomness: the driver tells it what happened and pulls what to do.
//!
//! # Order of calls
//! The driver keeps one [`Plan`] behind one mutex. After every call that may change something it pulls
//! [`Plan::next_action`] until `None` and sets its timer to [`Plan::next_timeout`], when it calls [`Plan::elapsed`].
//!
//! - [`Plan::open`] gives a handle, [`Plan::read`] answers [`Read::Done`] from memory or [`Read::Wait`]; each `Wait` gets
//!   exactly one [`Action::Finish`], whether it succeeds, fails, is cancelled or its handle is closed.
//! - Each [`Action::Fetch`] is answered by [`Plan::sent`] when its request is sent (until then no stall timer runs),
//!   [`Plan::received`] with bytes off the wire, [`Plan::arrived`] once a whole block is there, in any order, and exactly one
//!   [`Plan::settled`], after which the driver holds no memory for it. That holds for cancelled fetches too: their charge ends
//!   with `settled`, never with [`Action::Cancel`]. Blocks that arrive after a cancel are ignored. A retry is a new fetch.
//! - Buffers are charged by the block. The buffer of a piece lives until the driver drops it; the plan only clones and drops.
//! - After a jump of the clock: [`Plan::woke`].
//!
//! # Map
//! [`plan`](Plan) the calls · `limits` every number · `content` blocks of one content · `parts` what was read of a block ·
//! `blocks` their indexes and charges · `reads` waiting, admission, finish · `fetches` spans and attempts · `retry` what
//! follows a failure · `streams` sequences of reads · `runs` how long they are · `windows` how far and how long · `ahead`
//! read-ahead · `handles` shares · `room` giving back · `idle` idle steps and the sweep · `flow` what the link carries ·
//! `timers` · `charges` · `stats` · `waits`
#![forbid(unsafe_code)]

mod ahead;
mod blocks;
mod charges;
mod content;
mod fetches;
mod flow;
mod handles;
mod idle;
mod limits;
mod parts;
mod plan;
mod planted;
mod reads;
mod retry;
mod room;
mod runs;
mod stats;
mod streams;
mod timers;
mod waits;
mod windows;

#[cfg(test)]
mod tests;

pub use limits::{Limits, LimitsError};
pub use plan::Plan;
pub use stats::{Counts, Stats};
pub use waits::{Waits, WaitsFor};

use std::ops::Range;

/// Block size: the unit of fetching, holding and storing.
pub const BLOCK_BYTES: u64 = 256 * 1024;

/// A moment, in milliseconds since the driver's epoch. Counts only time in which the engine ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// So many milliseconds later.
    pub fn after(self, ms: u64) -> Time {
        Time(self.0.saturating_add(ms))
    }
}

/// Identifies content, whatever names or repos it goes by: two files with the same key share blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentKey(pub [u8; 32]);

/// A block's position in its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockIx(pub u32);

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandleId(pub u64);

/// A read that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReadId(pub u64);

/// A fetch in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FetchId(pub u64);

/// A mount; carries a weight for shares of the read-ahead budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MountId(pub u32);

/// How a handle reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Blocks are held and shared.
    Cached,
    /// A re-read fetches again.
    Direct,
}

/// A part of a block that answers a read. `B` is the driver's block buffer; the plan only clones and drops it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<B> {
    /// The block.
    pub block: B,
    /// Bytes of the block, from its start.
    pub range: Range<u32>,
}

/// Answer to [`Plan::read`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read<B> {
    /// Everything was held.
    Done(Vec<Piece<B>>),
    /// An [`Action::Finish`] with this id will come.
    Wait(ReadId),
}

/// Why a read fails. The driver keeps the cause of the last failed fetch; the plan only routes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// This fetch's error ended it; the driver maps the id to its cause.
    Fetch(FetchId),
    /// The read's own deadline passed.
    Deadline,
    /// The handle was closed or the read cancelled.
    Closed,
    /// Larger than the budget can ever admit.
    TooLarge,
}

/// How a fetch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every block arrived.
    Complete,
    /// Broke off; trying again may help.
    Retry,
    /// Met nobody, or a server that is down: what is away may come back.
    Away,
    /// Broke off; not to be tried before this moment.
    RetryAt(Time),
    /// Cannot succeed.
    Fatal,
    /// Stopped after an [`Action::Cancel`].
    Cancelled,
}

/// How soon the first byte of a fetch is needed: what to prefer where few round trips and many bytes a second are to be had
/// in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// A read waits for it, or will as soon as it is answered: the rest of a short run.
    Soon,
    /// Read-ahead of a longer run.
    Ahead,
}

/// What the driver must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<B> {
    /// Start fetching `blocks` of `content`; report `arrived`, `received` and in the end `settled`.
    Fetch {
        /// New id; a retry has a new one.
        fetch: FetchId,
        /// Of which content.
        content: ContentKey,
        /// Which blocks, at least one.
        blocks: Range<u32>,
        /// How soon its first byte is needed.
        urgency: Urgency,
    },
    /// Stop it; its charge ends when it has settled.
    Cancel(FetchId),
    /// Answer a waiting read.
    Finish(ReadId, Result<Vec<Piece<B>>, Failure>),
}
