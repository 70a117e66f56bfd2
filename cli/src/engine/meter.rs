//! Bytes per second from counters that only grow. Reads no clock.

use std::collections::VecDeque;
use std::time::Duration;
use weightless_control::stats::Traffic;

/// The longest span that a rate is asked for.
const SPAN: Duration = Duration::from_secs(10);

/// The past of two counters, as far as rates need it.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// When, delivered, fetched; oldest first. One sample older than [`SPAN`] is kept, so that a whole span can be told.
    samples: VecDeque<(Duration, u64, u64)>,
}

impl Meter {
    /// Notes the counters at `now`, a time since some fixed moment.
    pub(crate) fn sample(&mut self, now: Duration, delivered: u64, fetched: u64) {
        self.samples.push_back((now, delivered, fetched));
        while self.samples.get(1).is_some_and(|(then, ..)| now.saturating_sub(*then) >= SPAN) {
            self.samples.pop_front();
        }
    }

    /// What went through, as of the last sample.
    pub(crate) fn traffic(&self) -> Traffic {
        let Some(&(_, delivered, fetched)) = self.samples.back() else { return Traffic::default() };
        let (delivered_1s, fetched_1s) = self.rates(Duration::from_secs(1));
        let (delivered_10s, fetched_10s) = self.rates(SPAN);
        Traffic {
            delivered_bytes: delivered,
            fetched_bytes: fetched,
            delivered_rate_1s: delivered_1s,
            delivered_rate_10s: delivered_10s,
            fetched_rate_1s: fetched_1s,
            fetched_rate_10s: fetched_10s,
        }
    }

    /// Bytes a second over the last `span`; what is younger than that has been silent before.
    fn rates(&self, span: Duration) -> (u64, u64) {
        let Some(&(now, delivered, fetched)) = self.samples.back() else { return (0, 0) };
        let Some(start) = now.checked_sub(span).or(Some(Duration::ZERO)) else { return (0, 0) };
        let before = self.samples.iter().rev().find(|(then, ..)| *then <= start).or(self.samples.front());
        let Some(&(then, delivered_then, fetched_then)) = before else { return (0, 0) };
        let ms = (now - then).max(span).as_millis() as u64;
        let rate = |now: u64, then: u64| now.saturating_sub(then).saturating_mul(1000) / ms.max(1);
        (rate(delivered, delivered_then), rate(fetched, fetched_then))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_last_second_and_of_the_last_ten() {
        let mut meter = Meter::default();
        assert_eq!(meter.traffic(), Traffic::default());
        // 100 bytes each half second for 20 s, then silence.
        for half in 0..=40 {
            meter.sample(Duration::from_millis(500 * half), 100 * half, 50 * half);
        }
        let busy = meter.traffic();
        assert_eq!((busy.delivered_rate_1s, busy.delivered_rate_10s), (200, 200));
        assert_eq!((busy.fetched_rate_1s, busy.fetched_rate_10s), (100, 100));
        for half in 41..=50 {
            meter.sample(Duration::from_millis(500 * half), 4000, 2000);
        }
        let silent = meter.traffic();
        assert_eq!((silent.delivered_rate_1s, silent.delivered_rate_10s), (0, 100));
        assert_eq!(silent.delivered_bytes, 4000);
        assert!(meter.samples.len() <= 22);
    }

    #[test]
    fn a_young_meter_does_not_boast() {
        let mut meter = Meter::default();
        meter.sample(Duration::from_millis(100), 0, 0);
        meter.sample(Duration::from_millis(200), 1000, 0);
        assert_eq!(meter.traffic().delivered_rate_1s, 1000);
        assert_eq!(meter.traffic().delivered_rate_10s, 100);
    }
}
