//! Streams ranges of a file's bytes from the Hub: Xet terms or plain HTTP ranges. Makes one attempt; retries, sharing and
//! budgets are the plan's.
//!
//! | module | subject |
//! | --- | --- |
//! | [`origin`] | what is needed of the Hub: tokens and locations |
//! | `xet`, `plain` | the two ways to bytes |
//! | `choose` | which of the two answers small reads sooner |
//! | `detour` | files that Xet keeps failing, to be read by plain ranges |
//! | `pieces` | cuts a range into what is asked and carried side by side |
//! | `layout` | a checked reconstruction: which signed requests bring which bytes |
//! | `decode`, `multipart` | bytes of an answer into bytes of the file, as they arrive |
//! | `carry`, `http`, `lanes` | one answer into the sink; what answers mean; how many at once |
//! | `token`, `kept`, `flight` | tokens; what is kept of answers; one request for many askers |

mod carry;
mod choose;
mod decode;
mod detour;
mod fault;
mod flight;
mod http;
mod kept;
mod lanes;
mod layout;
mod multipart;
pub mod origin;
mod pieces;
mod plain;
mod stats;
mod token;
mod xet;

#[cfg(test)]
mod tests;

pub use origin::{Location, Origin, XetToken};
pub use stats::{Statistics, Traffic};

use crate::{Error, ErrorKind, Result, repo::RepoId, tree::FileMeta};
use choose::{Chooser, Start, Way};
use detour::{Attempt, Detours, Watched};
use lanes::{Class, FetchLanes, Lanes};
use plain::Plain;
use stats::Counters;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use token::Tokens;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use xet::Xet;

/// A fetch up to this long is a small read: it does not queue behind large ones.
const SMALL_BYTES_MAX: u64 = 1 << 20;
/// A fetch of a Xet file up to this long goes the way that answers sooner: two blocks. Longer ones are worth the Xet way,
/// whose ranges of one file come side by side from a data host near by.
const EITHER_WAY_BYTES_MAX: u64 = 512 << 10;
/// Repos of which is known how soon small reads are answered.
const CHOOSERS_MAX: usize = 256;
/// Calls of [`Transport::prefetch`] at work; a further one is left out.
const PREFETCHES_MAX: usize = 16;

/// Where a file's bytes are to be had.
#[derive(Debug, Clone)]
pub struct Source {
    /// Repo.
    pub repo: RepoId,
    /// Commit sha.
    pub commit: Arc<str>,
    /// The file.
    pub file: Arc<FileMeta>,
}

/// Receives what a fetch brings. Called from runtime threads, in any order of offsets, each byte of the range once.
pub trait Sink: Send + Sync + 'static {
    /// A request that carries content was sent (the stall timer starts here).
    fn sent(&self);
    /// Bytes came off the network, before decoding (resets the stall timer).
    fn received(&self, wire_bytes: usize);
    /// Content at `offset` of the file; the callee copies it.
    fn write(&self, offset: u64, content: &[u8]);
}

/// Fetches ranges of files. Cheap to clone; clones share connections and what is kept of earlier answers.
#[derive(Clone)]
pub struct Transport(Arc<Inner>);

struct Inner {
    xet: Arc<Xet>,
    plain: Arc<Plain>,
    lanes: Lanes,
    /// Std: held for a choice or a note, never across an await.
    choosers: Mutex<HashMap<RepoId, Chooser>>,
    detours: Detours,
    counters: Arc<Counters>,
    prefetches: Arc<Semaphore>,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}

impl Transport {
    /// `builder` has the network configuration in it (proxy, certificates, user agent, connect timeout); `origin` is the
    /// Hub.
    pub fn new(builder: reqwest::ClientBuilder, origin: Arc<dyn Origin>) -> Result<Self> {
        let client = builder
            // HTTP/2 would put all ranges on one connection, whose window and losses they would share.
            .http1_only()
            // A redirect may lead to a host that must not see a token.
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .build()
            .map_err(|error| Error::new(ErrorKind::Internal, "HTTP client").because(error))?;
        let counters = Arc::new(Counters::default());
        let tokens = Arc::new(Tokens::new(Arc::clone(&origin), Arc::clone(&counters)));
        Ok(Transport(Arc::new(Inner {
            xet: Arc::new(Xet::new(client.clone(), tokens, Arc::clone(&counters))),
            plain: Arc::new(Plain::new(client, origin, Arc::clone(&counters))),
            lanes: Lanes::new(),
            choosers: Mutex::new(HashMap::new()),
            detours: Detours::new(),
            counters,
            prefetches: Arc::new(Semaphore::new(PREFETCHES_MAX)),
        })))
    }

    /// Fetches `range` (bytes of the file, not empty, within its size) once; returns when every byte was written or with
    /// the error that ended it. Dropping the future cancels the fetch at once: nothing is written after the drop.
    pub async fn fetch(&self, source: &Arc<Source>, range: Range<u64>, sink: &Arc<dyn Sink>) -> Result<()> {
        check_range(source, &range)?;
        let inner = &*self.0;
        let len = range.end - range.start;
        let class = if len <= SMALL_BYTES_MAX { Class::Small } else { Class::Bulk };
        let lanes = inner.lanes.fetch(class);
        let busy = inner.lanes.busy();
        match xet_hash(source)? {
            Some(hash) if !inner.detours.taken(&hash) => {
                if len <= EITHER_WAY_BYTES_MAX {
                    inner.either_way(source, &hash, range, sink, &lanes).await
                } else {
                    inner.by_xet(source, &hash, range, sink, &lanes, busy).await
                }
            }
            _ => inner.plain.fetch(source, range, &**sink, &lanes, busy).await,
        }
    }

    /// Asks in the background for what a fetch of `range` will need to know, so that it need not wait for it. Costs no
    /// content. Needs a runtime; does nothing if many are at work already.
    pub fn prefetch(&self, source: &Arc<Source>, range: Range<u64>) {
        let Ok(Some(hash)) = check_range(source, &range).and_then(|()| xet_hash(source)) else { return };
        let Ok(permit) = Arc::clone(&self.0.prefetches).try_acquire_owned() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (xet, source) = (Arc::clone(&self.0.xet), Arc::clone(source));
        runtime.spawn(async move {
            let _permit = permit;
            xet.prepare(&source, &hash, range).await;
        });
    }

    /// What has been asked for so far.
    pub fn statistics(&self) -> Statistics {
        self.0.counters.read()
    }
}

impl Inner {
    /// Fetches a small range of a Xet file the way that is likely to answer sooner, and learns from it.
    async fn either_way(
        &self,
        source: &Arc<Source>,
        hash: &Arc<str>,
        range: Range<u64>,
        sink: &Arc<dyn Sink>,
        lanes: &FetchLanes<'_>,
    ) -> Result<()> {
        let start = |known| if known { Start::Warm } else { Start::Cold };
        let (xet, plain) = (start(self.xet.knows(hash, &range)), start(self.plain.knows(source)));
        let way = self.chooser(&source.repo, |chooser| chooser.choose(xet, plain));
        let asked = Instant::now();
        let (start, result) = match way {
            Way::Xet => (xet, self.by_xet(source, hash, range, sink, lanes, 0).await),
            Way::Plain => {
                let result = self.plain.fetch(source, range, &**sink, lanes, 0).await;
                let other = |error| if self.detours.doubts(hash) { error } else { go_the_other_way(source, error) };
                (plain, result.map_err(other))
            }
        };
        let time = result.is_ok().then(|| asked.elapsed());
        self.chooser(&source.repo, |chooser| chooser.learn(way, start, time));
        result
    }

    async fn by_xet(
        &self,
        source: &Arc<Source>,
        hash: &Arc<str>,
        range: Range<u64>,
        sink: &Arc<dyn Sink>,
        lanes: &FetchLanes<'_>,
        busy: usize,
    ) -> Result<()> {
        let watched = Watched::new(sink);
        let attempt = Attempt::new(&self.detours, hash, &watched);
        let result = self.xet.fetch(source, hash, range, &watched, lanes, busy).await;
        attempt.end(result.as_ref().err().map(Error::kind));
        // The next attempt may go the plain way.
        result.map_err(|error| go_the_other_way(source, error))
    }

    fn chooser<T>(&self, repo: &RepoId, with: impl FnOnce(&mut Chooser) -> T) -> T {
        let mut choosers = self.choosers.lock().unwrap_or_else(PoisonError::into_inner);
        if choosers.len() >= CHOOSERS_MAX && !choosers.contains_key(repo) {
            choosers.clear();
        }
        with(choosers.entry(repo.clone()).or_default())
    }
}

/// What one way refuses is worth another attempt, which will go the other way.
fn go_the_other_way(source: &Source, error: Error) -> Error {
    match error.kind() {
        ErrorKind::FileRefused | ErrorKind::Protocol | ErrorKind::EntryNotFound => {
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

/// The file's Xet hash, checked, since it becomes part of a path.
fn xet_hash(source: &Source) -> Result<Option<Arc<str>>> {
    let Some(hash) = &source.file.xet_hash else { return Ok(None) };
    if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(Some(hash.as_str().into()))
    } else {
        Err(Error::new(ErrorKind::Protocol, &*source.file.path).because("a Xet hash that is none"))
    }
}
