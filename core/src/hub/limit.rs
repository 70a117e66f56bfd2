//! Until when the Hub wants no more questions of an account: nothing is sent before that. Waits for nothing itself.

use reqwest::Method;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Shortest wait: a window that ends now may end for our clock before it does for the Hub's.
const WAIT_MIN: Duration = Duration::from_secs(1);

/// The Hub counts questions to its API apart from those for a file's address (hub docs, "Rate limits": buckets `api` and
/// `resolvers`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bucket {
    Api,
    Resolvers,
}

impl Bucket {
    /// Where a question counts: only files are asked for by HEAD.
    pub(super) fn of(method: &Method) -> Self {
        if *method == Method::HEAD { Bucket::Resolvers } else { Bucket::Api }
    }
}

/// For each bucket the moment that the Hub named last. Std: held for a look or a change.
#[derive(Debug, Default)]
pub(super) struct Limits(Mutex<[Option<Instant>; 2]>);

impl Limits {
    /// How long nothing is to be sent yet.
    pub(super) fn wait(&self, bucket: Bucket) -> Option<Duration> {
        let left = self.of()[bucket as usize]?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// The Hub asked for `wait`. Returns what is waited, which is never nothing.
    pub(super) fn set(&self, bucket: Bucket, wait: Duration) -> Duration {
        let wait = wait.max(WAIT_MIN);
        let until = Instant::now() + wait;
        let mut of = self.of();
        let last = &mut of[bucket as usize];
        *last = (*last).max(Some(until));
        wait
    }

    /// Somebody else asks.
    pub(super) fn forget(&self) {
        *self.of() = Default::default();
    }

    fn of(&self) -> MutexGuard<'_, [Option<Instant>; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
