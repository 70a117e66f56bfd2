//! A driver without a network: performs the plan's actions when told to, checks every answer against the file's real bytes
//! and the plan's invariants after every step.

use crate::charges::Class;
use crate::content::{Home, Sharing, State};
use crate::parts::Parts;
use crate::reads::Place;
use crate::*;
use std::collections::{BTreeMap, BTreeSet};

/// The bytes of a content: its name and the offset.
pub(crate) fn byte(content: u8, offset: u64) -> u8 {
    (offset as u8).wrapping_mul(31).wrapping_add((offset >> 8) as u8).wrapping_add(content.wrapping_mul(101))
}

pub(crate) type Buf = std::sync::Arc<Vec<u8>>;

pub(crate) fn key(content: u8) -> ContentKey {
    ContentKey([content; 32])
}

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) content: u8,
    pub(crate) blocks: Range<u32>,
    pub(crate) urgency: Urgency,
    pub(crate) came: BTreeSet<u32>,
    pub(crate) cancelled: bool,
    pub(crate) sent: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) content: u8,
    pub(crate) offset: u64,
    pub(crate) end: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) plan: Plan<Buf>,
    pub(crate) now: Time,
    pub(crate) sizes: BTreeMap<u8, u64>,
    pub(crate) handles: BTreeMap<HandleId, u8>,
    pub(crate) flying: BTreeMap<FetchId, Asked>,
    pub(crate) waiting: BTreeMap<ReadId, Expected>,
    pub(crate) finished: BTreeMap<ReadId, Result<(), Failure>>,
    /// Finishes pulled before the read call had answered.
    pub(crate) asked: Vec<(u8, Range<u32>)>,
    pub(crate) cancels: Vec<FetchId>,
}

impl World {
    pub(crate) fn new(limits: Limits) -> World {
        World {
            plan: Plan::new(limits).expect("limits"),
            now: Time(0),
            sizes: BTreeMap::new(),
            handles: BTreeMap::new(),
            flying: BTreeMap::new(),
            waiting: BTreeMap::new(),
            finished: BTreeMap::new(),
            asked: Vec::new(),
            cancels: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, content: u8, size: u64) -> HandleId {
        self.open_as(content, size, MountId(0), Mode::Cached)
    }

    pub(crate) fn open_as(&mut self, content: u8, size: u64, mount: MountId, mode: Mode) -> HandleId {
        self.sizes.insert(content, size);
        let handle = self.plan.open(self.now, key(content), size, mount, mode);
        self.handles.insert(handle, content);
        self.act();
        handle
    }

    pub(crate) fn close(&mut self, handle: HandleId) {
        self.handles.remove(&handle);
        self.plan.close(self.now, handle);
        self.act();
    }

    /// `None` is a hit, whose bytes were checked.
    pub(crate) fn read(&mut self, handle: HandleId, offset: u64, len: u32) -> Option<ReadId> {
        let content = self.handles.get(&handle).copied().unwrap_or(0);
        let size = self.sizes.get(&content).copied().unwrap_or(0);
        let expected = Expected {
            content,
            offset: offset.min(size),
            end: (offset + u64::from(len)).min(size).max(offset.min(size)),
        };
        let answer = self.plan.read(self.now, handle, offset, len);
        let id = match answer {
            Read::Done(pieces) => {
                check_bytes(&expected, &pieces);
                None
            }
            Read::Wait(id) => {
                self.waiting.insert(id, expected);
                Some(id)
            }
        };
        self.act();
        id
    }

    pub(crate) fn cancel(&mut self, read: ReadId) {
        self.plan.cancel(self.now, read);
        self.act();
    }

    pub(crate) fn send(&mut self, fetch: FetchId) {
        if let Some(asked) = self.flying.get_mut(&fetch) {
            asked.sent = true;
        }
        self.plan.sent(self.now, fetch);
        self.act();
    }

    /// The block at this position arrives, its bytes too.
    pub(crate) fn bring(&mut self, fetch: FetchId, ix: u32) {
        let Some(asked) = self.flying.get_mut(&fetch) else { return };
        if !asked.came.insert(ix) {
            return;
        }
        let content = asked.content;
        let size = self.sizes[&content];
        let bb = self.plan.limits.block_bytes;
        let start = u64::from(ix) * bb;
        let bytes: Vec<u8> = (start..(start + bb).min(size)).map(|at| byte(content, at)).collect();
        self.plan.received(self.now, fetch, bytes.len() as u64);
        self.act();
        self.plan.arrived(self.now, fetch, BlockIx(ix), std::sync::Arc::new(bytes));
        self.act();
    }

    pub(crate) fn settle(&mut self, fetch: FetchId, outcome: Outcome) {
        self.flying.remove(&fetch);
        self.plan.settled(self.now, fetch, outcome);
        self.act();
    }

    /// Brings what is left of a fetch and settles it.
    pub(crate) fn complete(&mut self, fetch: FetchId) {
        let Some(asked) = self.flying.get(&fetch) else { return };
        if asked.cancelled {
            return self.settle(fetch, Outcome::Cancelled);
        }
        for ix in asked.blocks.clone() {
            self.bring(fetch, ix);
        }
        let cancelled = self.flying.get(&fetch).is_some_and(|a| a.cancelled);
        self.settle(fetch, if cancelled { Outcome::Cancelled } else { Outcome::Complete });
    }

    /// Completes fetches, oldest first, until nothing flies.
    pub(crate) fn complete_all(&mut self) {
        while let Some(fetch) = self.flying.keys().next().copied() {
            self.complete(fetch);
        }
    }

    pub(crate) fn wait_until(&mut self, ms: u64) {
        while let Some(at) = self.plan.next_timeout().filter(|at| at.0 <= ms) {
            self.now = self.now.max(at);
            self.plan.elapsed(self.now);
            self.act();
        }
        self.now = Time(ms.max(self.now.0));
        self.plan.elapsed(self.now);
        self.act();
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.wait_until(self.now.0 + ms);
    }

    /// Bytes asked for so far, of all contents.
    pub(crate) fn asked_bytes(&self) -> u64 {
        let bb = self.plan.limits.block_bytes;
        self.asked
            .iter()
            .map(|(content, blocks)| {
                (u64::from(blocks.end) * bb).min(self.sizes[content]) - u64::from(blocks.start) * bb
            })
            .sum()
    }

    /// Pulls and performs every action; then checks.
    pub(crate) fn act(&mut self) {
        while let Some(action) = self.plan.next_action() {
            match action {
                Action::Fetch { fetch, content, blocks, urgency } => {
                    assert!(!blocks.is_empty());
                    let content = content.0[0];
                    self.asked.push((content, blocks.clone()));
                    let new = Asked { content, blocks, urgency, came: BTreeSet::new(), cancelled: false, sent: false };
                    assert!(self.flying.insert(fetch, new).is_none(), "a fetch has a new id");
                }
                Action::Cancel(fetch) => {
                    let asked = self.flying.get_mut(&fetch).expect("a cancelled fetch is in flight");
                    assert!(!asked.cancelled, "cancelled once");
                    asked.cancelled = true;
                    self.cancels.push(fetch);
                }
                Action::Finish(read, result) => {
                    if let (Some(expected), Ok(pieces)) = (self.waiting.get(&read), &result) {
                        check_bytes(expected, pieces);
                    }
                    self.waiting.remove(&read);
                    let before = self.finished.insert(read, result.map(|_| ()));
                    assert!(before.is_none(), "a read finishes once");
                }
            }
        }
        self.check();
    }

    /// The invariants that hold after every step.
    pub(crate) fn check(&self) {
        let plan = &self.plan;
        let stats = plan.stats();
        assert!(stats.charged_bytes <= plan.limits.budget_bytes, "above the budget: {stats:?}");
        self.check_driver_memory();
        self.check_charges();
        // No read is lost.
        let known: BTreeSet<ReadId> = plan.reads.keys().copied().collect();
        let waiting: BTreeSet<ReadId> = self.waiting.keys().copied().collect();
        assert_eq!(known, waiting, "every waiting read is known to the plan");
        for (id, read) in &plan.reads {
            match read.place {
                Place::Queued => assert!(plan.queue.contains(id)),
                Place::Admitted { missing } => {
                    assert!(missing > 0, "done but not finished");
                    let mut flying = 0;
                    for ix in read.blocks.clone() {
                        let block = plan.content(read.slot).blocks.get(&ix).expect("an admitted read's block exists");
                        assert!(block.waiters.contains(id));
                        if let State::Flying(span) = block.state {
                            flying += 1;
                            assert!(plan.spans.contains_key(&span));
                        }
                    }
                    assert_eq!(flying, missing);
                }
            }
        }
        // No read is stuck: if one queues, something will settle or wake.
        if !plan.queue.is_empty() {
            assert!(
                !plan.attempts.is_empty() || plan.timers.next().is_some_and(|_| !plan.spans.is_empty()),
                "a read queues and nothing will make room"
            );
        }
        for (id, span) in &plan.spans {
            if span.attempts.is_empty() {
                assert!(plan.timers.has(crate::timers::Timer::Retry(*id)), "a span without a request will try again");
            }
        }
    }

    /// What the driver holds or may hold for a fetch is charged.
    fn check_driver_memory(&self) {
        let bb = self.plan.limits.block_bytes;
        let mut in_flight: BTreeSet<(u8, u32)> = BTreeSet::new();
        let hedges =
            self.plan.counts.hedges > 0 || self.plan.contents.iter().flatten().any(|c| c.sharing == Sharing::Private);
        let mut bytes = self.plan.charges.of(Class::Outside);
        for asked in self.flying.values() {
            for ix in asked.blocks.clone() {
                if asked.came.contains(&ix) && !asked.cancelled {
                    continue;
                }
                if !asked.came.contains(&ix) {
                    bytes += bb.min(self.sizes[&asked.content] - u64::from(ix) * bb);
                }
                if !asked.cancelled && !hedges {
                    assert!(in_flight.insert((asked.content, ix)), "block {ix} is in flight twice");
                    let held =
                        self.plan.by_key.get(&(key(asked.content), self.sizes[&asked.content])).is_some_and(|slot| {
                            matches!(self.plan.content(*slot).blocks.get(&ix).map(|b| &b.state), Some(State::Held(_)))
                        });
                    assert!(!held, "block {ix} is in flight while it is held");
                }
            }
        }
        for content in self.plan.contents.iter().flatten() {
            for block in content.blocks.values() {
                if let State::Held(buf) = &block.state {
                    bytes += buf.len() as u64;
                }
            }
        }
        assert!(bytes <= self.plan.limits.budget_bytes, "the driver holds {bytes}");
    }

    /// The counters say what counting says.
    fn check_charges(&self) {
        let plan = &self.plan;
        let mut sums = crate::charges::Charges::default();
        let mut ahead: BTreeMap<HandleId, (u64, u64)> = BTreeMap::new();
        for (at, content) in plan.contents.iter().enumerate() {
            let Some(content) = content else { continue };
            let slot = crate::plan::Slot(at);
            let mut behind = 0;
            for (ix, block) in &content.blocks {
                let len = plan.block_len(slot, *ix);
                sums.add(block.class(), len);
                if block.class() == Class::Behind {
                    behind += len;
                    assert_eq!(block.last_of > 0, plan.kept.contains(&(slot, *ix)));
                    let Home::Read { seq } = block.home else { panic!("what is behind was read") };
                    let whole = block.parts.contains(Parts::of(0..len, plan.limits.block_bytes));
                    let (whole, half) = (block.last_of == 0 && whole, block.last_of == 0 && !whole);
                    assert_eq!(whole, plan.behind.contains(&(seq, slot, *ix)) && content.behind.contains(&(seq, *ix)));
                    assert_eq!(half, plan.halves.contains(&(seq, slot, *ix)) && content.halves.contains(&(seq, *ix)));
                }
                if let (Class::AheadHeld | Class::AheadFlying, Home::Unread { owner, .. }) = (block.class(), block.home)
                {
                    let of = ahead.entry(owner).or_default();
                    of.0 += len;
                    if block.class() == Class::AheadFlying {
                        of.1 += len;
                    }
                    assert!(plan.handles.contains_key(&owner), "read-ahead belongs to an open handle");
                }
                if let State::Flying(span) = block.state {
                    let span = &plan.spans[&span];
                    assert!(span.blocks.contains(ix) && span.slot == slot);
                }
            }
            assert_eq!(behind, content.behind_bytes);
        }
        for (id, h) in &plan.handles {
            let (all, flying) = ahead.get(id).copied().unwrap_or_default();
            assert_eq!((h.ahead_bytes, h.flying_bytes), (all, flying), "read-ahead of {id:?}");
            let unread: u64 =
                h.streams.iter().flat_map(|s| s.unread.iter()).map(|ix| plan.block_len(h.content, *ix)).sum();
            let orphans: u64 = h.orphans.iter().map(|(_, ix)| plan.block_len(h.content, *ix)).sum();
            assert_eq!(unread + orphans, all - flying, "indexes of {id:?}");
            assert!(h.streams.iter().count() <= plan.limits.streams_max);
        }
        for (id, span) in &plan.spans {
            let flying = plan.flying_blocks(*id);
            assert_eq!(flying.len() as u32, span.missing);
            let waits: usize = flying.iter().map(|ix| plan.content(span.slot).blocks[ix].waiters.len()).sum();
            assert_eq!(waits as u32, span.waits);
            assert!(plan.handles.get(&span.owner).is_some_and(|h| h.spans.contains(id)));
        }
        sums.add(Class::Extra, plan.attempts.values().map(|a| a.extra).sum());
        sums.add(Class::Outside, plan.charges.of(Class::Outside));
        assert_eq!(sums, plan.charges);
        assert_eq!(plan.weights_sum, plan.handles.values().map(|h| h.counted).sum::<u64>());
    }

    /// Closes everything and settles what is left: nothing may be charged.
    pub(crate) fn end(mut self) {
        for handle in self.handles.keys().copied().collect::<Vec<_>>() {
            self.close(handle);
        }
        assert!(self.waiting.is_empty(), "closing finishes reads");
        for fetch in self.flying.keys().copied().collect::<Vec<_>>() {
            assert!(self.flying[&fetch].cancelled, "closing cancels");
            self.settle(fetch, Outcome::Cancelled);
        }
        let outside = self.plan.charges.of(Class::Outside);
        assert_eq!(self.plan.stats().charged_bytes, outside, "charges are zero at the end");
        assert!(self.plan.contents.iter().all(Option::is_none));
        assert!(
            self.plan.kept.is_empty()
                && self.plan.halves.is_empty()
                && self.plan.behind.is_empty()
                && self.plan.orphans.is_empty()
        );
    }
}

fn check_bytes(expected: &Expected, pieces: &[Piece<Buf>]) {
    let bytes: Vec<u8> =
        pieces.iter().flat_map(|p| p.block[p.range.start as usize..p.range.end as usize].iter().copied()).collect();
    let right: Vec<u8> = (expected.offset..expected.end).map(|at| byte(expected.content, at)).collect();
    assert_eq!(bytes, right, "bytes of {expected:?}");
}
