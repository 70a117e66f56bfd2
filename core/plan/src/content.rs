//! Blocks of one content, and the one class each is in. Never decides; knows no handle beyond its id.

use crate::charges::Class;
use crate::fetches::SpanId;
use crate::parts::Parts;
use crate::planted::{Bug, planted};
use crate::runs::Runs;
use crate::streams::StreamId;
use crate::{ContentKey, HandleId, ReadId};
use std::collections::{BTreeMap, BTreeSet};

/// Who shares the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Every cached handle of this key.
    Shared,
    /// One direct handle: what was consumed is gone.
    Private,
}

#[derive(Debug, Clone)]
pub(crate) struct Content<B> {
    pub(crate) key: ContentKey,
    pub(crate) size: u64,
    pub(crate) sharing: Sharing,
    pub(crate) handles: BTreeSet<HandleId>,
    /// Runs of the handle that learned last: what a new one begins with.
    pub(crate) runs: Runs,
    pub(crate) blocks: BTreeMap<u32, Block<B>>,
    /// Blocks read whole that no live stream ends in, oldest first.
    pub(crate) behind: BTreeSet<(u64, u32)>,
    /// Blocks read in part that no live stream ends in, oldest first: a read of the rest may be on its way.
    pub(crate) halves: BTreeSet<(u64, u32)>,
    /// Bytes of all read blocks without waiters.
    pub(crate) behind_bytes: u64,
}

impl<B> Content<B> {
    pub(crate) fn new(key: ContentKey, size: u64, sharing: Sharing) -> Self {
        Content {
            key,
            size,
            sharing,
            handles: BTreeSet::new(),
            runs: Runs::default(),
            blocks: BTreeMap::new(),
            behind: BTreeSet::new(),
            halves: BTreeSet::new(),
            behind_bytes: 0,
        }
    }
}

/// A block that is in flight or held. What is neither has no entry.
#[derive(Debug, Clone)]
pub(crate) struct Block<B> {
    pub(crate) state: State<B>,
    /// Reads that wait for it or need it until their other blocks come; it is not evicted while there are any.
    pub(crate) waiters: Vec<ReadId>,
    pub(crate) home: Home,
    /// What was read of it.
    pub(crate) parts: Parts,
    /// Live streams whose last read ended in it.
    pub(crate) last_of: u32,
    /// How far a direct handle has read it.
    pub(crate) consumed: u32,
}

#[derive(Debug, Clone)]
pub(crate) enum State<B> {
    Flying(SpanId),
    Held(B),
}

/// Whose a block is while no read waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// Read-ahead of this handle, for the stream that heads to it.
    Unread {
        owner: HandleId,
        stream: Option<StreamId>,
        /// Order of giving back when no stream heads to it.
        seq: u64,
    },
    /// Read at least in part; `seq` is when it last told something new.
    Read { seq: u64 },
}

impl<B> Block<B> {
    pub(crate) fn class(&self) -> Class {
        let free = self.waiters.is_empty() || (planted(Bug::WaitersIgnored) && matches!(self.state, State::Held(_)));
        match (&self.state, free, self.home) {
            (State::Flying(_), false, _) => Class::AwaitedFlying,
            (State::Held(_), false, _) => Class::AwaitedHeld,
            (State::Flying(_), true, _) => Class::AheadFlying,
            (State::Held(_), true, Home::Unread { .. }) => Class::AheadHeld,
            (State::Held(_), true, Home::Read { .. }) => Class::Behind,
        }
    }
}
