//! Reads that wait: admitted whole, first come first served, finished with their last block or their first failure. Never
//! holds memory while it queues.

use crate::content::{Sharing, State};
use crate::fetches::SpanId;
use crate::plan::{Plan, Slot};
use crate::planted::{Bug, planted};
use crate::streams::StreamId;
use crate::timers::Timer;
use crate::{Action, Failure, HandleId, Piece, ReadId, Time, windows};
use std::ops::Range;

#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) handle: HandleId,
    pub(crate) slot: Slot,
    pub(crate) stream: StreamId,
    pub(crate) offset: u64,
    pub(crate) end: u64,
    pub(crate) blocks: Range<u32>,
    pub(crate) deadline: Time,
    pub(crate) place: Place,
    /// It had joined a fetch that failed and tries once more itself.
    pub(crate) retried: bool,
}

/// How far a read has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Waits for memory; holds none.
    Queued,
    /// All its blocks are held or in flight and kept for it; so many have not arrived.
    Admitted { missing: u32 },
}

impl<B: Clone> Plan<B> {
    /// The pieces of a read if every block is held.
    pub(crate) fn pieces(&self, slot: Slot, offset: u64, end: u64) -> Option<Vec<Piece<B>>> {
        let content = self.content(slot);
        let first = (offset >> self.block_shift) as u32;
        let last = ((end - 1) >> self.block_shift) as u32;
        let mut pieces = Vec::with_capacity((last - first + 1) as usize);
        if first == last {
            let State::Held(bytes) = &content.blocks.get(&first)?.state else {
                return None;
            };
            pieces.push(self.piece(first, bytes, offset, end));
            return Some(pieces);
        }
        let mut next = first;
        for (ix, block) in content.blocks.range(first..=last) {
            let State::Held(bytes) = &block.state else { return None };
            if *ix != next {
                return None;
            }
            next += 1;
            pieces.push(self.piece(*ix, bytes, offset, end));
        }
        (next == last + 1).then_some(pieces)
    }

    fn piece(&self, ix: u32, bytes: &B, offset: u64, end: u64) -> Piece<B> {
        let start = u64::from(ix) << self.block_shift;
        let from = if planted(Bug::WrongPiece) { 0 } else { offset.saturating_sub(start) as u32 };
        let to = (end - start).min(self.limits.block_bytes) as u32;
        Piece { block: bytes.clone(), range: from..to }
    }

    /// Takes a missed read in.
    pub(crate) fn wait(&mut self, handle: HandleId, slot: Slot, stream: StreamId, offset: u64, end: u64) -> ReadId {
        let id = self.new_read_id();
        let blocks = (offset >> self.block_shift) as u32..((end - 1) >> self.block_shift) as u32 + 1;
        let deadline = self.now.after(self.limits.deadline_ms);
        self.counts.waits += 1;
        self.reads.insert(
            id,
            Waiting { handle, slot, stream, offset, end, blocks, deadline, place: Place::Queued, retried: false },
        );
        self.timers.set(deadline, Timer::Deadline(id));
        if let Some(h) = self.handles.get_mut(&handle) {
            h.waiting += 1;
            h.active_at = self.now;
            if let Some(stream) = h.streams.get_mut(stream) {
                stream.waited = true;
                stream.waits += 1;
            }
        }
        self.watch_idle(handle);
        self.queue.push_back(id);
        if self.queue.len() == 1 {
            self.leave_slow_leads(id);
        }
        if self.too_large(id) {
            self.finish_failed(id, Failure::TooLarge);
        } else if !self.missing_runs(id).is_empty() && !planted(Bug::QueueJumped) {
            self.admit_queue();
        } else if self.try_admit(id) {
            // It needs no memory of its own, so it passes those that queue for some.
            self.queue.retain(|q| *q != id);
        }
        id
    }

    pub(crate) fn too_large(&self, id: ReadId) -> bool {
        self.reads.get(&id).is_some_and(|r| self.blocks_len(r.slot, r.blocks.clone()) > self.limits.budget_bytes)
    }

    /// Admits from the head of the queue as long as memory can be had.
    pub(crate) fn admit_queue(&mut self) {
        let mut streams: Vec<(HandleId, StreamId)> = Vec::new();
        while let Some(id) = self.queue.front().copied() {
            let Some(read) = self.reads.get(&id) else {
                self.queue.pop_front();
                continue;
            };
            let reader = (read.handle, read.stream);
            if !self.try_admit(id) {
                break;
            }
            self.queue.retain(|q| *q != id);
            streams.push(reader);
        }
        for (handle, stream) in streams {
            self.pump(handle, stream);
        }
    }

    /// Keeps what is here, joins what is in flight and begins fetches of the rest; or, without the memory for all of it, none.
    fn try_admit(&mut self, id: ReadId) -> bool {
        let Some(read) = self.reads.get(&id).cloned() else { return true };
        let runs = self.missing_runs(id);
        let present: Vec<u32> = self.content(read.slot).blocks.range(read.blocks.clone()).map(|(ix, _)| *ix).collect();
        for ix in &present {
            self.add_waiter(read.slot, *ix, id);
        }
        let need = runs.iter().map(|run| self.blocks_len(read.slot, run.clone())).sum();
        if need > 0 && !planted(Bug::NoReservation) && !self.make_room(need) {
            for ix in &present {
                self.remove_waiter(read.slot, *ix, id);
            }
            return false;
        }
        let mut begun: Vec<SpanId> = Vec::new();
        for run in runs {
            let longer = self.extended(&read, run.clone());
            let mut rest = longer.clone();
            while !rest.is_empty() {
                let part = windows::within_cell(rest.clone(), &self.limits);
                rest.start = part.end;
                begun.push(self.begin_span(read.slot, part, read.handle, Some(read.stream), Some(id)));
            }
            for ix in run {
                self.add_waiter(read.slot, ix, id);
            }
        }
        for span in begun {
            self.launch(span);
        }
        self.hurry(&read);
        let content = self.content(read.slot);
        let missing =
            content.blocks.range(read.blocks.clone()).filter(|(_, b)| matches!(b.state, State::Flying(_))).count()
                as u32;
        if let Some(read) = self.reads.get_mut(&id) {
            read.place = Place::Admitted { missing };
        }
        if missing == 0 {
            self.finish_done(id);
        }
        true
    }

    /// Runs of the read's blocks that are neither held nor in flight.
    fn missing_runs(&self, id: ReadId) -> Vec<Range<u32>> {
        let Some(read) = self.reads.get(&id) else { return Vec::new() };
        let mut runs = Vec::new();
        let mut from = read.blocks.start;
        for (ix, block) in self.content(read.slot).blocks.range(read.blocks.clone()) {
            if planted(Bug::NotShared) && matches!(block.state, State::Flying(_)) {
                continue;
            }
            if *ix > from {
                runs.push(from..*ix);
            }
            from = ix + 1;
        }
        if from < read.blocks.end {
            runs.push(from..read.blocks.end);
        }
        runs
    }

    /// A fetch in flight whose next byte is further before the needed one than the link carries in `lead_ms` is left: what
    /// it had not brought is free, and the read asks for what it needs itself.
    fn leave_slow_leads(&mut self, id: ReadId) {
        let carries = self.link.carries(self.limits.lead_ms);
        let Some(read) = self.reads.get(&id) else { return };
        let slot = read.slot;
        let mut needed: Vec<(SpanId, u32)> = Vec::new();
        for (ix, block) in self.content(slot).blocks.range(read.blocks.clone()) {
            if let State::Flying(span) = block.state
                && needed.last().is_none_or(|(of, _)| *of != span)
            {
                needed.push((span, *ix));
            }
        }
        for (span, ix) in needed {
            let waits = self.spans.get(&span).map_or(0, |s| s.waits);
            let lead = self
                .flying_blocks(span)
                .first()
                .map_or(0, |first| u64::from(ix.saturating_sub(*first)) << self.block_shift);
            if waits == 0 && lead > carries {
                self.cancel_span(span);
            }
        }
    }

    /// A read joined requests that were silent before anybody waited: look at them now.
    fn hurry(&mut self, read: &Waiting) {
        let mut fetches = Vec::new();
        for (_, block) in self.content(read.slot).blocks.range(read.blocks.clone()) {
            if let State::Flying(span) = block.state
                && let Some(span) = self.spans.get(&span)
            {
                fetches.extend(span.attempts.iter().copied());
            }
        }
        fetches.dedup();
        for fetch in fetches {
            if let Some(attempt) = self.attempts.get(&fetch)
                && attempt.sent
                && self.now.0.saturating_sub(attempt.last_byte.0) >= self.limits.hedge_ms
            {
                self.timers.set(self.now, Timer::Silence(fetch));
            }
        }
    }

    /// One block of a waiting read arrived.
    pub(crate) fn block_came(&mut self, id: ReadId) {
        let Some(read) = self.reads.get_mut(&id) else { return };
        if let Place::Admitted { missing } = &mut read.place {
            *missing -= 1;
            if *missing == 0 {
                self.finish_done(id);
            }
        }
    }

    fn finish_done(&mut self, id: ReadId) {
        let Some(read) = self.take_read(id) else { return };
        let pieces = self.pieces(read.slot, read.offset, read.end);
        debug_assert!(pieces.is_some(), "a read is done when every block is held");
        for ix in read.blocks.clone().skip(usize::from(planted(Bug::WaiterLeaks))) {
            self.remove_waiter(read.slot, ix, id);
        }
        self.counts.read_bytes += read.end - read.offset;
        self.consume(read.handle, read.slot, read.stream, read.offset, read.end);
        self.actions.push_back(Action::Finish(id, pieces.ok_or(Failure::Closed)));
    }

    pub(crate) fn finish_failed(&mut self, id: ReadId, failure: Failure) {
        let Some(read) = self.take_read(id) else { return };
        self.release(id, &read);
        match failure {
            Failure::Closed => {}
            Failure::Deadline => {
                self.counts.deadlines += 1;
                self.counts.failures += 1;
            }
            Failure::Fetch(_) | Failure::TooLarge => self.counts.failures += 1,
        }
        self.queue.retain(|q| *q != id);
        self.actions.push_back(Action::Finish(id, Err(failure)));
    }

    /// Lets go of an admitted read's blocks: they are read-ahead again.
    fn release(&mut self, id: ReadId, read: &Waiting) {
        if read.place == Place::Queued {
            return;
        }
        for ix in read.blocks.clone() {
            self.remove_waiter(read.slot, ix, id);
        }
        if self.content(read.slot).sharing == Sharing::Private {
            self.drop_consumed(read.slot, read.blocks.clone());
        }
    }

    /// A read whose joined fetch failed goes first in line, without its memory, which is the memory it will need.
    pub(crate) fn queue_again(&mut self, id: ReadId) {
        let Some(read) = self.reads.get(&id).cloned() else { return };
        self.release(id, &read);
        if let Some(read) = self.reads.get_mut(&id) {
            read.retried = true;
            read.place = Place::Queued;
        }
        self.queue.push_front(id);
    }

    fn take_read(&mut self, id: ReadId) -> Option<Waiting> {
        let read = self.reads.remove(&id)?;
        self.timers.clear(read.deadline, Timer::Deadline(id));
        if let Some(h) = self.handles.get_mut(&read.handle) {
            h.waiting -= 1;
            let number = h.reads;
            if let Some(stream) = h.streams.get_mut(read.stream) {
                stream.waits -= 1;
                stream.last_read = number;
            }
        }
        Some(read)
    }

    pub(crate) fn new_read_id(&mut self) -> ReadId {
        self.next_id += 1;
        ReadId(self.next_id)
    }
}
