//! Streams ranges of a file's bytes from the Hub: Xet terms or plain HTTP ranges. Makes one attempt; retries, sharing and
//! budgets are the plan's.
//!
//! | module | subject |
//! | --- | --- |
//! | [`origin`] | what is needed of the Hub: tokens and locations |
//! | `xet`, `plain` | the two ways to bytes |
//! | `choose` | which of the two is taken |
//! | `detour` | files that Xet keeps failing, to be read by plain ranges |
//! | `pieces` | cuts a range into what is asked and carried side by side |
//! | `layout` | a checked reconstruction: which signed requests bring which bytes |
//! | `decode`, `multipart` | bytes of an answer into bytes of the file, as they arrive |
//! | `carry`, `http`, `lanes`, `pace` | one answer into the sink; what answers mean; how many at once; how fast |
//! | `token`, `kept`, `flight` | tokens; what is kept of answers; one request for many askers |

mod carry;
mod choose;
mod decode;
mod detour;
mod fault;
mod flight;
#[cfg(test)]
pub(crate) mod fuzz;
mod http;
mod kept;
mod lanes;
mod layout;
mod multipart;
pub mod origin;
mod pace;
mod pieces;
mod plain;
mod stats;
mod token;
mod xet;

#[cfg(test)]
mod tests;

pub use lanes::connections_max;
pub use origin::{Location, Origin, XetToken};
pub use stats::{Statistics, Traffic};

use crate::hub::View;
use crate::repo::RepoId;
use crate::tree::FileMeta;
use crate::{Error, ErrorKind, Result};
use choose::{Choice, Chooser, Start, Want, Way};
use detour::{Attempt, Detours, Watched};
use lanes::{Class, FetchLanes, Lanes};
use pace::Pace;
use plain::Plain;
use stats::Counters;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use token::Tokens;
use tokio::time::Instant;
use weightless_plan::Urgency;
use xet::Xet;

/// A fetch up to this long is a small read: it does not queue behind large ones.
const SMALL_BYTES_MAX: u64 = 1 << 20;
/// A fetch of a Xet file goes the way that answers sooner if it is at most this long: two blocks. Longer ones are worth the Xet
/// way, whose ranges of one file come side by side from a data host near by.
const EITHER_WAY_BYTES_MAX: u64 = 512 << 10;
/// The same of a fetch that is needed soon: what is asked for in one piece either way.
const SOON_EITHER_WAY_BYTES_MAX: u64 = pieces::UNCUT_BYTES_MAX;
/// Repos, as accounts see them, of which is known how soon small reads are answered.
const CHOOSERS_MAX: usize = 256;
/// Memory of a connection at work: HTTP's read buffer (0.5 MiB), a compressed chunk or two and its decoded form.
const LANE_BYTES: u64 = 768 << 10;

/// Where a file's bytes are to be had.
#[derive(Debug, Clone)]
pub struct Source {
    /// The Hub, as the account sees it that asks.
    pub origin: Arc<dyn Origin>,
    /// Repo.
    pub repo: RepoId,
    /// Commit sha.
    pub commit: Arc<str>,
    /// The file.
    pub file: Arc<FileMeta>,
}

/// A file in Xet storage, as one account sees it. What is answered for one view is never used for another: the same file may
/// be refused there, and a signed URL is a right to read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct XetFile {
    view: View,
    /// 64 hex digits.
    hash: Arc<str>,
}

/// Receives what a fetch brings. Called from runtime threads, in any order of offsets, each byte of the range once.
pub trait Sink: Send + Sync + 'static {
    /// A request that carries content was sent (the stall timer starts here).
    fn sent(&self);
    /// Bytes came off the network, before decoding (resets the stall timer).
    fn received(&self, wire_bytes: usize);
    /// Content at `offset` of the file; the callee copies it.
    fn write(&self, offset: u64, content: &[u8]);
    /// The same of content that was on this device already; [`Sink::sent`] and [`Sink::received`] are not called for it.
    fn write_local(&self, from: Local, offset: u64, content: &[u8]);
}

/// Where on this device content was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Local {
    /// In our store.
    Store,
    /// In the Hugging Face cache.
    HubCache,
}

/// Fetches ranges of files. Cheap to clone; clones share connections and what is kept of earlier answers.
#[derive(Clone)]
pub struct Transport(Arc<Inner>);

struct Inner {
    xet: Arc<Xet>,
    plain: Arc<Plain>,
    lanes: Lanes,
    /// Std: held for a choice or a note, never across an await.
    choosers: Mutex<HashMap<(View, RepoId), Chooser>>,
    detours: Detours,
    counters: Arc<Counters>,
    pace: Arc<Pace>,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}

impl Default for Transport {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Transport {
    /// One that knows nothing yet; each source says which Hub it comes from and who asks. `connections_max` bounds how many connections
    /// carry content at once, where the user says so.
    pub fn new(connections_max: Option<NonZeroUsize>) -> Self {
        let counters = Arc::new(Counters::default());
        let pace = Arc::new(Pace::default());
        let tokens = Arc::new(Tokens::new(Arc::clone(&counters)));
        Transport(Arc::new(Inner {
            xet: Arc::new(Xet::new(tokens, Arc::clone(&counters), Arc::clone(&pace))),
            plain: Arc::new(Plain::new(Arc::clone(&counters), Arc::clone(&pace))),
            lanes: Lanes::new(connections_max),
            choosers: Mutex::new(HashMap::new()),
            detours: Detours::new(),
            counters,
            pace,
        }))
    }

    /// Fetches `range` (bytes of the file, not empty, within its size) once; returns when every byte was written or with
    /// the error that ended it. Dropping the future cancels the fetch at once: nothing is written after the drop. Needs a
    /// runtime.
    pub async fn fetch(
        &self,
        source: &Arc<Source>,
        range: Range<u64>,
        urgency: Urgency,
        sink: &Arc<dyn Sink>,
    ) -> Result<()> {
        check_range(source, &range)?;
        let inner = &self.0;
        let len = range.end - range.start;
        let class = if len <= SMALL_BYTES_MAX { Class::Small } else { Class::Bulk };
        let lanes = inner.lanes.fetch(class);
        let busy = inner.lanes.busy();
        match xet_file(source)? {
            Some(file) if !inner.detours.taken(&file) => {
                inner.either_way(source, &file, range, urgency, sink, &lanes, busy).await
            }
            _ => inner.plain.fetch(source, range, &**sink, &lanes, busy).await,
        }
    }

    /// Caps what content takes of the network, in bytes a second; `None` is no cap. Takes effect at once.
    pub fn set_bandwidth_cap(&self, bytes_per_s: Option<u64>) {
        self.0.pace.set(bytes_per_s);
    }

    /// Forgets every token, address and reconstruction that was answered to `view`, which has ended. None of them would be
    /// used any more; this frees them. Fetches at work go on with the links they have.
    pub fn forget(&self, view: View) {
        let inner = &*self.0;
        inner.xet.forget(view);
        inner.plain.forget(view);
        inner.detours.forget(view);
        inner.choosers.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _), _| *of != view);
    }

    /// Memory that connections at work and kept reconstructions take now.
    pub fn buffer_bytes(&self) -> u64 {
        self.0.lanes.busy() as u64 * LANE_BYTES + self.0.xet.kept_bytes()
    }

    /// What has been asked for so far.
    pub fn statistics(&self) -> Statistics {
        self.0.counters.read()
    }
}

impl Inner {
    /// Fetches a range of a Xet file the way that serves it best, and learns from it.
    #[expect(clippy::too_many_arguments, reason = "a fetch, where its bytes go, and what it may use")]
    async fn either_way(
        self: &Arc<Self>,
        source: &Arc<Source>,
        file: &XetFile,
        range: Range<u64>,
        urgency: Urgency,
        sink: &Arc<dyn Sink>,
        lanes: &FetchLanes<'_>,
        busy: usize,
    ) -> Result<()> {
        let start = |known| if known { Start::Warm } else { Start::Cold };
        let (xet, plain) = (start(self.xet.knows(file, &range)), start(self.plain.knows(source)));
        let short = match urgency {
            Urgency::Soon => SOON_EITHER_WAY_BYTES_MAX,
            Urgency::Ahead => EITHER_WAY_BYTES_MAX,
        };
        let want = if range.end - range.start <= short { Want::FirstByte { xet, plain } } else { Want::Bulk };
        let way = match self.chooser(source, file.view, |chooser| chooser.choose(want, Instant::now())) {
            Choice::Take(way) => way,
            Choice::PlainAndGreet => {
                self.greet(source, file, &range);
                Way::Plain
            }
        };
        let watched = Watched::new(sink);
        let (start, result) = match way {
            Way::Xet => (xet, self.by_xet(source, file, range, &watched, lanes, busy).await),
            Way::Plain => {
                let result = self.plain.fetch(source, range, &watched, lanes, busy).await;
                let other = |error| if self.detours.doubts(file) { error } else { go_the_other_way(source, error) };
                (plain, result.map_err(other))
            }
        };
        self.chooser(source, file.view, |chooser| {
            chooser.ended(way, result.is_ok(), Instant::now());
            if want != Want::Bulk {
                chooser.learn(way, start, result.is_ok().then(|| watched.first_byte()));
            }
        });
        result
    }

    async fn by_xet(
        &self,
        source: &Arc<Source>,
        file: &XetFile,
        range: Range<u64>,
        watched: &Watched,
        lanes: &FetchLanes<'_>,
        busy: usize,
    ) -> Result<()> {
        let attempt = Attempt::new(&self.detours, file, watched);
        let result = self.xet.fetch(source, file, range, watched, lanes, busy).await;
        attempt.end(result.as_ref().err().map(Error::kind));
        // The next attempt may go the plain way.
        result.map_err(|error| go_the_other_way(source, error))
    }

    /// Asks Xet in the background for what it must be asked first, so that what follows need not wait for it.
    fn greet(self: &Arc<Self>, source: &Arc<Source>, file: &XetFile, range: &Range<u64>) {
        let (this, source, file, range) = (Arc::clone(self), Arc::clone(source), file.clone(), range.clone());
        tokio::spawn(async move {
            let greeted = this.xet.greet(&source, &file, range).await;
            if let Err(error) = &greeted {
                this.detours.failed(&file, error.kind());
            }
            this.chooser(&source, file.view, |chooser| chooser.greeted(greeted.is_ok(), Instant::now()));
        });
    }

    fn chooser<T>(&self, source: &Source, view: View, with: impl FnOnce(&mut Chooser) -> T) -> T {
        let key = (view, source.repo.clone());
        let mut choosers = self.choosers.lock().unwrap_or_else(PoisonError::into_inner);
        if choosers.len() >= CHOOSERS_MAX && !choosers.contains_key(&key) {
            choosers.clear();
        }
        with(choosers.entry(key).or_default())
    }
}

/// What one way refuses is worth another attempt, which will go the other way.
fn go_the_other_way(source: &Source, error: Error) -> Error {
    match error.kind() {
        // The latter two are what a mirror says that has no Xet service.
        ErrorKind::FileRefused | ErrorKind::Protocol | ErrorKind::EntryNotFound | ErrorKind::RevisionNotFound => {
            Error::new(ErrorKind::Connection, &*source.file.path).because(error)
        }
        _ => error,
    }
}

fn check_range(source: &Source, range: &Range<u64>) -> Result<()> {
    if range.start < range.end && range.end <= source.file.size {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Internal, &*source.file.path).because(format!("a fetch of {range:?}")))
    }
}

/// The file in Xet storage, as its account sees it now; its hash is checked, since it becomes part of a path.
fn xet_file(source: &Source) -> Result<Option<XetFile>> {
    let Some(hash) = &source.file.xet_hash else { return Ok(None) };
    if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(Some(XetFile { view: source.origin.view(), hash: hash.as_str().into() }))
    } else {
        Err(Error::new(ErrorKind::Protocol, &*source.file.path).because("a Xet hash that is none"))
    }
}
