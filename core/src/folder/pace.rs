//! How often the Hub is asked for a name. Whoever walks through thousands of names must not use up what the Hub grants to an
//! address: a few at once, then one a second. Reads no clock.

use std::time::Duration;
use tokio::time::Instant;

/// Names that may be asked for at once.
const BURST: u32 = 64;
/// Between two names after that. The Hub grants an address without an account some hundred requests in five minutes, and each
/// repo takes two or three.
const STEP_MS: u64 = 1_000;
/// A name is held back for this long at most; past it the answer is "slow down".
const HOLD_MS_MAX: u64 = 10_000;

/// When the next name may be asked for.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When as many steps have passed as there were names; earlier than now by as much as nobody asked.
    due: Option<Instant>,
    /// The Hub itself asked to wait until then.
    closed_until: Option<Instant>,
}

impl Pace {
    /// Takes a place: how long to wait for it.
    ///
    /// # Errors
    /// How long it would be, where that is too long to hold somebody up.
    pub(super) fn take(&mut self, now: Instant) -> Result<Duration, Duration> {
        if let Some(until) = self.closed_until.filter(|until| *until > now) {
            return Err(until - now);
        }
        let step = Duration::from_millis(STEP_MS);
        let due = self.due.map_or(now, |due| due.max(now));
        let wait = (due - now).saturating_sub(step * (BURST - 1));
        if wait > Duration::from_millis(HOLD_MS_MAX) {
            return Err(wait);
        }
        self.due = Some(due + step);
        Ok(wait)
    }

    /// The Hub asks to wait.
    pub(super) fn close(&mut self, until: Instant) {
        self.closed_until = self.closed_until.max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_go_at_once_and_the_rest_one_a_second() {
        let mut pace = Pace::default();
        let start = Instant::now();
        let s = Duration::from_secs;
        assert!((0..64).all(|_| pace.take(start) == Ok(s(0))));
        for wait in 1..=10 {
            assert_eq!(pace.take(start), Ok(s(wait)));
        }
        assert_eq!(pace.take(start), Err(s(11)));
        assert_eq!(pace.take(start), Err(s(11)), "who is refused takes no place");
        assert_eq!(pace.take(start + s(11)), Ok(s(0)));
        assert_eq!(pace.take(start + s(11)), Ok(s(1)));
        let later = start + s(1000);
        assert!((0..64).all(|_| pace.take(later) == Ok(s(0))));
        assert_eq!(pace.take(later), Ok(s(1)));
    }

    #[test]
    fn nobody_asks_while_the_hub_wants_a_rest() {
        let mut pace = Pace::default();
        let start = Instant::now();
        let s = Duration::from_secs;
        pace.close(start + s(30));
        pace.close(start + s(20));
        assert_eq!(pace.take(start + s(10)), Err(s(20)));
        assert_eq!(pace.take(start + s(30)), Ok(s(0)));
    }
}
