//! What readers give back when they stop reading. Never acts on a reader that waits.

use crate::handles::Idle;
use crate::plan::Plan;
use crate::planted::{Bug, planted};
use crate::timers::Timer;
use crate::{HandleId, Time};

impl<B: Clone> Plan<B> {
    /// Starts the idle timer unless it runs.
    pub(crate) fn watch_idle(&mut self, handle: HandleId) {
        if let Some(h) = self.handles.get_mut(&handle)
            && h.idle == Idle::Asleep
        {
            h.idle = Idle::Watched;
            let from = h.active_at.max(self.now);
            self.timers.set(from.after(self.limits.idle_ms), Timer::Idle(handle));
        }
    }

    pub(crate) fn idle_due(&mut self, handle: HandleId) {
        let Some(h) = self.handles.get_mut(&handle) else { return };
        if h.waiting > 0 {
            h.active_at = self.now;
        }
        let quiet = self.now.0.saturating_sub(h.active_at.0);
        let next = if quiet < self.limits.idle_ms {
            h.active_at.after(self.limits.idle_ms)
        } else if quiet < self.limits.forget_ms {
            let at = h.active_at.after(self.limits.forget_ms);
            self.set_refused(handle, false);
            self.give_back(handle);
            at
        } else {
            h.idle = Idle::Asleep;
            self.forget(handle);
            return;
        };
        self.timers.set(next, Timer::Idle(handle));
    }

    /// Everything goes; streams start small again.
    fn forget(&mut self, handle: HandleId) {
        self.set_refused(handle, false);
        self.drop_ahead(handle);
        let Some(h) = self.handles.get(&handle) else { return };
        let slot = h.content;
        let quiet = |h: &crate::handles::Handle| {
            h.waiting == 0 && self.now.0.saturating_sub(h.active_at.0) >= self.limits.forget_ms
        };
        let all_quiet = self.content(slot).handles.iter().filter_map(|h| self.handles.get(h)).all(quiet);
        if all_quiet {
            while let content = self.content(slot)
                && let Some((_, ix)) = content.behind.first().or(content.halves.first()).copied()
            {
                self.remove_block(slot, ix);
            }
        }
    }

    /// Drops the handle's streams with all their read-ahead, in flight too.
    pub(crate) fn drop_ahead(&mut self, handle: HandleId) {
        let Some(h) = self.handles.get_mut(&handle) else { return };
        let slot = h.content;
        let streams = h.streams.take_all();
        self.drop_streams(slot, streams);
        while let Some((_, ix)) = self.handles.get(&handle).and_then(|h| h.orphans.first().copied()) {
            self.drop_held(slot, ix);
        }
        let spans: Vec<_> = self.handles.get(&handle).map_or_else(Vec::new, |h| h.spans.iter().copied().collect());
        for span in spans {
            if self.spans.get(&span).is_some_and(|s| s.waits == 0) && !planted(Bug::CloseLeavesFetches) {
                self.cancel_span(span);
            }
        }
    }

    /// Every `sweep_reads` reads, streams that stopped are forgotten. What they had fetched stays for a reader that comes back
    /// to it, as the first thing to go, but for no more than half of the reader's share.
    pub(crate) fn sweep(&mut self, handle: HandleId) {
        let Some(h) = self.handles.get_mut(&handle) else { return };
        if !h.reads.is_multiple_of(self.limits.sweep_reads) {
            return;
        }
        let slot = h.content;
        let number = h.reads.saturating_sub(self.limits.sweep_reads - 1);
        let at = Time(self.now.0.saturating_sub(self.limits.sweep_ms));
        let stopped = h.streams.take_stopped(number, at, &self.limits);
        for stream in stopped {
            self.orphan(handle, slot, stream);
        }
        let orphans_max = (self.share(handle) / 2) >> self.block_shift;
        while let Some(h) = self.handles.get(&handle)
            && h.orphans.len() as u64 > orphans_max
            && let Some((_, ix)) = h.orphans.first().copied()
        {
            self.drop_held(slot, ix);
        }
        self.set_refused(handle, false);
    }
}
