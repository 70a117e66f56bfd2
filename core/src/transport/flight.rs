//! One request for many askers: who asks for what is already being asked joins. Keeps no results.
//!
//! Dropping all askers drops the request; an asker that comes after it has ended starts a new one.

use crate::Result;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// Dead entries are swept when the map reaches this.
const SWEEP_ENTRIES: usize = 256;

/// Requests in flight by key.
pub(crate) struct Flights<K, V> {
    /// Guards the map only; never held across a poll. Std: held for a lookup.
    flights: Mutex<HashMap<K, WeakShared<BoxFuture<'static, Result<V>>>>>,
}

impl<K: Eq + Hash, V: Clone> Flights<K, V> {
    pub(crate) fn new() -> Self {
        Flights { flights: Mutex::new(HashMap::new()) }
    }

    /// Joins the request for `key`, or starts what `make` returns.
    pub(crate) fn join(
        &self,
        key: K,
        make: impl FnOnce() -> BoxFuture<'static, Result<V>>,
    ) -> Shared<BoxFuture<'static, Result<V>>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = flights.get(&key).and_then(WeakShared::upgrade).filter(|f| f.peek().is_none()) {
            return running;
        }
        if flights.len() >= SWEEP_ENTRIES {
            flights.retain(|_, flight| flight.upgrade().is_some());
        }
        let flight = make().shared();
        if let Some(weak) = flight.downgrade() {
            flights.insert(key, weak);
        }
        flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn askers_share_one_request_and_a_dropped_one_is_started_again() {
        let flights = Flights::<u8, usize>::new();
        let started = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(tokio::sync::Notify::new());
        let ask = || {
            let (started, gate) = (Arc::clone(&started), Arc::clone(&gate));
            flights.join(1, move || {
                async move {
                    let number = started.fetch_add(1, Ordering::Relaxed);
                    gate.notified().await;
                    Ok(number)
                }
                .boxed()
            })
        };
        let mut dropped = ask();
        assert!(futures_util::poll!(&mut dropped).is_pending());
        drop(dropped);
        let (first, second) = (ask(), ask());
        gate.notify_one();
        let (first, second) = tokio::join!(first, second);
        assert_eq!((first.unwrap(), second.unwrap()), (1, 1));
        gate.notify_one();
        assert_eq!(ask().await.unwrap(), 2);
    }
}
