//! The plan's state and its calls. Each call takes what happened in, decides, and leaves actions to be pulled.

use crate::charges::{Charges, Class};
use crate::content::{Content, Home, Sharing, State};
use crate::fetches::{Attempt, Span, SpanId};
use crate::flow::Link;
use crate::handles::{Handle, Idle};
use crate::limits::{Limits, LimitsError};
use crate::planted::{Bug, planted};
use crate::reads::Waiting;
use crate::retry::Outage;
use crate::stats::{Counts, Stats};
use crate::streams::{Step, Streams};
use crate::timers::{Timer, Timers};
use crate::{Action, BlockIx, ContentKey, Failure, FetchId, HandleId, Mode, MountId, Outcome, Read, ReadId, Time};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;

/// Index of a content with an open handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) usize);

/// Every decision of the reader. See the crate's documentation for the order of calls.
///
/// Invariants: the sum of all charges is at most the budget, except right after the budget shrank; a block is in one class;
/// a block is in flight at most once, hedges and direct handles aside; an admitted read has each of its blocks held or in
/// flight and waits in each; a queued read holds nothing.
#[derive(Debug, Clone)]
pub struct Plan<B> {
    pub(crate) limits: Limits,
    pub(crate) block_shift: u32,
    pub(crate) now: Time,
    pub(crate) next_id: u64,
    pub(crate) seq: u64,
    pub(crate) open: OpenState,
    /// Looked up only, never walked: its order is not the same in two runs.
    pub(crate) by_key: HashMap<(ContentKey, u64), Slot>,
    pub(crate) contents: Vec<Option<Content<B>>>,
    pub(crate) free_slots: Vec<Slot>,
    pub(crate) handles: BTreeMap<HandleId, Handle>,
    pub(crate) weights: BTreeMap<MountId, u64>,
    pub(crate) weights_sum: u64,
    /// Handles that count in the shares.
    pub(crate) holders: BTreeSet<HandleId>,
    pub(crate) reads: BTreeMap<ReadId, Waiting>,
    pub(crate) queue: VecDeque<ReadId>,
    pub(crate) spans: BTreeMap<SpanId, Span>,
    pub(crate) attempts: BTreeMap<FetchId, Attempt>,
    pub(crate) charges: Charges,
    /// Blocks read whole, oldest first.
    pub(crate) behind: BTreeSet<(u64, Slot, u32)>,
    /// Blocks read in part, oldest first; they go after all others that nobody heads to or that lie ahead.
    pub(crate) halves: BTreeSet<(u64, Slot, u32)>,
    /// Read blocks that live streams are at.
    pub(crate) kept: BTreeSet<(Slot, u32)>,
    /// Unread blocks that no stream heads to, oldest first.
    pub(crate) orphans: BTreeSet<(u64, Slot, u32)>,
    pub(crate) link: Link,
    /// The server asked for silence until then: no read-ahead before.
    pub(crate) ahead_from: Time,
    /// Of all attempts; over with the first byte from anywhere.
    pub(crate) outage: Option<Outage>,
    pub(crate) timers: Timers,
    pub(crate) actions: VecDeque<Action<B>>,
    pub(crate) counts: Counts,
}

/// Whether the plan takes reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenState {
    Open,
    ShutDown,
}

impl<B: Clone> Plan<B> {
    /// A plan with nothing open.
    pub fn new(limits: Limits) -> Result<Self, LimitsError> {
        limits.check()?;
        Ok(Plan {
            block_shift: limits.block_bytes.trailing_zeros(),
            link: Link::new(&limits),
            limits,
            now: Time(0),
            next_id: 0,
            seq: 0,
            open: OpenState::Open,
            by_key: HashMap::new(),
            contents: Vec::new(),
            free_slots: Vec::new(),
            handles: BTreeMap::new(),
            weights: BTreeMap::new(),
            weights_sum: 0,
            holders: BTreeSet::new(),
            reads: BTreeMap::new(),
            queue: VecDeque::new(),
            spans: BTreeMap::new(),
            attempts: BTreeMap::new(),
            charges: Charges::default(),
            behind: BTreeSet::new(),
            halves: BTreeSet::new(),
            kept: BTreeSet::new(),
            orphans: BTreeSet::new(),
            ahead_from: Time(0),
            outage: None,
            timers: Timers::default(),
            actions: VecDeque::new(),
            counts: Counts::default(),
        })
    }

    /// Takes new limits while running; every queued read is judged again. A budget that shrank below what reads wait for now
    /// is reached as they finish.
    pub fn set_limits(&mut self, now: Time, limits: Limits) -> Result<(), LimitsError> {
        limits.check()?;
        if limits.block_bytes != self.limits.block_bytes {
            return Err(LimitsError::Block);
        }
        self.tick(now);
        self.limits = limits;
        self.fit();
        Ok(())
    }

    /// Memory that pins and transport buffers use now; the reader keeps to the rest of the budget.
    pub fn set_outside_bytes(&mut self, now: Time, bytes: u64) {
        self.tick(now);
        let before = self.charges.of(Class::Outside);
        self.charges.sub(Class::Outside, before);
        self.charges.add(Class::Outside, bytes);
        self.fit();
    }

    fn fit(&mut self) {
        self.shrink();
        for id in self.queue.clone() {
            if self.too_large(id) {
                self.finish_failed(id, Failure::TooLarge);
            }
        }
        self.admit_queue();
    }

    /// Weight of a mount in the shares of read-ahead; 1 unless set.
    pub fn set_weight(&mut self, mount: MountId, weight: u32) {
        self.weights.insert(mount, u64::from(weight.max(1)));
        let handles: Vec<HandleId> = self.holders.iter().copied().collect();
        for handle in handles {
            self.recount(handle);
        }
    }

    /// Opens a file; asks for nothing.
    pub fn open(&mut self, now: Time, key: ContentKey, size: u64, mount: MountId, mode: Mode) -> HandleId {
        self.tick(now);
        self.next_id += 1;
        let id = HandleId(self.next_id);
        let slot = match mode {
            Mode::Cached => match self.by_key.get(&(key, size)) {
                Some(slot) => *slot,
                None => {
                    let slot = self.new_content(Content::new(key, size, Sharing::Shared));
                    self.by_key.insert((key, size), slot);
                    slot
                }
            },
            Mode::Direct => self.new_content(Content::new(key, size, Sharing::Private)),
        };
        self.content_mut(slot).handles.insert(id);
        self.handles.insert(
            id,
            Handle {
                content: slot,
                mount,
                streams: Streams::after(self.content(slot).runs),
                reads: 0,
                waiting: 0,
                ahead_bytes: 0,
                flying_bytes: 0,
                orphans: BTreeSet::new(),
                spans: BTreeSet::new(),
                refused: false,
                counted: 0,
                cap_bytes: self.link.start_cap(),
                active_at: self.now,
                idle: Idle::Asleep,
            },
        );
        id
    }

    fn new_content(&mut self, content: Content<B>) -> Slot {
        match self.free_slots.pop() {
            Some(slot) => {
                self.contents[slot.0] = Some(content);
                slot
            }
            None => {
                self.contents.push(Some(content));
                Slot(self.contents.len() - 1)
            }
        }
    }

    /// Closes a handle: its reads finish with [`Failure::Closed`]; fetches and blocks that no other handle of this content
    /// wants go.
    pub fn close(&mut self, now: Time, handle: HandleId) {
        self.tick(now);
        let Some(slot) = self.handles.get(&handle).map(|h| h.content) else { return };
        let reads: Vec<ReadId> = self.reads.iter().filter(|(_, r)| r.handle == handle).map(|(id, _)| *id).collect();
        for read in reads {
            self.finish_failed(read, Failure::Closed);
        }
        self.content_mut(slot).handles.remove(&handle);
        self.hand_over(handle, slot);
        self.set_refused(handle, false);
        self.drop_ahead(handle);
        if let Some(h) = self.handles.remove(&handle) {
            debug_assert_eq!((h.ahead_bytes, h.counted), (0, 0), "a closed handle holds nothing");
        }
        if self.content(slot).handles.is_empty() {
            self.drop_content(slot);
        }
        self.admit_queue();
    }

    /// Gives what another handle of this content heads to or waits for to that handle.
    fn hand_over(&mut self, handle: HandleId, slot: Slot) {
        let spans: Vec<SpanId> = self.handles.get(&handle).map_or_else(Vec::new, |h| h.spans.iter().copied().collect());
        for id in spans {
            let Some(blocks) = self.spans.get(&id).map(|s| s.blocks.clone()) else { continue };
            let Some((heir, stream)) = self.heir(slot, blocks) else { continue };
            if let Some(span) = self.spans.get_mut(&id) {
                (span.owner, span.stream) = (heir, stream);
            }
            if let Some(h) = self.handles.get_mut(&handle) {
                h.spans.remove(&id);
            }
            if let Some(h) = self.handles.get_mut(&heir) {
                h.spans.insert(id);
            }
            for ix in self.flying_blocks(id) {
                self.rehome(slot, ix, heir, stream);
            }
        }
        let held: Vec<u32> = self
            .content(slot)
            .blocks
            .iter()
            .filter(|(_, b)| {
                matches!(b.state, State::Held(_)) && matches!(b.home, Home::Unread { owner, .. } if owner == handle)
            })
            .map(|(ix, _)| *ix)
            .collect();
        for ix in held {
            if let Some((heir, stream)) = self.heir(slot, ix..ix + 1) {
                self.rehome(slot, ix, heir, stream);
            }
        }
    }

    fn rehome(&mut self, slot: Slot, ix: u32, heir: HandleId, heir_stream: Option<crate::streams::StreamId>) {
        self.edit(slot, ix, |block| {
            if let Home::Unread { owner, stream, .. } = &mut block.home {
                (*owner, *stream) = (heir, heir_stream);
            }
        });
        self.watch_idle(heir);
    }

    /// The handle that wants one of these blocks: a read of it waits, or a stream of it heads there.
    pub(crate) fn heir(&self, slot: Slot, blocks: Range<u32>) -> Option<(HandleId, Option<crate::streams::StreamId>)> {
        let content = self.content(slot);
        let waiter = content.blocks.range(blocks.clone()).find_map(|(_, b)| b.waiters.first());
        if let Some(read) = waiter.and_then(|id| self.reads.get(id)) {
            return Some((read.handle, Some(read.stream)));
        }
        let (start, end) = (u64::from(blocks.start) << self.block_shift, u64::from(blocks.end) << self.block_shift);
        content.handles.iter().find_map(|id| {
            let streams = &self.handles.get(id)?.streams;
            let stream = streams.iter().find(|s| s.pos < end && start < s.target)?;
            Some((*id, Some(stream.id)))
        })
    }

    fn drop_content(&mut self, slot: Slot) {
        debug_assert!(self.spans.values().all(|s| s.slot != slot), "closing its last handle ended its fetches");
        while let Some(ix) = self.content(slot).blocks.first_key_value().map(|(ix, _)| *ix) {
            self.drop_held(slot, ix);
        }
        if let Some(content) = self.contents[slot.0].take()
            && content.sharing == Sharing::Shared
        {
            self.by_key.remove(&(content.key, content.size));
        }
        self.free_slots.push(slot);
    }

    /// Reads `len` bytes at `offset`, cut at the end of the file; at or past the end the answer is empty and nothing is asked.
    /// Every [`Read::Wait`] gets exactly one [`Action::Finish`], perhaps at once.
    pub fn read(&mut self, now: Time, handle: HandleId, offset: u64, len: u32) -> Read<B> {
        self.tick(now);
        self.counts.reads += 1;
        let Some(h) = self.handles.get_mut(&handle).filter(|_| self.open == OpenState::Open) else {
            let id = self.new_read_id();
            self.actions.push_back(Action::Finish(id, Err(Failure::Closed)));
            return Read::Wait(id);
        };
        let slot = h.content;
        let content = self.contents[slot.0].as_ref().expect("a slot lives as long as its handles");
        let end = offset.saturating_add(u64::from(len)).min(content.size);
        if offset >= end {
            return Read::Done(Vec::new());
        }
        h.reads += 1;
        let sharing = content.sharing;
        if sharing == Sharing::Private && !planted(Bug::DirectRereadHeld) {
            self.forget_consumed(slot, offset, end);
        }
        let (stream, step) = self.follow(handle, slot, offset, end);
        let answer = match self.pieces(slot, offset, end) {
            Some(pieces) => {
                self.counts.hits += 1;
                self.counts.read_bytes += end - offset;
                let new = self.note_new_blocks(handle, slot, offset, end);
                if !new && step == Step::Within && sharing == Sharing::Shared {
                    // A re-read of what is held changes nothing.
                    self.sweep(handle);
                    return Read::Done(pieces);
                }
                self.consume(handle, slot, stream, offset, end);
                Read::Done(pieces)
            }
            None => Read::Wait(self.wait(handle, slot, stream, offset, end)),
        };
        self.give_back(handle);
        self.ease(handle);
        if step == Step::Began {
            self.ease_richest();
        }
        self.pump(handle, stream);
        self.sweep(handle);
        answer
    }

    /// A read of what nobody has read is activity; a re-read is not.
    fn note_new_blocks(&mut self, handle: HandleId, slot: Slot, offset: u64, end: u64) -> bool {
        let blocks = (offset >> self.block_shift) as u32..=((end - 1) >> self.block_shift) as u32;
        let mut held = self.content(slot).blocks.range(blocks);
        let new = held.any(|(ix, block)| !block.parts.contains(self.parts_of(*ix, offset, end)));
        if new {
            let now = self.now;
            if let Some(h) = self.handles.get_mut(&handle) {
                h.active_at = now;
            }
            self.watch_idle(handle);
        }
        new
    }

    /// A direct handle's blocks that start before where they were read to are fetched again.
    fn forget_consumed(&mut self, slot: Slot, offset: u64, end: u64) {
        let blocks = (offset >> self.block_shift) as u32..((end - 1) >> self.block_shift) as u32 + 1;
        let again: Vec<u32> = self
            .content(slot)
            .blocks
            .range(blocks)
            .filter(|(ix, b)| {
                let start = u64::from(**ix) << self.block_shift;
                matches!(b.state, State::Held(_))
                    && b.waiters.is_empty()
                    && offset.max(start) - start < u64::from(b.consumed)
            })
            .map(|(ix, _)| *ix)
            .collect();
        for ix in again {
            self.remove_block(slot, ix);
        }
    }

    /// Drops what a direct handle has read to its end and no read keeps any more.
    pub(crate) fn drop_consumed(&mut self, slot: Slot, blocks: Range<u32>) {
        for ix in blocks {
            let len = self.block_len(slot, ix);
            let gone = self
                .content(slot)
                .blocks
                .get(&ix)
                .is_some_and(|b| b.waiters.is_empty() && u64::from(b.consumed) == len);
            if gone {
                self.remove_block(slot, ix);
            }
        }
    }

    /// Ends a waiting read with [`Failure::Closed`]. What it waited for is read-ahead from now on.
    pub fn cancel(&mut self, now: Time, read: ReadId) {
        self.tick(now);
        self.finish_failed(read, Failure::Closed);
        self.admit_queue();
    }

    /// A whole block came. Ignored once the fetch was cancelled or settled, or if another attempt brought it.
    pub fn arrived(&mut self, now: Time, fetch: FetchId, block: BlockIx, bytes: B) {
        self.tick(now);
        self.take_arrived(fetch, block, bytes);
        self.admit_queue();
    }

    /// The request was sent: its stall timer starts.
    pub fn sent(&mut self, now: Time, fetch: FetchId) {
        self.tick(now);
        self.take_sent(fetch);
    }

    /// Bytes came off the network: the stall timer starts again.
    pub fn received(&mut self, now: Time, fetch: FetchId, wire_bytes: u64) {
        self.tick(now);
        self.take_received(fetch, wire_bytes);
    }

    /// The fetch has ended and holds no memory any more: its charge ends. Every [`Action::Fetch`] is settled exactly once,
    /// cancelled ones too.
    pub fn settled(&mut self, now: Time, fetch: FetchId, outcome: Outcome) {
        self.tick(now);
        self.take_settled(fetch, outcome);
        if !planted(Bug::QueueForgotten) {
            self.admit_queue();
        }
    }

    /// The next thing to do, in order; `None` until something else happens.
    pub fn next_action(&mut self) -> Option<Action<B>> {
        self.actions.pop_front()
    }

    /// When [`Plan::elapsed`] should be called at the latest.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Time has passed.
    pub fn elapsed(&mut self, now: Time) {
        self.tick(now);
        while let Some(timer) = self.timers.pop(self.now) {
            match timer {
                Timer::Deadline(read) => self.finish_failed(read, Failure::Deadline),
                Timer::Silence(fetch) => self.silence(fetch),
                Timer::Retry(span) => self.try_again(span),
                Timer::Idle(handle) => self.idle_due(handle),
            }
        }
        self.admit_queue();
    }

    /// The clock jumped: deadlines, stall timers and idle timers start again from `now`.
    pub fn woke(&mut self, now: Time) {
        self.tick(now);
        self.timers.keep_retries();
        self.link.woke(self.now);
        // Another network, perhaps.
        self.outage = None;
        for (id, read) in &mut self.reads {
            read.deadline = self.now.after(self.limits.deadline_ms);
            self.timers.set(read.deadline, Timer::Deadline(*id));
        }
        for (id, attempt) in &mut self.attempts {
            if attempt.sent {
                attempt.last_byte = self.now;
                let first = self.limits.hedge_ms.min(self.limits.stall_ms);
                self.timers.set(self.now.after(first), Timer::Silence(*id));
            }
        }
        for (id, h) in &mut self.handles {
            h.active_at = self.now;
            if h.idle == Idle::Watched {
                self.timers.set(self.now.after(self.limits.idle_ms), Timer::Idle(*id));
            }
        }
    }

    /// Ends everything: reads finish with [`Failure::Closed`], fetches are cancelled, handles are closed; later reads finish
    /// the same way.
    pub fn shut_down(&mut self, now: Time) {
        self.tick(now);
        self.open = OpenState::ShutDown;
        let reads: Vec<ReadId> = self.reads.keys().copied().collect();
        for read in reads {
            self.finish_failed(read, Failure::Closed);
        }
        let handles: Vec<HandleId> = self.handles.keys().copied().collect();
        for handle in handles {
            self.close(now, handle);
        }
        self.timers.clear_all();
    }

    /// Figures.
    pub fn stats(&self) -> Stats {
        Stats {
            awaited_bytes: self.charges.of(Class::AwaitedFlying) + self.charges.of(Class::AwaitedHeld),
            flying_bytes: self.charges.of(Class::AwaitedFlying) + self.charges.of(Class::AheadFlying),
            ahead_flying_bytes: self.charges.of(Class::AheadFlying),
            ahead_held_bytes: self.charges.of(Class::AheadHeld),
            behind_bytes: self.charges.of(Class::Behind),
            extra_bytes: self.charges.of(Class::Extra),
            outside_bytes: self.charges.of(Class::Outside),
            charged_bytes: self.charges.total(),
            handles: self.handles.len(),
            contents: self.contents.iter().flatten().count(),
            waiting_reads: self.reads.len(),
            queued_reads: self.queue.len(),
            fetches_in_flight: self.attempts.len(),
            link_bytes_per_second: self.link.rate(),
            counts: self.counts.clone(),
        }
    }

    /// Read-ahead of one handle, in flight and held, and what its share is now; bytes.
    pub fn handle_bytes(&self, handle: HandleId) -> Option<(u64, u64)> {
        self.handles.get(&handle).map(|h| (h.ahead_bytes, self.share(handle)))
    }

    fn tick(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    pub(crate) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }
}
