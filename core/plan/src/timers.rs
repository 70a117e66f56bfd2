//! What comes due when. Entries may be stale: who fires one checks it against the state. Never reads a clock.

use crate::fetches::SpanId;
use crate::{FetchId, HandleId, ReadId, Time};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// A read's own deadline.
    Deadline(ReadId),
    /// A request's silence: hedge or stall.
    Silence(FetchId),
    /// A failed fetch tries again.
    Retry(SpanId),
    /// A reader may be idle.
    Idle(HandleId),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(Time, Timer)>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Time, timer: Timer) {
        self.due.insert((at, timer));
    }

    pub(crate) fn clear(&mut self, at: Time, timer: Timer) {
        self.due.remove(&(at, timer));
    }

    #[cfg(test)]
    pub(crate) fn has(&self, timer: Timer) -> bool {
        self.due.iter().any(|(_, t)| *t == timer)
    }

    /// When `timer` is due.
    pub(crate) fn at(&self, timer: Timer) -> Option<Time> {
        self.due.iter().find(|(_, t)| *t == timer).map(|(at, _)| *at)
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    pub(crate) fn pop(&mut self, now: Time) -> Option<Timer> {
        let (at, timer) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        Some(timer)
    }

    /// After a clock jump only retries keep their moment; the rest is set anew by the caller.
    pub(crate) fn keep_retries(&mut self) {
        self.due.retain(|(_, timer)| matches!(timer, Timer::Retry(_)));
    }

    pub(crate) fn clear_all(&mut self) {
        self.due.clear();
    }
}
