//! Fetches: what is in flight, its attempts, and how they end. A *span* is the work, an *attempt* is one request for it
//! ([`FetchId`]); retries and hedges are further attempts of the same span. Never chooses what to fetch.

use crate::charges::Class;
use crate::content::{Block, Home, State};
use crate::parts::Parts;
use crate::plan::{Plan, Slot};
use crate::planted::{Bug, planted};
use crate::retry::{self, Ended, Outage};
use crate::streams::StreamId;
use crate::timers::Timer;
use crate::{Action, BlockIx, Failure, FetchId, HandleId, Outcome, ReadId, Time, Urgency, flow};
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpanId(pub(crate) u64);

#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) slot: Slot,
    pub(crate) blocks: Range<u32>,
    /// Blocks that have not arrived.
    pub(crate) missing: u32,
    /// Whose read-ahead it is.
    pub(crate) owner: HandleId,
    pub(crate) stream: Option<StreamId>,
    /// The read that began it, which does not try again by itself.
    pub(crate) origin: Option<ReadId>,
    /// Reads of the owner when it began.
    pub(crate) began_reads: u64,
    /// Reads waiting for its blocks in flight, counted per block.
    pub(crate) waits: u32,
    /// Running attempts; the first one carries the charge of the blocks in flight.
    pub(crate) attempts: Vec<FetchId>,
    /// Attempts in a row that delivered nothing.
    pub(crate) empty_handed: u32,
    pub(crate) hedged: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// Its span; none once cancelled, when it only waits to settle.
    pub(crate) span: Option<SpanId>,
    pub(crate) slot: Slot,
    pub(crate) blocks: Range<u32>,
    pub(crate) began: Time,
    pub(crate) sent: bool,
    pub(crate) stalled: bool,
    pub(crate) last_byte: Time,
    pub(crate) delivered: u32,
    /// What it is charged beside its span's blocks.
    pub(crate) extra: u64,
}

impl<B: Clone> Plan<B> {
    /// Begins a span of blocks that are neither held nor in flight, within one cell. Its request goes out with [`Plan::launch`].
    pub(crate) fn begin_span(
        &mut self,
        slot: Slot,
        blocks: Range<u32>,
        owner: HandleId,
        stream: Option<StreamId>,
        origin: Option<ReadId>,
    ) -> SpanId {
        debug_assert!(!blocks.is_empty());
        debug_assert!(self.blocks_len(slot, blocks.clone()) <= self.room(), "memory is reserved before a fetch starts");
        debug_assert!(origin.is_some() || self.queue.is_empty(), "read-ahead spends only what no waiting read needs");
        self.next_id += 1;
        let id = SpanId(self.next_id);
        let began_reads = self.handles.get(&owner).map_or(0, |h| h.reads);
        self.spans.insert(
            id,
            Span {
                slot,
                blocks: blocks.clone(),
                missing: blocks.len() as u32,
                owner,
                stream,
                origin,
                began_reads,
                waits: 0,
                attempts: Vec::new(),
                empty_handed: 0,
                hedged: false,
            },
        );
        if let Some(h) = self.handles.get_mut(&owner) {
            h.spans.insert(id);
        }
        for ix in blocks {
            let seq = self.next_seq();
            self.insert_block(
                slot,
                ix,
                Block {
                    state: State::Flying(id),
                    waiters: Vec::new(),
                    home: Home::Unread { owner, stream, seq },
                    parts: Parts::default(),
                    last_of: 0,
                    consumed: 0,
                },
            );
        }
        self.watch_idle(owner);
        id
    }

    /// Sends a request for the span's blocks.
    pub(crate) fn launch(&mut self, id: SpanId) -> Option<FetchId> {
        let blocks = self.spans.get(&id)?.blocks.clone();
        self.attempt(id, blocks)
    }

    fn attempt(&mut self, id: SpanId, blocks: Range<u32>) -> Option<FetchId> {
        let flying = self.attempts.len();
        self.next_id += 1;
        let fetch = FetchId(self.next_id);
        let span = self.spans.get_mut(&id)?;
        span.attempts.push(fetch);
        let (slot, awaited, reader) = (span.slot, span.waits > 0, (span.owner, span.stream));
        self.attempts.insert(
            fetch,
            Attempt {
                span: Some(id),
                slot,
                blocks: blocks.clone(),
                began: self.now,
                sent: false,
                stalled: false,
                last_byte: self.now,
                delivered: 0,
                extra: 0,
            },
        );
        self.link.started(flying);
        self.counts.fetches += 1;
        self.counts.asked_bytes += self.blocks_len(slot, blocks.clone());
        let urgency = if awaited || self.reads_a_short_run(reader) { Urgency::Soon } else { Urgency::Ahead };
        let content = self.content(slot).key;
        self.actions.push_back(Action::Fetch { fetch, content, blocks, urgency });
        Some(fetch)
    }

    fn reads_a_short_run(&self, (owner, stream): (HandleId, Option<StreamId>)) -> bool {
        let streams = self.handles.get(&owner).map(|h| &h.streams);
        streams.zip(stream).and_then(|(streams, id)| streams.get(id)).is_some_and(|stream| stream.piece.is_some())
    }

    /// Stops a span that no read waits for: its blocks are free to be asked for again, its charge ends as each attempt settles.
    pub(crate) fn cancel_span(&mut self, id: SpanId) {
        let Some(span) = self.spans.get(&id) else { return };
        debug_assert_eq!(span.waits, 0, "a span that a read waits for is not cancelled");
        let slot = span.slot;
        let mut flying = 0;
        for ix in self.flying_blocks(id) {
            flying += self.block_len(slot, ix);
            self.remove_block(slot, ix);
        }
        self.end_span(id, flying);
    }

    /// Forgets a span whose blocks are gone or here; `flying` is the charge its first attempt still carries for them.
    fn end_span(&mut self, id: SpanId, mut flying: u64) {
        let Some(span) = self.spans.remove(&id) else { return };
        if let Some(h) = self.handles.get_mut(&span.owner) {
            h.spans.remove(&id);
        }
        for fetch in span.attempts {
            self.cancel_attempt(fetch, std::mem::take(&mut flying));
        }
    }

    fn cancel_attempt(&mut self, fetch: FetchId, flying: u64) {
        let flying = if planted(Bug::ChargeEndsAtCancel) { 0 } else { flying };
        if let Some(at) = self.actions.iter().position(|a| matches!(a, Action::Fetch { fetch: f, .. } if *f == fetch)) {
            // The driver has not seen it yet.
            self.actions.remove(at);
            if let Some(attempt) = self.attempts.remove(&fetch) {
                self.charges.sub(Class::Extra, attempt.extra);
                let asked = self.blocks_len(attempt.slot, attempt.blocks);
                self.counts.asked_bytes -= asked;
                self.counts.fetches -= 1;
            }
            return;
        }
        let Some(attempt) = self.attempts.get_mut(&fetch) else { return };
        attempt.span = None;
        attempt.extra += flying;
        let told = attempt.stalled;
        self.charges.add(Class::Extra, flying);
        if !told {
            self.counts.cancelled += 1;
            self.actions.push_back(Action::Cancel(fetch));
        }
    }

    /// The span's blocks that have not arrived.
    pub(crate) fn flying_blocks(&self, id: SpanId) -> Vec<u32> {
        let Some(span) = self.spans.get(&id) else { return Vec::new() };
        self.content(span.slot)
            .blocks
            .range(span.blocks.clone())
            .filter(|(_, b)| matches!(b.state, State::Flying(of) if of == id))
            .map(|(ix, _)| *ix)
            .collect()
    }

    pub(crate) fn take_arrived(&mut self, fetch: FetchId, ix: BlockIx, bytes: B) {
        let Some(attempt) = self.attempts.get_mut(&fetch) else { return };
        let Some(id) = attempt.span else { return };
        if !attempt.blocks.contains(&ix.0) {
            return;
        }
        let Some(span) = self.spans.get_mut(&id) else { return };
        let slot = span.slot;
        let first = span.attempts.first() == Some(&fetch);
        let carrier = span.attempts.first().copied();
        match self.contents[slot.0].as_ref().and_then(|c| c.blocks.get(&ix.0)) {
            Some(Block { state: State::Flying(of), .. }) if *of == id => {}
            _ => return,
        }
        attempt.delivered += 1;
        span.missing -= 1;
        let waiters = self.content(slot).blocks[&ix.0].waiters.clone();
        if let Some(span) = self.spans.get_mut(&id) {
            span.waits -= waiters.len() as u32;
        }
        let len = self.block_len(slot, ix.0);
        if !first {
            // The hedge's charge becomes the block's; the first attempt may still bring its copy.
            if let Some(attempt) = self.attempts.get_mut(&fetch) {
                let paid = attempt.extra.min(len);
                attempt.extra -= paid;
                self.charges.sub(Class::Extra, paid);
            }
            if let Some(attempt) = carrier.and_then(|c| self.attempts.get_mut(&c)) {
                attempt.extra += len;
                self.charges.add(Class::Extra, len);
            }
        }
        self.edit(slot, ix.0, |block| block.state = State::Held(bytes));
        self.counts.arrived_bytes += len;
        for read in waiters {
            self.block_came(read);
        }
        if let Some((owner, stream)) = self.spans.get(&id).map(|span| (span.owner, span.stream)) {
            self.refill(owner, stream);
        }
    }

    pub(crate) fn take_received(&mut self, fetch: FetchId, wire_bytes: u64) {
        self.link.received(self.now, wire_bytes, self.attempts.len(), &self.limits);
        self.outage = None;
        let Some(attempt) = self.attempts.get_mut(&fetch) else { return };
        attempt.last_byte = self.now;
        if !attempt.sent {
            // Bytes came, so it was sent.
            self.take_sent(fetch);
        }
        let span = self.attempts.get(&fetch).and_then(|a| a.span).and_then(|s| self.spans.get(&s));
        if let Some(span) = span
            && span.waits > 0
            && let Some(stream) = span.stream
        {
            let owner = span.owner;
            self.release_probe(owner, stream);
        }
    }

    pub(crate) fn take_sent(&mut self, fetch: FetchId) {
        let Some(attempt) = self.attempts.get_mut(&fetch) else { return };
        attempt.sent = true;
        attempt.last_byte = self.now;
        let first = self.limits.hedge_ms.min(self.limits.stall_ms);
        self.timers.set(self.now.after(first), Timer::Silence(fetch));
    }

    pub(crate) fn take_settled(&mut self, fetch: FetchId, outcome: Outcome) {
        let Some(attempt) = self.attempts.remove(&fetch) else { return };
        self.charges.sub(Class::Extra, attempt.extra);
        let Some(id) = attempt.span else { return };
        let Some(span) = self.spans.get_mut(&id) else { return };
        let was_first = span.attempts.first() == Some(&fetch);
        span.attempts.retain(|f| *f != fetch);
        let (owner, stream, began_reads) = (span.owner, span.stream, span.began_reads);
        if span.missing == 0 {
            let took = self.now.0.saturating_sub(attempt.began.0);
            let bytes = self.blocks_len(attempt.slot, attempt.blocks);
            self.learn(owner, bytes, took <= self.limits.stall_ms / 4);
            self.end_span(id, 0);
            self.top_up(owner, stream, began_reads);
            return;
        }
        self.learn(owner, 0, false);
        if let Some(next) = self.spans[&id].attempts.first().copied() {
            if was_first {
                self.promote(id, next);
            }
            return;
        }
        if let Outcome::RetryAt(at) = outcome {
            self.ahead_from = self.ahead_from.max(at);
        }
        if outcome == Outcome::Complete && planted(Bug::EarlyEndForgotten) {
            return;
        }
        if outcome == Outcome::Away && !attempt.stalled && attempt.delivered == 0 {
            self.outage = Some(Outage::seen(self.outage, attempt.began, self.now, &self.limits));
        }
        let outage = self.outage.filter(|_| outcome == Outcome::Away);
        let ended = Ended { fetch, outcome, stalled: attempt.stalled, delivered: attempt.delivered, outage };
        let Some(span) = self.spans.get_mut(&id) else { return };
        span.hedged = false;
        match retry::after(ended, span, self.now, &self.limits) {
            retry::Next::Fail => self.fail_span(id, fetch),
            retry::Next::At(at) if at <= self.now => self.try_again(id),
            retry::Next::At(at) => self.timers.set(at, Timer::Retry(id)),
        }
    }

    /// The hedge is alone now: the blocks in flight are what it is charged for.
    fn promote(&mut self, id: SpanId, next: FetchId) {
        let Some(slot) = self.spans.get(&id).map(|s| s.slot) else { return };
        let mut flying = 0;
        for ix in self.flying_blocks(id) {
            flying += self.block_len(slot, ix);
        }
        if let Some(attempt) = self.attempts.get_mut(&next) {
            let paid = attempt.extra.min(flying);
            attempt.extra -= paid;
            self.charges.sub(Class::Extra, paid);
        }
    }

    /// Asks again for what has not arrived, from the first missing block; runs apart become spans of their own.
    pub(crate) fn try_again(&mut self, id: SpanId) {
        if self.spans.get(&id).is_none_or(|s| !s.attempts.is_empty()) {
            return;
        }
        let mut runs: Vec<Range<u32>> = Vec::new();
        for ix in self.flying_blocks(id) {
            match runs.last_mut() {
                Some(run) if run.end == ix => run.end += 1,
                _ => runs.push(ix..ix + 1),
            }
        }
        for run in runs.drain(..).rev() {
            self.counts.retries += 1;
            let part = self.split_off(id, run);
            self.launch(part);
        }
    }

    /// Makes `run` a span of its own, unless it is all that is missing of `id`.
    fn split_off(&mut self, id: SpanId, run: Range<u32>) -> SpanId {
        let Some(span) = self.spans.get_mut(&id) else { return id };
        if span.missing == run.len() as u32 {
            span.blocks = run;
            return id;
        }
        let mut part = span.clone();
        self.next_id += 1;
        let part_id = SpanId(self.next_id);
        let slot = span.slot;
        part.blocks = run.clone();
        part.missing = run.len() as u32;
        part.waits = 0;
        for ix in run.clone() {
            self.edit(slot, ix, |block| {
                block.state = State::Flying(part_id);
                part.waits += block.waiters.len() as u32;
            });
        }
        if let Some(span) = self.spans.get_mut(&id) {
            span.waits -= part.waits;
            span.missing -= part.missing;
        }
        if let Some(h) = self.handles.get_mut(&part.owner) {
            h.spans.insert(part_id);
        }
        self.spans.insert(part_id, part);
        part_id
    }

    /// Fails what has not arrived. Reads that began the span, or tried once already, fail with it; those that had only
    /// joined go first in line to try once more themselves.
    pub(crate) fn fail_span(&mut self, id: SpanId, fetch: FetchId) {
        let Some(span) = self.spans.get(&id) else { return };
        let (slot, origin) = (span.slot, span.origin);
        let mut reads: Vec<ReadId> = Vec::new();
        for ix in self.flying_blocks(id) {
            if let Some(block) = self.remove_block(slot, ix) {
                reads.extend(block.waiters);
            }
        }
        self.end_span(id, 0);
        reads.sort_unstable();
        reads.dedup();
        for read in reads.into_iter().rev() {
            let again = self.reads.get(&read).is_some_and(|r| origin != Some(read) && !r.retried)
                && !planted(Bug::JoinedReadFails);
            if again {
                self.queue_again(read);
            } else {
                self.finish_failed(read, Failure::Fetch(fetch));
            }
        }
        self.admit_queue();
    }

    /// A request was silent: a second attempt beside it while a read waits, and in the end a stall.
    pub(crate) fn silence(&mut self, fetch: FetchId) {
        let Some(attempt) = self.attempts.get(&fetch) else { return };
        let Some(id) = attempt.span else { return };
        if attempt.stalled || !attempt.sent {
            return;
        }
        let silent = self.now.0.saturating_sub(attempt.last_byte.0);
        let last_byte = attempt.last_byte;
        if silent >= self.limits.stall_ms {
            if planted(Bug::StallForgotten) {
                return;
            }
            self.counts.stalls += 1;
            self.counts.cancelled += 1;
            if let Some(attempt) = self.attempts.get_mut(&fetch) {
                attempt.stalled = true;
            }
            self.actions.push_back(Action::Cancel(fetch));
            return;
        }
        let Some(span) = self.spans.get(&id) else { return };
        let may_hedge = !span.hedged && span.attempts.len() == 1;
        if may_hedge && silent >= self.limits.hedge_ms && span.waits > 0 {
            self.hedge(id);
        }
        let next = if may_hedge && silent < self.limits.hedge_ms { self.limits.hedge_ms } else { self.limits.stall_ms };
        self.timers.set(last_byte.after(next.min(self.limits.stall_ms)), Timer::Silence(fetch));
    }

    fn hedge(&mut self, id: SpanId) {
        let missing = self.flying_blocks(id);
        let (Some(first), Some(last), Some(span)) = (missing.first(), missing.last(), self.spans.get(&id)) else {
            return;
        };
        let (slot, blocks) = (span.slot, *first..*last + 1);
        let bytes = self.blocks_len(slot, blocks.clone());
        // Waiting reads come first: a hedge never takes the memory that one queues for.
        if !self.queue.is_empty() || !self.make_room(bytes) {
            return;
        }
        if let Some(fetch) = self.attempt(id, blocks) {
            self.counts.hedges += 1;
            self.charges.add(Class::Extra, bytes);
            if let Some(attempt) = self.attempts.get_mut(&fetch) {
                attempt.extra = bytes;
            }
            if let Some(span) = self.spans.get_mut(&id) {
                span.hedged = true;
            }
        }
    }

    fn learn(&mut self, owner: HandleId, bytes: u64, timely: bool) {
        if let Some(h) = self.handles.get_mut(&owner) {
            h.cap_bytes = flow::cap_after(h.cap_bytes, bytes, timely, &self.limits);
            self.link.learned(h.cap_bytes);
        }
    }
}
