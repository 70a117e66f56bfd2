//! How many connections carry data at once: per fetch and in all. Never decides what they carry.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Connections that one fetch holds at once. A fetch is 32 MiB at most and its pieces 2 MiB at least, but scattered terms
/// may want one a xorb.
const FETCH_CONNECTIONS_MAX: usize = 16;
/// Connections that carry data at once in all. At about 0.5 MiB of read buffer each this is 32 MiB.
const CONNECTIONS_MAX: usize = 64;

/// The connections of a transport.
#[derive(Debug)]
pub(crate) struct Lanes {
    all: Semaphore,
    busy: AtomicUsize,
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
    pub(crate) fn new() -> Self {
        Lanes { all: Semaphore::new(CONNECTIONS_MAX), busy: AtomicUsize::new(0) }
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
            Class::Small => None,
            Class::Bulk => Some(self.lanes.all.acquire().await.expect(OPEN)),
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
