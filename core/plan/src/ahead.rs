//! Reads ahead: decides which blocks a stream gets before it asks. Never takes memory that a waiting read needs, and never
//! asks for a block that is held or in flight.

use crate::HandleId;
use crate::content::Home;
use crate::fetches::SpanId;
use crate::plan::{Plan, Slot};
use crate::planted::{Bug, planted};
use crate::reads::Waiting;
use crate::streams::{Proof, Reading, Step, Stream, StreamId};
use crate::windows::{self, Least};
use std::ops::Range;

impl<B: Clone> Plan<B> {
    /// Takes a read into its stream.
    pub(crate) fn follow(&mut self, handle: HandleId, slot: Slot, offset: u64, end: u64) -> (StreamId, Step) {
        let Some(h) = self.handles.get_mut(&handle) else {
            return (StreamId(u32::MAX), Step::Within);
        };
        let reading = Reading {
            now: self.now,
            offset,
            end,
            size: self.contents[slot.0].as_ref().map_or(0, |c| c.size),
            number: h.reads,
        };
        let (id, step, replaced) = h.streams.follow(&reading, &self.limits);
        if step == Step::Began
            && let Some(content) = self.contents[slot.0].as_mut()
        {
            content.runs = h.streams.runs();
        }
        if let Some(stream) = replaced {
            self.orphan(handle, slot, stream);
        }
        if matches!(step, Step::Began | Step::Proved) {
            self.take_over(handle, slot, id);
        }
        (id, step)
    }

    /// What a stream that is forgotten had fetched goes to a stream that heads there, if there is one.
    pub(crate) fn orphan(&mut self, handle: HandleId, slot: Slot, stream: Stream) {
        for ix in stream.unread {
            let (owner, stream) = self.heir(slot, ix..ix + 1).unwrap_or((handle, None));
            let seq = self.next_seq();
            self.edit(slot, ix, |block| block.home = Home::Unread { owner, stream, seq });
            self.watch_idle(owner);
        }
        if let Some(last) = stream.last_block {
            self.release_last(slot, last);
        }
    }

    /// Drops what streams had fetched, whoever heads there.
    pub(crate) fn drop_streams(&mut self, slot: Slot, streams: Vec<Stream>) {
        for stream in streams {
            for ix in stream.unread {
                self.drop_held(slot, ix);
            }
            if let Some(last) = stream.last_block {
                self.release_last(slot, last);
            }
        }
    }

    /// A stream stops where this one began; what it has beyond goes to this one.
    fn take_over(&mut self, handle: HandleId, slot: Slot, id: StreamId) {
        let shift = self.block_shift;
        let Some(h) = self.handles.get_mut(&handle) else { return };
        if !h.streams.get(id).is_some_and(Stream::holds_its_start) {
            return;
        }
        let Some(from_id) = h.streams.reaching_over(id, &self.limits) else {
            return;
        };
        let Some(start) = h.streams.get(id).map(|s| s.start) else { return };
        let first = (start >> shift) as u32;
        let Some(from) = h.streams.get_mut(from_id) else { return };
        let beyond = from.unread.split_off(&first);
        let left = from.taken_over(id);
        let asked = left.asked;
        from.asked = first;
        from.unread.extend(beyond.iter().copied());
        if let Some(stream) = h.streams.get_mut(id) {
            stream.take_over(&left, &self.limits);
        }
        let spans: Vec<SpanId> = h.spans.iter().copied().collect();
        for ix in beyond {
            self.edit(slot, ix, |block| rehome(&mut block.home, id));
        }
        for span in spans {
            let Some(s) = self.spans.get_mut(&span) else { continue };
            if s.stream == Some(from_id) && s.blocks.start >= first {
                s.stream = Some(id);
            }
        }
        let flying: Vec<u32> = self
            .content(slot)
            .blocks
            .range(first..asked.max(first))
            .filter(|(_, b)| {
                matches!(b.home, Home::Unread { owner, stream, .. } if owner == handle && stream == Some(from_id))
            })
            .map(|(ix, _)| *ix)
            .collect();
        for ix in flying {
            self.edit(slot, ix, |block| rehome(&mut block.home, id));
        }
    }

    /// The first fetch of a probe brings bytes and its read still waits, so this is no probe.
    pub(crate) fn release_probe(&mut self, handle: HandleId, id: StreamId) {
        let Some(stream) = self.handles.get_mut(&handle).and_then(|h| h.streams.get_mut(id)) else {
            return;
        };
        if stream.proof == Proof::Probe {
            stream.proof = Proof::Given;
            stream.target = stream.start + stream.window;
            self.pump(handle, id);
        }
    }

    /// After a fetch of this stream: more of it if a read of it waits or it has read since the fetch began. That a read of another
    /// stream waits is no reason: this one may have stopped, and others may have read what lies ahead of it.
    pub(crate) fn top_up(&mut self, handle: HandleId, stream: Option<StreamId>, began_reads: u64) {
        let Some(id) = stream else { return };
        let stream = self.handles.get(&handle).and_then(|h| h.streams.get(id));
        if stream.is_some_and(|s| s.last_read > began_reads || s.waits > 0) {
            self.pump(handle, id);
        }
    }

    /// After a block of this stream while a read of it waits: what is in flight becomes less, so as much again may be asked for, but
    /// only by whole fetches. Waiting until one ends would let the link fall idle for the round trips of the next.
    pub(crate) fn refill(&mut self, handle: HandleId, stream: Option<StreamId>) {
        let Some(id) = stream else { return };
        if self.handles.get(&handle).and_then(|h| h.streams.get(id)).is_some_and(|s| s.waits > 0) {
            self.pump_fetches(handle, id, Least::Whole);
        }
    }

    /// Fetches what the stream's window lacks, as far as shares, memory and the link allow.
    pub(crate) fn pump(&mut self, handle: HandleId, id: StreamId) {
        self.pump_fetches(handle, id, Least::Useful);
    }

    fn pump_fetches(&mut self, handle: HandleId, id: StreamId, mut least: Least) {
        let reads_queue = !self.queue.is_empty() && !planted(Bug::AheadBeforeReads);
        if reads_queue || self.ahead_from > self.now {
            return;
        }
        let cell = self.limits.cell_bytes;
        while let Some((slot, run)) = self.next_run(handle, id) {
            let wanted = self.blocks_len(slot, run.clone());
            let share = self.share(handle);
            let Some(h) = self.handles.get(&handle) else { return };
            let memory = self.room().min(share.saturating_sub(h.ahead_bytes));
            let near = self.limits.near_bytes;
            let link_least = self.link_least(handle);
            let flying = self.charges.of(crate::charges::Class::AheadFlying);
            let link = h
                .cap_bytes
                .min((share / 2).max(near))
                .min(self.link_share(handle).max(near))
                .saturating_sub(h.flying_bytes)
                .min(self.link.ahead_bytes(&self.limits).saturating_sub(flying))
                .max(link_least.saturating_sub(h.flying_bytes));
            if memory < wanted || share < near {
                self.set_refused(handle, true);
            }
            if share < near || self.attempts.len() >= self.link.fetches() {
                return;
            }
            let useful = near.max((wanted / 4).min(share / 8));
            let Some(bytes) = windows::cut(wanted, memory.min(link), useful, least, &self.limits) else {
                return;
            };
            let blocks = (bytes.div_ceil(self.limits.block_bytes) as u32).min(run.len() as u32);
            let run = run.start..run.start + blocks;
            // After a fetch that ended at a cell's edge a cut one is not worth its request.
            if (u64::from(run.end) << self.block_shift).is_multiple_of(cell) {
                least = Least::Whole;
            }
            if let Some(stream) = self.handles.get_mut(&handle).and_then(|h| h.streams.get_mut(id)) {
                stream.asked = run.end;
            }
            let span = self.begin_span(slot, run, handle, Some(id), None);
            self.launch(span);
        }
    }

    /// The next blocks that the stream heads to and nobody has or fetches, in one cell, as long as their distance says.
    fn next_run(&mut self, handle: HandleId, id: StreamId) -> Option<(Slot, Range<u32>)> {
        let shift = self.block_shift;
        let stream = self.handles.get(&handle)?.streams.get(id)?;
        if u64::from(stream.asked) << shift >= stream.target {
            return None;
        }
        let link_share = self.link_share(handle);
        let h = self.handles.get_mut(&handle)?;
        let (slot, cap) = (h.content, h.cap_bytes);
        let stream = h.streams.get(id)?;
        let (pos, target, window, piece) = (stream.pos, stream.target, stream.window, stream.piece);
        let streams = h.streams.apart(self.limits.cell_bytes, &self.limits).max(1);
        let content = self.contents[slot.0].as_ref()?;
        let end = target.min(content.size).div_ceil(self.limits.block_bytes);
        let stop = h.streams.next_start(id, pos, &self.limits).map_or(end, |start| end.min(start >> shift)) as u32;
        let mut from = stream.asked.max((pos >> shift) as u32);
        let mut until = stop;
        for (ix, _) in content.blocks.range(from..stop.max(from)) {
            if *ix == from {
                from += 1;
            } else {
                until = *ix;
                break;
            }
        }
        h.streams.get_mut(id)?.asked = from;
        if from >= until {
            return None;
        }
        let in_flight = window.min(content.size).min(cap).min(link_share);
        let distance = (u64::from(from) << shift).saturating_sub(pos);
        let readers = (self.holders.len() * streams) as u64;
        let bytes = piece.unwrap_or_else(|| windows::fetch_bytes(distance, in_flight, readers, &self.limits));
        let long = (bytes >> shift) as u32;
        Some((slot, windows::within_cell(from..until.min(from.saturating_add(long)), &self.limits)))
    }

    /// A waiting read's last missing run, longer by what its stream wants next anyway: one fetch instead of two.
    pub(crate) fn extended(&mut self, read: &Waiting, run: Range<u32>) -> Range<u32> {
        let stream = self.handles.get(&read.handle).and_then(|h| h.streams.get(read.stream));
        let bytes = stream.and_then(|s| s.piece).unwrap_or(self.limits.near_bytes);
        let most = (bytes >> self.block_shift) as u32;
        let len = run.len() as u32;
        if run.end != read.blocks.end || len >= most || self.queue.len() > 1 || self.ahead_from > self.now {
            return run;
        }
        if let Some(stream) = self.handles.get_mut(&read.handle).and_then(|h| h.streams.get_mut(read.stream)) {
            stream.asked = stream.asked.max(run.end);
        }
        let Some((_, ahead)) = self.next_run(read.handle, read.stream) else { return run };
        if ahead.start != run.end {
            return run;
        }
        let end = ahead.end.min(run.start + most);
        let own = self.blocks_len(read.slot, run.clone());
        let extra = self.blocks_len(read.slot, run.start..end) - own;
        let held = self.handles.get(&read.handle).map_or(0, |h| h.ahead_bytes);
        let share = self.share(read.handle);
        // Bytes of the read's other runs are not reserved yet, so leave room for a whole read.
        let needed = self.blocks_len(read.slot, read.blocks.clone());
        if share < self.limits.near_bytes || held + extra > share || needed + extra > self.room() {
            return run;
        }
        if let Some(stream) = self.handles.get_mut(&read.handle).and_then(|h| h.streams.get_mut(read.stream)) {
            stream.asked = end;
        }
        run.start..end
    }
}

fn rehome(home: &mut Home, to: StreamId) {
    if let Home::Unread { stream, .. } = home {
        *stream = Some(to);
    }
}
