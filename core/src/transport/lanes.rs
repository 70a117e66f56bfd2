//! How many connections carry data at once: per fetch and in all. Never decides what they carry.

use crate::net::Env;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Connections that one fetch holds at once. A fetch is 32 MiB at most and its pieces 2 MiB at least, but scattered terms
/// may want one a xorb.
const FETCH_CONNECTIONS_MAX: usize = 16;
/// Connections that carry data at once in all. At about 0.5 MiB of read buffer each this is 32 MiB.
const CONNECTIONS_MAX: usize = 64;

/// What the Hub's own tools read for the same (xet-core, `xet_config`): the number for good, and the bound of an adaptive one.
const VARIABLES: [&str; 2] = ["HF_XET_FIXED_DOWNLOAD_CONCURRENCY", "HF_XET_CLIENT_AC_MAX_DOWNLOAD_CONCURRENCY"];

/// How many connections may carry data at once, where the user says so to the Hub's tools. The smaller one where two are said.
pub fn connections_max(env: Env<'_>) -> Option<NonZeroUsize> {
    VARIABLES.iter().filter_map(|name| env(name)?.trim().parse().ok()).min()
}

/// The connections of a transport.
#[derive(Debug)]
pub(crate) struct Lanes {
    all: Semaphore,
    busy: AtomicUsize,
    /// Whether the bound is the user's word, which holds for small reads too.
    is_strict: bool,
}

/// The connections of one fetch.
#[derive(Debug)]
pub(crate) struct FetchLanes<'a> {
    lanes: &'a Lanes,
    own: Semaphore,
    class: Class,
}

/// Whether a fetch takes part in the bound on all connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A small read, which a queue of large ones must not hold up. The plan's budget bounds how many there are.
    Small,
    /// Everything else.
    Bulk,
}

/// A connection at work; ends with its drop.
pub(crate) struct Lane<'a> {
    lanes: &'a Lanes,
    _permits: (SemaphorePermit<'a>, Option<SemaphorePermit<'a>>),
}

impl Lanes {
    /// `connections_max` is the user's word, if there is one.
    pub(crate) fn new(connections_max: Option<NonZeroUsize>) -> Self {
        let most = connections_max.map_or(CONNECTIONS_MAX, |most| most.get().min(Semaphore::MAX_PERMITS));
        Lanes { all: Semaphore::new(most), busy: AtomicUsize::new(0), is_strict: connections_max.is_some() }
    }

    /// Connections at work.
    pub(crate) fn busy(&self) -> usize {
        self.busy.load(Relaxed)
    }

    pub(crate) fn fetch(&self, class: Class) -> FetchLanes<'_> {
        FetchLanes { lanes: self, own: Semaphore::new(FETCH_CONNECTIONS_MAX), class }
    }
}

impl FetchLanes<'_> {
    /// Waits for a connection to be free. First come, first served.
    pub(crate) async fn lane(&self) -> Lane<'_> {
        const OPEN: &str = "these semaphores are never closed";
        let own = self.own.acquire().await.expect(OPEN);
        let all = match self.class {
            Class::Small if !self.lanes.is_strict => None,
            Class::Small | Class::Bulk => Some(self.lanes.all.acquire().await.expect(OPEN)),
        };
        self.lanes.busy.fetch_add(1, Relaxed);
        Lane { lanes: self.lanes, _permits: (own, all) }
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        self.lanes.busy.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn the_users_word_is_the_smaller_one_that_makes_sense() {
        for (fixed, bound, expected) in [
            (None, None, None),
            (Some("8"), None, Some(8)),
            (None, Some(" 4 "), Some(4)),
            (Some("8"), Some("4"), Some(4)),
            (Some("0"), Some("4"), Some(4)),
            (Some("many"), None, None),
            (Some("-1"), None, None),
        ] {
            let env = |name: &str| (if name == VARIABLES[0] { fixed } else { bound }).map(str::to_owned);
            assert_eq!(connections_max(&env).map(NonZeroUsize::get), expected, "{fixed:?} {bound:?}");
        }
    }

    #[test]
    fn a_bound_of_the_users_holds_for_small_reads_too() {
        for (most, small_ones) in [(None, FETCH_CONNECTIONS_MAX), (NonZeroUsize::new(3), 3)] {
            let lanes = Lanes::new(most);
            let fetch = lanes.fetch(Class::Small);
            let held: Vec<_> = std::iter::from_fn(|| fetch.lane().now_or_never()).collect();
            assert_eq!((held.len(), lanes.busy()), (small_ones, small_ones));
            drop(held);
            assert_eq!(lanes.busy(), 0);
        }
    }
}
