//! What reads wait for and who fetches, for people to look at. Never used to decide.

use crate::content::State;
use crate::plan::Plan;
use crate::reads::{Place, Waiting};
use crate::timers::Timer;
use crate::{FetchId, HandleId, Time};
use std::collections::BTreeMap;

/// What a read waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// Memory of the budget.
    Budget,
    /// Bytes on their way.
    Link,
    /// The next attempt after a failed one, at this moment.
    Retry(Time),
    /// The end of the silence that the server asked for.
    Silence(Time),
}

/// The waiting reads of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// How many there are; at least one.
    pub reads: usize,
    /// What the oldest of them waits for.
    pub oldest: WaitsFor,
}

impl<B: Clone> Plan<B> {
    /// The handles of which reads wait.
    pub fn waits(&self) -> BTreeMap<HandleId, Waits> {
        let mut waits = BTreeMap::<HandleId, Waits>::new();
        // Ids grow, so the first read of a handle is its oldest.
        for read in self.reads.values() {
            waits
                .entry(read.handle)
                .and_modify(|waits| waits.reads += 1)
                .or_insert_with(|| Waits { reads: 1, oldest: self.waits_for(read) });
        }
        waits
    }

    fn waits_for(&self, read: &Waiting) -> WaitsFor {
        if read.place == Place::Queued {
            return WaitsFor::Budget;
        }
        let mut between_attempts =
            self.content(read.slot).blocks.range(read.blocks.clone()).filter_map(|(_, block)| match block.state {
                State::Flying(span) if self.spans.get(&span).is_some_and(|span| span.attempts.is_empty()) => Some(span),
                _ => None,
            });
        match between_attempts.next().and_then(|span| self.timers.at(Timer::Retry(span))) {
            Some(at) if at <= self.ahead_from => WaitsFor::Silence(at),
            Some(at) => WaitsFor::Retry(at),
            None => WaitsFor::Link,
        }
    }

    /// Whose fetch this is: a handle that is open when the fetch is asked for. `None` once it was cancelled or has settled.
    pub fn owner(&self, fetch: FetchId) -> Option<HandleId> {
        let span = self.attempts.get(&fetch)?.span?;
        Some(self.spans.get(&span)?.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, BlockIx, ContentKey, Limits, Mode, MountId, Outcome, Read};

    const MIB: u64 = 1 << 20;

    fn fetches(plan: &mut Plan<()>) -> Vec<(FetchId, std::ops::Range<u32>)> {
        std::iter::from_fn(|| plan.next_action())
            .filter_map(|action| match action {
                Action::Fetch { fetch, blocks, .. } => Some((fetch, blocks)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_waiting_read_says_for_what() {
        let mut plan = Plan::<()>::new(Limits::with_budget(2 * MIB)).unwrap();
        let open = |plan: &mut Plan<()>, n| plan.open(Time(0), ContentKey([n; 32]), MIB, MountId(0), Mode::Cached);
        let (one, two) = (open(&mut plan, 1), open(&mut plan, 2));
        assert!(plan.waits().is_empty());
        // All of the file, so that nothing is read ahead.
        assert!(matches!(plan.read(Time(0), one, 0, MIB as u32), Read::Wait(_)));
        let (fetch, blocks) = fetches(&mut plan).remove(0);
        let now = |plan: &Plan<()>, handle| plan.waits().get(&handle).map(|waits| (waits.reads, waits.oldest));
        assert_eq!(now(&plan, one), Some((1, WaitsFor::Link)));
        assert_eq!(plan.owner(fetch), Some(one));

        plan.set_outside_bytes(Time(1), MIB);
        assert!(matches!(plan.read(Time(1), two, 0, MIB as u32), Read::Wait(_)));
        assert_eq!(now(&plan, two), Some((1, WaitsFor::Budget)));

        plan.settled(Time(2), fetch, Outcome::Retry);
        assert_eq!(now(&plan, one), Some((1, WaitsFor::Retry(Time(202)))));
        assert_eq!(plan.owner(fetch), None);
        plan.elapsed(Time(202));
        let (fetch, _) = fetches(&mut plan).remove(0);
        plan.settled(Time(203), fetch, Outcome::RetryAt(Time(9_000)));
        assert_eq!(now(&plan, one), Some((1, WaitsFor::Silence(Time(9_000)))));

        plan.elapsed(Time(9_000));
        let (fetch, _) = fetches(&mut plan).remove(0);
        blocks.clone().for_each(|block| plan.arrived(Time(9_001), fetch, BlockIx(block), ()));
        assert_eq!(now(&plan, one), None);
    }
}
