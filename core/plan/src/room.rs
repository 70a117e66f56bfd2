//! Gives memory back: to a read that needs it, by a reader above its share, and at the limits of what was read. Never takes
//! what a read waits for.

use crate::HandleId;
use crate::charges::Class;
use crate::fetches::SpanId;
use crate::plan::{Plan, Slot};

/// What lies furthest ahead of its stream.
enum Furthest {
    Held(Slot, u32),
    Flying(SpanId),
}

impl<B: Clone> Plan<B> {
    pub(crate) fn room(&self) -> u64 {
        self.limits.budget_bytes.saturating_sub(self.charges.total())
    }

    /// Frees memory until `need` bytes fit. If what is held does not suffice, cancels read-ahead in flight; its memory comes
    /// when it has settled, so the answer is `false` until then.
    pub(crate) fn make_room(&mut self, need: u64) -> bool {
        while self.room() < need {
            if let Some((slot, ix)) =
                self.nobody_heads_to().or_else(|| self.furthest_held()).or_else(|| self.last_kept())
            {
                self.drop_held(slot, ix);
            } else if self.room() + self.charges.of(Class::Extra) >= need {
                return false;
            } else if let Some(span) = self.furthest_flying() {
                self.cancel_span(span);
            } else {
                return false;
            }
        }
        true
    }

    /// Comes down to a budget that shrank, as far as no read waits for what is there.
    pub(crate) fn shrink(&mut self) {
        while self.charges.total() > self.limits.budget_bytes {
            if let Some((slot, ix)) =
                self.nobody_heads_to().or_else(|| self.furthest_held()).or_else(|| self.last_kept())
            {
                self.drop_held(slot, ix);
            } else if self.charges.total() - self.charges.of(Class::Extra) > self.limits.budget_bytes
                && let Some(span) = self.furthest_flying()
            {
                self.cancel_span(span);
            } else {
                return;
            }
        }
    }

    /// At its read, a reader above its share drops what no stream heads to, oldest first, then what lies furthest ahead.
    pub(crate) fn give_back(&mut self, handle: HandleId) {
        while let Some(h) = self.handles.get(&handle)
            && h.ahead_bytes > 0
            && h.ahead_bytes > self.share(handle)
        {
            let orphan = h.orphans.first().map(|(_, ix)| (h.content, *ix));
            let next = match orphan {
                Some((slot, ix)) => Some(Furthest::Held(slot, ix)),
                None => self.furthest(handle),
            };
            match next {
                Some(Furthest::Held(slot, ix)) => self.drop_held(slot, ix),
                Some(Furthest::Flying(span)) => self.cancel_span(span),
                None => return,
            }
        }
    }

    /// A reader that asked for much before others came leaves them the link: what lies furthest ahead and has brought nothing
    /// is asked for again later.
    pub(crate) fn ease(&mut self, handle: HandleId) {
        while self.holders.len() > 1
            && let Some(h) = self.handles.get(&handle)
            && h.flying_bytes > 2 * self.link_least(handle).max(self.link_share(handle))
        {
            let idle = self
                .flying_distances(Some(handle))
                .filter(|(_, span)| self.spans.get(span).is_some_and(|s| s.missing == s.blocks.len() as u32))
                .max_by_key(|(distance, _)| *distance);
            let Some((_, span)) = idle else { return };
            self.cancel_span(span);
        }
    }

    /// A reader begins: whoever has most in flight leaves it a part of the link now, not at its own next read, by when it would
    /// have got all of that.
    pub(crate) fn ease_richest(&mut self) {
        let richest = self.holders.iter().max_by_key(|id| self.handles.get(id).map_or(0, |h| h.flying_bytes)).copied();
        if let Some(richest) = richest {
            self.ease(richest);
        }
    }

    /// Keeps what was read within its limits, oldest first; where a live stream is at stays, and counts. Blocks read in part
    /// have room for themselves, however many streams there are.
    pub(crate) fn trim_behind(&mut self, slot: Slot) {
        let most = self.limits.behind_file_bytes;
        while self.content(slot).behind_bytes > most
            && let Some((_, ix)) = self.content(slot).behind.first().copied()
        {
            self.remove_block(slot, ix);
        }
        let most = self.limits.parts_file_bytes.min(self.limits.behind_total());
        while self.content(slot).halves.len() as u64 > most >> self.block_shift
            && let Some((_, ix)) = self.content(slot).halves.first().copied()
        {
            self.remove_block(slot, ix);
        }
        let most = self.limits.behind_total();
        while self.charges.of(Class::Behind) > most
            && let Some((_, slot, ix)) = self.behind.first().or(self.halves.first()).copied()
        {
            self.remove_block(slot, ix);
        }
    }

    pub(crate) fn drop_held(&mut self, slot: Slot, ix: u32) {
        if let Some(block) = self.remove_block(slot, ix) {
            debug_assert!(block.waiters.is_empty(), "a block that a read waits for is not evicted");
            if matches!(block.home, crate::content::Home::Unread { .. }) {
                self.counts.dropped_unread += 1;
            }
        }
    }

    fn nobody_heads_to(&self) -> Option<(Slot, u32)> {
        let behind = self.behind.first();
        let orphan = self.orphans.first();
        let (_, slot, ix) = match (behind, orphan) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        Some((*slot, *ix))
    }

    fn furthest_held(&self) -> Option<(Slot, u32)> {
        self.held_distances(None).max_by_key(|(distance, ..)| *distance).map(|(_, slot, ix)| (slot, ix))
    }

    fn held_distances(&self, of: Option<HandleId>) -> impl Iterator<Item = (i64, Slot, u32)> {
        self.holders_or(of).filter_map(|handle| self.handles.get(&handle)).flat_map(|h| {
            h.streams.iter().filter_map(|s| {
                let ix = *s.unread.last()?;
                Some((self.distance(ix, s.pos), h.content, ix))
            })
        })
    }

    fn furthest_flying(&self) -> Option<SpanId> {
        self.flying_distances(None).max_by_key(|(distance, _)| *distance).map(|(_, span)| span)
    }

    fn flying_distances(&self, of: Option<HandleId>) -> impl Iterator<Item = (i64, SpanId)> {
        self.holders_or(of).filter_map(|handle| self.handles.get(&handle)).flat_map(|h| {
            h.spans.iter().filter_map(|id| {
                let span = self.spans.get(id)?;
                let pos = span.stream.and_then(|s| h.streams.get(s)).map_or(0, |s| s.pos);
                (span.waits == 0).then(|| (self.distance(span.blocks.end - 1, pos), *id))
            })
        })
    }

    fn furthest(&self, handle: HandleId) -> Option<Furthest> {
        let held = self.held_distances(Some(handle)).max_by_key(|(distance, ..)| *distance);
        let flying = self.flying_distances(Some(handle)).max_by_key(|(distance, _)| *distance);
        match (held, flying) {
            (Some((near, ..)), Some((far, span))) if far >= near => Some(Furthest::Flying(span)),
            (Some((_, slot, ix)), _) => Some(Furthest::Held(slot, ix)),
            (None, flying) => flying.map(|(_, span)| Furthest::Flying(span)),
        }
    }

    fn holders_or(&self, of: Option<HandleId>) -> impl Iterator<Item = HandleId> {
        let all = if of.is_none() { Some(&self.holders) } else { None };
        of.into_iter().chain(all.into_iter().flatten().copied())
    }

    fn distance(&self, ix: u32, pos: u64) -> i64 {
        (u64::from(ix) << self.block_shift) as i64 - pos as i64
    }

    /// The last resort of a read: what was read in part, then the block that a live stream is at.
    fn last_kept(&self) -> Option<(Slot, u32)> {
        self.halves.first().map(|(_, slot, ix)| (*slot, *ix)).or(self.kept.first().copied())
    }
}
