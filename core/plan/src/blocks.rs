//! Keeps what must agree about a block in step: its class, the byte counts, and the indexes that eviction picks from. Every
//! change of a block goes through here; never chooses one itself.

use crate::charges::Class;
use crate::content::{Block, Content, Home, State};
use crate::parts::Parts;
use crate::plan::{Plan, Slot};
use crate::planted::{Bug, planted};
use crate::{HandleId, ReadId};

impl<B: Clone> Plan<B> {
    pub(crate) fn content(&self, slot: Slot) -> &Content<B> {
        self.contents[slot.0].as_ref().expect("a slot lives as long as its handles")
    }

    pub(crate) fn content_mut(&mut self, slot: Slot) -> &mut Content<B> {
        self.contents[slot.0].as_mut().expect("a slot lives as long as its handles")
    }

    /// Length of a block: the last one of a file is shorter.
    pub(crate) fn block_len(&self, slot: Slot, ix: u32) -> u64 {
        let start = u64::from(ix) << self.block_shift;
        self.limits.block_bytes.min(self.content(slot).size - start)
    }

    pub(crate) fn blocks_len(&self, slot: Slot, blocks: std::ops::Range<u32>) -> u64 {
        let end = (u64::from(blocks.end) << self.block_shift).min(self.content(slot).size);
        end.saturating_sub(u64::from(blocks.start) << self.block_shift)
    }

    pub(crate) fn insert_block(&mut self, slot: Slot, ix: u32, block: Block<B>) {
        let before = self.content_mut(slot).blocks.insert(ix, block);
        debug_assert!(before.is_none(), "a block is fetched only while it is neither held nor in flight");
        self.index(slot, ix);
    }

    pub(crate) fn remove_block(&mut self, slot: Slot, ix: u32) -> Option<Block<B>> {
        self.unindex(slot, ix);
        let block = self.content_mut(slot).blocks.remove(&ix)?;
        if let Home::Unread { owner, stream: Some(stream), .. } = block.home
            && let Some(stream) = self.handles.get_mut(&owner).and_then(|h| h.streams.get_mut(stream))
        {
            // What a stream heads to and no longer has, it may ask for again.
            stream.asked = stream.asked.min(ix);
        }
        Some(block)
    }

    pub(crate) fn edit(&mut self, slot: Slot, ix: u32, change: impl FnOnce(&mut Block<B>)) {
        self.unindex(slot, ix);
        if let Some(block) = self.content_mut(slot).blocks.get_mut(&ix) {
            change(block);
        }
        self.index(slot, ix);
    }

    fn index(&mut self, slot: Slot, ix: u32) {
        if !self.content(slot).blocks.contains_key(&ix) {
            return;
        }
        let len = self.block_len(slot, ix);
        let content = self.contents[slot.0].as_mut().expect("checked above");
        let block = content.blocks.get_mut(&ix).expect("checked above");
        let class = block.class();
        self.charges.add(class, len);
        match (class, &mut block.home) {
            (Class::AheadFlying, Home::Unread { owner, .. }) => {
                let owner = *owner;
                if let Some(h) = self.handles.get_mut(&owner) {
                    h.ahead_bytes += len;
                    h.flying_bytes += len;
                }
                self.recount(owner);
            }
            (Class::AheadHeld, Home::Unread { owner, stream, seq }) => {
                let owner = *owner;
                if let Some(h) = self.handles.get_mut(&owner) {
                    h.ahead_bytes += len;
                    match stream.and_then(|id| h.streams.get_mut(id)) {
                        Some(stream) => {
                            stream.unread.insert(ix);
                        }
                        None => {
                            *stream = None;
                            h.orphans.insert((*seq, ix));
                            self.orphans.insert((*seq, slot, ix));
                        }
                    }
                }
                self.recount(owner);
            }
            (Class::Behind, Home::Read { seq }) => {
                content.behind_bytes += len;
                let whole = Parts::of(0..len, self.limits.block_bytes);
                if block.last_of > 0 {
                    self.kept.insert((slot, ix));
                } else if block.parts.contains(whole) || planted(Bug::HalvesGoToo) {
                    content.behind.insert((*seq, ix));
                    self.behind.insert((*seq, slot, ix));
                } else {
                    content.halves.insert((*seq, ix));
                    self.halves.insert((*seq, slot, ix));
                }
            }
            _ => {}
        }
    }

    fn unindex(&mut self, slot: Slot, ix: u32) {
        if !self.content(slot).blocks.contains_key(&ix) {
            return;
        }
        let len = self.block_len(slot, ix);
        let content = self.contents[slot.0].as_mut().expect("checked above");
        let block = content.blocks.get(&ix).expect("checked above");
        let class = block.class();
        self.charges.sub(class, len);
        match (class, block.home) {
            (Class::AheadFlying, Home::Unread { owner, .. }) => {
                if let Some(h) = self.handles.get_mut(&owner) {
                    h.ahead_bytes -= len;
                    h.flying_bytes -= len;
                }
                self.recount(owner);
            }
            (Class::AheadHeld, Home::Unread { owner, stream, seq }) => {
                if let Some(h) = self.handles.get_mut(&owner) {
                    h.ahead_bytes -= len;
                    match stream.and_then(|id| h.streams.get_mut(id)) {
                        Some(stream) => {
                            stream.unread.remove(&ix);
                        }
                        None => {
                            h.orphans.remove(&(seq, ix));
                            self.orphans.remove(&(seq, slot, ix));
                        }
                    }
                }
                self.recount(owner);
            }
            (Class::Behind, Home::Read { seq }) => {
                content.behind_bytes -= len;
                self.kept.remove(&(slot, ix));
                content.behind.remove(&(seq, ix));
                self.behind.remove(&(seq, slot, ix));
                content.halves.remove(&(seq, ix));
                self.halves.remove(&(seq, slot, ix));
            }
            _ => {}
        }
    }

    /// Lets `read` wait for a block, which also keeps it.
    pub(crate) fn add_waiter(&mut self, slot: Slot, ix: u32, read: ReadId) {
        let mut flying = None;
        self.edit(slot, ix, |block| {
            block.waiters.push(read);
            if let State::Flying(span) = block.state {
                flying = Some(span);
            }
        });
        if let Some(span) = flying
            && let Some(span) = self.spans.get_mut(&span)
        {
            span.waits += 1;
        }
    }

    pub(crate) fn remove_waiter(&mut self, slot: Slot, ix: u32, read: ReadId) {
        let mut flying = None;
        self.edit(slot, ix, |block| {
            if let Some(at) = block.waiters.iter().position(|id| *id == read) {
                block.waiters.swap_remove(at);
                if let State::Flying(span) = block.state {
                    flying = Some(span);
                }
            }
        });
        if let Some(span) = flying
            && let Some(span) = self.spans.get_mut(&span)
        {
            span.waits -= 1;
        }
    }

    /// The parts of block `ix` that a read of these bytes touches.
    pub(crate) fn parts_of(&self, ix: u32, offset: u64, end: u64) -> Parts {
        let start = u64::from(ix) << self.block_shift;
        let len = self.limits.block_bytes;
        Parts::of(offset.saturating_sub(start)..(end - start).min(len), len)
    }

    /// Marks what was read by `handle` of blocks, and the last one as the place its stream is at.
    pub(crate) fn consume(
        &mut self,
        handle: HandleId,
        slot: Slot,
        stream: crate::streams::StreamId,
        offset: u64,
        end: u64,
    ) {
        let first = (offset >> self.block_shift) as u32;
        let last = ((end - 1) >> self.block_shift) as u32;
        for ix in first..=last {
            let parts = self.parts_of(ix, offset, end);
            if self.content(slot).blocks.get(&ix).is_some_and(|block| !block.parts.contains(parts)) {
                let seq = self.next_seq();
                self.edit(slot, ix, |block| {
                    block.parts.add(parts);
                    block.home = Home::Read { seq };
                });
            }
        }
        self.move_last(handle, slot, stream, last);
        if self.content(slot).sharing == crate::content::Sharing::Private && !planted(Bug::DirectRereadHeld) {
            self.consume_privately(slot, offset, end);
        }
        self.trim_behind(slot);
    }

    fn move_last(&mut self, handle: HandleId, slot: Slot, stream: crate::streams::StreamId, last: u32) {
        let Some(stream) = self.handles.get_mut(&handle).and_then(|h| h.streams.get_mut(stream)) else {
            return;
        };
        let before = stream.last_block.replace(last);
        if before == Some(last) {
            return;
        }
        self.edit(slot, last, |block| block.last_of += 1);
        if let Some(before) = before {
            self.release_last(slot, before);
        }
    }

    /// A stream no longer ends in this block.
    pub(crate) fn release_last(&mut self, slot: Slot, ix: u32) {
        self.edit(slot, ix, |block| block.last_of = block.last_of.saturating_sub(1));
    }

    /// A direct handle's block remembers how far it was read and goes when it was read to its end.
    fn consume_privately(&mut self, slot: Slot, offset: u64, end: u64) {
        let first = (offset >> self.block_shift) as u32;
        let last = ((end - 1) >> self.block_shift) as u32;
        for ix in first..=last {
            let start = u64::from(ix) << self.block_shift;
            let len = self.block_len(slot, ix);
            let to = (end - start).min(len) as u32;
            let Some(block) = self.content_mut(slot).blocks.get_mut(&ix) else {
                continue;
            };
            block.consumed = block.consumed.max(to);
            if u64::from(block.consumed) == len && block.waiters.is_empty() {
                self.remove_block(slot, ix);
            }
        }
    }
}
