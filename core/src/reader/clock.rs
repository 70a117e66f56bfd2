//! The plan's time: milliseconds since the reader began, counting only while the engine ran. A gap of more than
//! [`WAKE_GAP`] between two looks that should have been close is a wake from sleep (or SIGCONT) and is left out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use weightless_plan::Time;

/// The ticker looks at the clock at least this often while anything is in flight.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// A look that comes this much later than it should have is a wake.
pub(super) const WAKE_GAP: Duration = Duration::from_secs(5);

/// Running time. Reads the runtime's clock, so paused time in tests drives it.
#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    slept_ms: AtomicU64,
}

impl Clock {
    pub(super) fn start() -> Self {
        Clock { began: Instant::now(), slept_ms: AtomicU64::new(0) }
    }

    /// Now, in the plan's terms.
    pub(super) fn now(&self) -> Time {
        Time((self.began.elapsed().as_millis() as u64).saturating_sub(self.slept_ms.load(Ordering::Relaxed)))
    }

    /// The instant at which [`Clock::now`] will be `time`, if the engine does not sleep until then.
    pub(super) fn instant(&self, time: Time) -> Instant {
        self.began + Duration::from_millis(time.0 + self.slept_ms.load(Ordering::Relaxed))
    }

    /// Told by the ticker that it woke at a moment when `due` was planned; says whether the engine slept meanwhile, in
    /// which case the gap no longer counts.
    pub(super) fn woke(&self, due: Instant) -> bool {
        let late = Instant::now().saturating_duration_since(due);
        let slept = late > WAKE_GAP;
        if slept {
            self.slept_ms.fetch_add(late.as_millis() as u64, Ordering::Relaxed);
        }
        slept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sleep_of_the_machine_does_not_count() {
        let clock = Clock::start();
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(clock.now(), Time(3_000));
        let due = Instant::now() + TICK;
        tokio::time::advance(Duration::from_secs(600)).await;
        assert!(clock.woke(due));
        assert_eq!(clock.now(), Time(4_000));
        assert_eq!(clock.instant(Time(5_000)), Instant::now() + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_tick_counts() {
        let clock = Clock::start();
        let due = Instant::now() + TICK;
        tokio::time::advance(Duration::from_secs(4)).await;
        assert!(!clock.woke(due));
        assert_eq!(clock.now(), Time(4_000));
    }
}
