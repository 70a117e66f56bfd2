//! An open file as the plan sees it. Never holds blocks; says what its reader may hold.

use crate::fetches::SpanId;
use crate::plan::{Plan, Slot};
use crate::streams::Streams;
use crate::{HandleId, MountId, Time};
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub(crate) struct Handle {
    pub(crate) content: Slot,
    pub(crate) mount: MountId,
    pub(crate) streams: Streams,
    /// Reads so far; numbers them.
    pub(crate) reads: u64,
    /// Reads that wait.
    pub(crate) waiting: u32,
    /// Read-ahead, in flight and held.
    pub(crate) ahead_bytes: u64,
    /// Of these, in flight.
    pub(crate) flying_bytes: u64,
    /// Unread blocks that no stream of this handle heads to, oldest first.
    pub(crate) orphans: BTreeSet<(u64, u32)>,
    /// Fetches it began.
    pub(crate) spans: BTreeSet<SpanId>,
    /// Wanted read-ahead and was refused for want of memory; counts in the shares until idle or the sweep.
    pub(crate) refused: bool,
    /// Weight it has in the sum of weights now; 0 when it does not count.
    pub(crate) counted: u64,
    /// Bound of `flying_bytes`.
    pub(crate) cap_bytes: u64,
    /// Last read of a new block.
    pub(crate) active_at: Time,
    pub(crate) idle: Idle,
}

/// Where a reader is on its way to idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Nothing to give back: no timer.
    Asleep,
    /// A timer runs.
    Watched,
}

impl<B: Clone> Plan<B> {
    pub(crate) fn weight(&self, mount: MountId) -> u64 {
        self.weights.get(&mount).copied().unwrap_or(1)
    }

    /// Brings the sum of weights and the list of holders up to date.
    pub(crate) fn recount(&mut self, handle: HandleId) {
        let Some(h) = self.handles.get(&handle) else { return };
        let counted = if h.ahead_bytes > 0 || h.refused { self.weight(h.mount) } else { 0 };
        if counted == h.counted {
            return;
        }
        self.weights_sum = self.weights_sum + counted - h.counted;
        if counted > 0 {
            self.holders.insert(handle);
        } else {
            self.holders.remove(&handle);
        }
        if let Some(h) = self.handles.get_mut(&handle) {
            h.counted = counted;
        }
    }

    /// What this reader's read-ahead may take: its part of what nothing else needs. No floor.
    pub(crate) fn share(&self, handle: HandleId) -> u64 {
        use crate::charges::Class;
        let ahead = self.charges.of(Class::AheadFlying) + self.charges.of(Class::AheadHeld);
        let pool = self.limits.budget_bytes.saturating_sub(self.charges.total() - ahead);
        self.part(handle, pool)
    }

    /// What this reader may have in flight of what the link carries.
    pub(crate) fn link_share(&self, handle: HandleId) -> u64 {
        self.part(handle, self.link.ahead_bytes(&self.limits))
    }

    /// Who comes late gets its part of the link while others hold more than theirs, within reason.
    pub(crate) fn link_least(&self, handle: HandleId) -> u64 {
        let near = self.limits.near_bytes;
        self.link_share(handle).min(4 * near).max(near)
    }

    fn part(&self, handle: HandleId, whole: u64) -> u64 {
        let Some(h) = self.handles.get(&handle) else { return 0 };
        let weight = self.weight(h.mount);
        let sum = self.weights_sum - h.counted + weight;
        if sum <= weight {
            return whole;
        }
        // On every read: 128-bit division only for weights that need it.
        match whole.checked_mul(weight) {
            Some(product) => product / sum,
            None => (u128::from(whole) * u128::from(weight) / u128::from(sum)) as u64,
        }
    }

    pub(crate) fn set_refused(&mut self, handle: HandleId, refused: bool) {
        if let Some(h) = self.handles.get_mut(&handle)
            && h.refused != refused
        {
            h.refused = refused;
            self.recount(handle);
        }
    }
}
