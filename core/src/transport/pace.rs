//! Keeps what comes off the network within a cap that may change at any time. Never drops anything: who has read his bytes
//! waits before reading more, and the sender is held up by TCP.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How far ahead of the cap bytes may come after a pause: long enough that the wake of a timer costs nothing, short enough that
/// no second is much above the cap.
const BURST: Duration = Duration::from_millis(100);

/// The cap of a transport, shared by its connections.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Std: held for a sum.
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    bytes_per_s: Option<u64>,
    /// When all that came would have come at the cap.
    paid_until: Option<Instant>,
    /// Counts the changes of the cap: who waits for an old one begins anew.
    change: u64,
}

impl Pace {
    /// Sets the cap, in bytes a second; `None` and 0 are none. Who waits goes on at once.
    pub(crate) fn set(&self, bytes_per_s: Option<u64>) {
        let mut state = self.state();
        let bytes_per_s = bytes_per_s.filter(|rate| *rate > 0);
        if state.bytes_per_s == bytes_per_s {
            return;
        }
        *state = State { bytes_per_s, paid_until: None, change: state.change + 1 };
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until `bytes`, which have come, are within the cap. First come, first served.
    pub(crate) async fn pay(&self, bytes: usize) {
        let Some((until, change)) = self.charge(bytes, Instant::now()) else { return };
        let changed = self.changed.notified();
        tokio::pin!(changed);
        // Listens from here on, so that a change between the look and the wait is not missed.
        changed.as_mut().enable();
        if self.state().change == change {
            tokio::select! {
                () = sleep_until(until) => {}
                () = changed => {}
            }
        }
    }

    /// Adds to what is to be paid; says when to go on, if that is not now.
    fn charge(&self, bytes: usize, now: Instant) -> Option<(Instant, u64)> {
        let mut state = self.state();
        let rate = state.bytes_per_s?;
        let cost =
            Duration::from_nanos((bytes as u128 * 1_000_000_000 / u128::from(rate)).min(u128::from(u64::MAX)) as u64);
        let from = state.paid_until.map_or(now, |paid| paid.max(now.checked_sub(BURST).unwrap_or(now)));
        let paid = from + cost;
        state.paid_until = Some(paid);
        (paid > now).then_some((paid, state.change))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const MIB: u64 = 1 << 20;
    const PIECE: usize = 64 << 10;

    /// Connections that take as fast as they may.
    fn connections(pace: &Arc<Pace>, count: usize) -> Arc<AtomicU64> {
        let taken = Arc::new(AtomicU64::new(0));
        for _ in 0..count {
            let (pace, taken) = (pace.clone(), taken.clone());
            tokio::spawn(async move {
                loop {
                    pace.pay(PIECE).await;
                    taken.fetch_add(PIECE as u64, Ordering::Relaxed);
                    // A link of 100 MiB/s for each.
                    tokio::time::sleep(Duration::from_micros(625)).await;
                }
            });
        }
        taken
    }

    async fn in_seconds(taken: &AtomicU64, seconds: u64) -> u64 {
        let before = taken.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        taken.load(Ordering::Relaxed) - before
    }

    #[tokio::test(start_paused = true)]
    async fn a_minute_is_within_a_twentieth_of_the_cap_and_no_cap_is_full_speed_at_once() {
        for count in [1, 24] {
            let pace = Arc::new(Pace::default());
            pace.set(Some(5 * MIB));
            let taken = connections(&pace, count);
            let minute = in_seconds(&taken, 60).await;
            assert!(minute.abs_diff(300 * MIB) < 15 * MIB, "{count}: {minute}");
            pace.set(None);
            let second = in_seconds(&taken, 1).await;
            assert!(second > 60 * MIB, "{count}: {second} in the first second without a cap");
            pace.set(Some(MIB));
            let ten = in_seconds(&taken, 10).await;
            assert!(ten.abs_diff(10 * MIB) < 2 * MIB + count as u64 * PIECE as u64, "{count}: {ten}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_saves_up_no_more_than_a_moment() {
        let pace = Pace::default();
        pace.set(Some(MIB));
        pace.pay(PIECE).await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let begun = Instant::now();
        for _ in 0..MIB / PIECE as u64 {
            pace.pay(PIECE).await;
        }
        assert!(begun.elapsed() >= Duration::from_secs(1) - BURST);
    }
}
