//! What follows an attempt that did not bring everything. Pure; never starts anything.

use crate::fetches::Span;
use crate::limits::Limits;
use crate::planted::{Bug, planted};
use crate::{FetchId, Outcome, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The rest of the span fails.
    Fail,
    /// Another attempt at this moment.
    At(Time),
}

/// A time in which nothing came from anywhere and at least one attempt met nobody: a network that is changed, a proxy or a Hub
/// that restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outage {
    /// When the attempt began that noticed it.
    since: Time,
    /// When an attempt last met nobody.
    last: Time,
}

impl Outage {
    /// What `before` is after one more attempt, begun at `began`, that met nobody. One that nobody looked into for long is over,
    /// as far as anybody knows.
    pub(crate) fn seen(before: Option<Outage>, began: Time, now: Time, limits: &Limits) -> Outage {
        let goes_on = before.filter(|outage| now < outage.last.after(limits.outage_ms));
        Outage { since: goes_on.map_or(began, |outage| outage.since), last: now }
    }

    /// Whether reads still wait for its end.
    fn is_borne(self, now: Time, limits: &Limits) -> bool {
        now < self.since.after(limits.outage_ms)
    }
}

/// An attempt that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) fetch: FetchId,
    pub(crate) outcome: Outcome,
    /// It was cancelled since it was silent.
    pub(crate) stalled: bool,
    /// Blocks that it brought.
    pub(crate) delivered: u32,
    /// The outage that it is part of, if it met nobody.
    pub(crate) outage: Option<Outage>,
}

/// Counts the attempt and says what is next. Progress resets the count and goes on at once; a moment that the server named
/// is kept and does not count, but nobody waits so long for read-ahead. A read waits for what is away as long as an outage is
/// borne; after that it has as many attempts as everybody.
pub(crate) fn after(ended: Ended, span: &mut Span, now: Time, limits: &Limits) -> Next {
    if ended.delivered > 0 {
        span.empty_handed = 0;
    }
    let outcome = if ended.stalled { Outcome::Retry } else { ended.outcome };
    match outcome {
        Outcome::Fatal => return Next::Fail,
        Outcome::RetryAt(at) => return if span.waits > 0 { Next::At(at) } else { Next::Fail },
        // A fetch that says it is complete and is not broke off.
        Outcome::Complete | Outcome::Cancelled | Outcome::Retry | Outcome::Away => {}
    }
    if ended.delivered > 0 {
        return Next::At(now);
    }
    span.empty_handed += 1;
    let borne = span.waits > 0
        && ended.outage.is_some_and(|outage| outage.is_borne(now, limits))
        && !planted(Bug::OutageNotBorne);
    if span.empty_handed >= limits.attempts_max && !borne {
        return Next::Fail;
    }
    Next::At(now.after(pause_ms(span.empty_handed, ended.fetch, limits)))
}

/// Pause after this many attempts in a row that delivered nothing. What broke off together is not asked for again together.
fn pause_ms(empty_handed: u32, fetch: FetchId, limits: &Limits) -> u64 {
    let growth = 5u64.saturating_pow(empty_handed.saturating_sub(1));
    let pause = limits.retry_ms.saturating_mul(growth).min(limits.retry_ms_max);
    match limits.jitter {
        0 => pause,
        jitter => pause - pause / 4 + mixed(jitter ^ fetch.0) % (pause / 2 + 1),
    }
}

/// The finaliser of SplitMix64: neighbouring numbers become unlike ones.
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit_and_are_spread_by_a_quarter() {
        let pauses = |limits: &Limits, fetch| (1..6).map(|n| pause_ms(n, FetchId(fetch), limits)).collect::<Vec<_>>();
        assert_eq!(pauses(&Limits::default(), 7), [200, 1_000, 3_000, 3_000, 3_000]);
        let limits = Limits { jitter: 0x5eed, ..Limits::default() };
        let spread: Vec<u64> = (0..100).map(|fetch| pauses(&limits, fetch)[1]).collect();
        assert!(spread.iter().all(|pause| (750..=1_250).contains(pause)), "{spread:?}");
        let different: std::collections::BTreeSet<_> = spread.iter().collect();
        assert!(different.len() > 50, "{different:?}");
    }
}
