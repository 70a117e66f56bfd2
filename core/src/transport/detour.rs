//! Remembers files that the Xet way keeps failing, so that they are read by plain ranges for a while. Decides from
//! outcomes it is told of; never tries anything.

use super::kept::Kept;
use super::{Local, Sink, XetFile};
use crate::ErrorKind;
use crate::hub::View;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Failures in a row after which a file takes the detour. One may be chance.
const FAILURES_MIN: u32 = 2;
/// How long the detour is taken before the Xet way is tried again.
const DETOUR_MS: u64 = 5 * 60 * 1000;
/// A fetch that is given up after this long without a byte counts as a failure.
const SILENT_MS: u64 = 5_000;
/// Files in trouble that are remembered.
const FILES_MAX: usize = 1024;

/// The files in trouble.
pub(crate) struct Detours {
    /// Failures in a row by file. Std: held for a lookup, never across an await.
    failures: Mutex<Kept<XetFile, u32>>,
}

impl Detours {
    pub(crate) fn new() -> Self {
        Detours { failures: Mutex::new(Kept::new(FILES_MAX)) }
    }

    /// Whether the file is to be read by plain ranges now.
    pub(crate) fn taken(&self, file: &XetFile) -> bool {
        self.failures().get(file, Instant::now()).is_some_and(|failures| failures >= FAILURES_MIN)
    }

    /// Whether the Xet way failed when it was last tried.
    pub(crate) fn doubts(&self, file: &XetFile) -> bool {
        self.failures().get(file, Instant::now()).is_some()
    }

    /// The Xet way worked.
    pub(crate) fn worked(&self, file: &XetFile) {
        self.failures().forget(file, |_| true);
    }

    /// The Xet way failed with this.
    pub(crate) fn failed(&self, file: &XetFile, kind: ErrorKind) {
        use ErrorKind::{
            Connection, ContentMismatch, EntryNotFound, FileRefused, HubDown, Offline, Protocol, RevisionNotFound,
            Stalled,
        };
        // Waiting and rights are the same on either way.
        if !matches!(
            kind,
            Connection
                | ContentMismatch
                | EntryNotFound
                | FileRefused
                | HubDown
                | Offline
                | Protocol
                | RevisionNotFound
                | Stalled
        ) {
            return;
        }
        let now = Instant::now();
        let mut kept = self.failures();
        let failures = kept.get(file, now).unwrap_or(0).saturating_add(1);
        kept.insert(file.clone(), failures, now + Duration::from_millis(DETOUR_MS));
        drop(kept);
        if failures == FAILURES_MIN {
            tracing::warn!(xet_hash = %file.hash, cause = kind.row().code, "reading by plain ranges, since Xet fails");
        }
    }

    /// Forgets what befell `view`, which has ended.
    pub(crate) fn forget(&self, view: View) {
        self.failures().retain(|file| file.view != view);
    }

    fn failures(&self) -> MutexGuard<'_, Kept<XetFile, u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sink that knows when it was first and last reached by the network.
pub(crate) struct Watched {
    sink: Arc<dyn Sink>,
    began: Instant,
    first: OnceLock<Duration>,
    /// Std: held to store or to read an instant.
    reached: Mutex<Instant>,
}

impl Watched {
    pub(crate) fn new(sink: &Arc<dyn Sink>) -> Self {
        let began = Instant::now();
        Watched { sink: Arc::clone(sink), began, first: OnceLock::new(), reached: Mutex::new(began) }
    }

    /// Time to the first byte; to now if none came.
    pub(crate) fn first_byte(&self) -> Duration {
        self.first.get().copied().unwrap_or_else(|| self.began.elapsed())
    }

    fn is_silent(&self) -> bool {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= Duration::from_millis(SILENT_MS)
    }
}

impl Sink for Watched {
    fn sent(&self) {
        self.sink.sent();
    }

    fn received(&self, wire_bytes: usize) {
        self.first.get_or_init(|| self.began.elapsed());
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.sink.received(wire_bytes);
    }

    fn write(&self, offset: u64, content: &[u8]) {
        self.sink.write(offset, content);
    }

    fn write_local(&self, from: Local, offset: u64, content: &[u8]) {
        self.sink.write_local(from, offset, content);
    }
}

/// A fetch by the Xet way; dropped before its end after a silence, it counts as a failure.
pub(crate) struct Attempt<'a> {
    detours: &'a Detours,
    file: &'a XetFile,
    watched: &'a Watched,
    ended: bool,
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(detours: &'a Detours, file: &'a XetFile, watched: &'a Watched) -> Self {
        Attempt { detours, file, watched, ended: false }
    }

    /// The fetch ended by itself.
    pub(crate) fn end(mut self, failure: Option<ErrorKind>) {
        self.ended = true;
        match failure {
            None => self.detours.worked(self.file),
            Some(kind) => self.detours.failed(self.file, kind),
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.ended && self.watched.is_silent() {
            self.detours.failed(self.file, ErrorKind::Stalled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorKind::{Connection, RateLimited, TokenRejected};

    struct Nowhere;

    impl Sink for Nowhere {
        fn sent(&self) {}
        fn received(&self, _: usize) {}
        fn write(&self, _: u64, _: &[u8]) {}
        fn write_local(&self, _: Local, _: u64, _: &[u8]) {}
    }

    enum Outcome {
        Worked,
        Failed(ErrorKind),
        GivenUpAfter(u64),
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_keeps_failing_takes_the_detour_for_a_while() {
        use Outcome::{Failed, GivenUpAfter, Worked};
        let sink: Arc<dyn Sink> = Arc::new(Nowhere);
        for (name, outcomes, taken) in [
            ("one failure", &[Failed(Connection)][..], false),
            ("two in a row", &[Failed(Connection), Failed(Connection)], true),
            ("two, with a success between", &[Failed(Connection), Worked, Failed(Connection)], false),
            ("what is no fault of Xet", &[Failed(RateLimited), Failed(TokenRejected), Failed(RateLimited)], false),
            ("two silences", &[GivenUpAfter(SILENT_MS), GivenUpAfter(SILENT_MS)], true),
            ("reads closed in time", &[GivenUpAfter(100), GivenUpAfter(100)], false),
        ] {
            let (detours, file) = (Detours::new(), XetFile { view: View::fresh(), hash: "hash".into() });
            for outcome in outcomes {
                let watched = Watched::new(&sink);
                let attempt = Attempt::new(&detours, &file, &watched);
                match outcome {
                    Worked => attempt.end(None),
                    Failed(kind) => attempt.end(Some(*kind)),
                    GivenUpAfter(ms) => {
                        tokio::time::advance(Duration::from_millis(*ms)).await;
                        drop(attempt);
                    }
                }
            }
            assert_eq!(detours.taken(&file), taken, "{name}");
            tokio::time::advance(Duration::from_millis(DETOUR_MS)).await;
            assert!(!detours.taken(&file), "{name}, later");
        }
    }
}
