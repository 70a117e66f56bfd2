//! [`LocalFetcher`]: of each fetch, what is on this device comes from there, the rest from the network, and what came whole
//! from the network is given to the store. Decides nothing about what is fetched; makes no read wait for a disk that hangs.

use super::cell::{self, CELL_BLOCKS, Cell};
use super::disk::DiskFile;
use super::hub_cache::HubCache;
use super::key::Blob;
use super::parts::{self, Parts};
use super::{Store, StoreStats};
use crate::Result;
use crate::reader::Fetcher;
use crate::transport::{Local, Sink, Source};
use bytes::Bytes;
use futures_util::future::{BoxFuture, join};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weightless_plan::{BLOCK_BYTES, BlockIx, Urgency};

/// Blocks read from a disk in one go: 1 MiB. Longer reads gain nothing, and this much lies in memory until it is handed on.
const READ_BLOCKS_MAX: u32 = 4;
/// Reads of one fetch at once: the next is on its way while one is handed on.
const READS_PER_FETCH: usize = 2;
/// Reads of all fetches at once; more than a disk gains from, and 8 MiB of memory.
const READS_MAX: usize = 8;
/// Runs of one fetch that are asked of the network at once.
const MISSING_AT_ONCE: usize = 8;
/// A disk that takes longer is worse than the network: a spun-down one is back by then, a network drive that is gone is not.
const DISK_PATIENCE: Duration = Duration::from_secs(4);
/// Fetches that do not ask a disk after it has taken longer.
const LEFT_OUT: u32 = 64;

/// Asks this device before the network.
pub struct LocalFetcher {
    store: Option<Arc<Store>>,
    hub_cache: Option<Arc<HubCache>>,
    inner: Arc<dyn Fetcher>,
    reads: Arc<Semaphore>,
    left_out: AtomicU32,
    store_bytes: AtomicU64,
    hub_cache_bytes: AtomicU64,
}

/// What came from this device.
#[derive(Debug, Clone, Default)]
pub struct LocalStats {
    /// Bytes of content that came from the store.
    pub store_bytes: u64,
    /// Bytes of content that came from the Hugging Face cache.
    pub hub_cache_bytes: u64,
    /// The store; `None` without one.
    pub store: Option<StoreStats>,
}

/// What of a fetch is here.
enum Held {
    Cells(Vec<(u32, Cell)>),
    File(Box<dyn DiskFile>),
}

/// Blocks read, and which of them can be believed.
type Blocks = (Vec<u8>, Vec<bool>);

impl LocalFetcher {
    /// Puts this device before `inner`.
    pub fn new(store: Option<Arc<Store>>, hub_cache: Option<HubCache>, inner: Arc<dyn Fetcher>) -> Self {
        LocalFetcher {
            store,
            hub_cache: hub_cache.map(Arc::new),
            inner,
            reads: Arc::new(Semaphore::new(READS_MAX)),
            left_out: AtomicU32::new(0),
            store_bytes: AtomicU64::new(0),
            hub_cache_bytes: AtomicU64::new(0),
        }
    }

    /// What came from this device so far.
    pub fn stats(&self) -> LocalStats {
        LocalStats {
            store_bytes: self.store_bytes.load(Relaxed),
            hub_cache_bytes: self.hub_cache_bytes.load(Relaxed),
            store: self.store.as_ref().map(|store| store.stats()),
        }
    }

    /// Finds what of `blocks` is here.
    async fn look(&self, source: &Arc<Source>, blob: Blob, blocks: Range<u32>) -> Option<Held> {
        let (store, hub_cache, source) = (self.store.clone(), self.hub_cache.clone(), source.clone());
        let looked = self.on_disk(move || {
            if let Some(file) = hub_cache.and_then(|cache| cache.open(&source, &blob)) {
                return Some(Held::File(file));
            }
            let cells = store.map(|store| store.cells(&blob, &blocks)).unwrap_or_default();
            (!cells.is_empty()).then_some(Held::Cells(cells))
        });
        looked.await?.0
    }

    /// Hands on what is here; returns the runs that turned out not to be.
    async fn serve_held(
        &self,
        blob: Blob,
        held: Arc<Held>,
        runs: Vec<Range<u32>>,
        sink: &Arc<dyn Sink>,
    ) -> Vec<Range<u32>> {
        let pieces = runs.into_iter().flat_map(|run| {
            run.clone().step_by(READ_BLOCKS_MAX as usize).flat_map(move |start| {
                // A cell's border ends a read.
                let end = (start + READ_BLOCKS_MAX).min(run.end);
                let border = (start / CELL_BLOCKS + 1) * CELL_BLOCKS;
                [start..end.min(border), border.clamp(start, end)..end].into_iter().filter(|run| !run.is_empty())
            })
        });
        let mut reads = stream::iter(pieces)
            .map(|piece| {
                let held = held.clone();
                async move {
                    let read = self.on_disk({
                        let piece = piece.clone();
                        move || held.read(&blob, &piece)
                    });
                    (piece, read.await)
                }
            })
            .buffer_unordered(READS_PER_FETCH);
        let mut bad = Vec::new();
        while let Some((piece, read)) = reads.next().await {
            match read {
                // The permit is let go of once the bytes are handed on.
                Some((Ok((content, good)), _permit)) => {
                    let blocks = piece.clone().zip(content.chunks(BLOCK_BYTES as usize)).zip(good);
                    for ((block, content), good) in blocks {
                        if good {
                            self.hand_on(&held, block, content, sink);
                        } else {
                            bad.push(block..block + 1);
                            held.forget(self.store.as_deref(), &blob, block);
                        }
                    }
                }
                Some((Err(error), _)) => {
                    tracing::debug!(%error, "what is kept cannot be read");
                    bad.push(piece);
                }
                None => bad.push(piece),
            }
        }
        bad.sort_by_key(|run| run.start);
        bad
    }

    fn hand_on(&self, held: &Held, block: u32, content: &[u8], sink: &Arc<dyn Sink>) {
        let (from, counter) = match held {
            Held::Cells(_) => (Local::Store, &self.store_bytes),
            Held::File(_) => (Local::HubCache, &self.hub_cache_bytes),
        };
        counter.fetch_add(content.len() as u64, Relaxed);
        sink.write_local(from, u64::from(block) * BLOCK_BYTES, content);
    }

    async fn fetch_missing(
        &self,
        source: &Arc<Source>,
        blob: &Blob,
        runs: Vec<Range<u32>>,
        urgency: Urgency,
        sink: &Arc<dyn Sink>,
    ) -> Result<()> {
        stream::iter(runs)
            .map(|run| self.inner.fetch(source, cell::bytes(blob, &run), urgency, sink))
            .buffer_unordered(MISSING_AT_ONCE)
            .try_collect()
            .await
    }

    /// Does what waits for a disk, away from the runtime's threads and not for ever; `None` if it takes too long. What comes
    /// with the result is to be dropped once the result is used up.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<(T, OwnedSemaphorePermit)> {
        if self.left_out.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            return None;
        }
        let done = async {
            let permit = self.reads.clone().acquire_owned().await.ok()?;
            tokio::task::spawn_blocking(move || (work(), permit)).await.ok()
        };
        match tokio::time::timeout(DISK_PATIENCE, done).await {
            Ok(done) => done,
            Err(_) => {
                tracing::warn!("the disk with what is kept does not answer; the network is asked for now");
                self.left_out.store(LEFT_OUT, Relaxed);
                None
            }
        }
    }
}

impl std::fmt::Debug for LocalFetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalFetcher").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Held {
    fn holds(&self, block: u32) -> bool {
        match self {
            Held::Cells(cells) => cells.iter().any(|(number, cell)| *number == block / CELL_BLOCKS && cell.has(block)),
            Held::File(_) => true,
        }
    }

    /// Reads neighbouring blocks of one cell.
    fn read(&self, blob: &Blob, blocks: &Range<u32>) -> io::Result<Blocks> {
        match self {
            Held::Cells(cells) => {
                let cell = cells.iter().find(|(number, _)| *number == blocks.start / CELL_BLOCKS);
                cell.ok_or(io::ErrorKind::NotFound)?.1.read(blocks)
            }
            Held::File(file) => {
                let range = cell::bytes(blob, blocks);
                let mut content = vec![0; (range.end - range.start) as usize];
                // One that was cut meanwhile is none any more.
                let is_whole = file.read_at(&mut content, range.start)? == content.len();
                Ok((content, vec![is_whole; blocks.len()]))
            }
        }
    }

    /// A block here is not what it should be.
    fn forget(&self, store: Option<&Store>, blob: &Blob, block: u32) {
        if let (Held::Cells(_), Some(store)) = (self, store) {
            store.forget(blob, block);
        }
    }
}

impl Fetcher for LocalFetcher {
    fn fetch<'a>(
        &'a self,
        source: &'a Arc<Source>,
        range: Range<u64>,
        urgency: Urgency,
        sink: &'a Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let Some((blob, blocks)) = whole_blocks(source, &range) else {
                return self.inner.fetch(source, range, urgency, sink).await;
            };
            let Some(held) = self.look(source, blob, blocks.clone()).await else {
                return self.inner.fetch(source, range, urgency, sink).await;
            };
            let Parts { held: here, missing } = parts::cut(blocks, |block| held.holds(block));
            let (bad, fetched) = join(
                self.serve_held(blob, Arc::new(held), here, sink),
                self.fetch_missing(source, &blob, missing, urgency, sink),
            )
            .await;
            fetched?;
            self.fetch_missing(source, &blob, bad, urgency, sink).await
        })
    }

    fn keep(&self, source: &Arc<Source>, block: BlockIx, content: &Bytes) {
        if let Some(store) = self.store.as_ref().filter(|store| store.is_on())
            && let Some(blob) = Blob::of(source)
        {
            let label = format!("{}\n{}", source.repo, source.file.path);
            store.offer(&blob, label.into(), block.0, content.clone());
        }
    }

    fn buffer_bytes(&self) -> u64 {
        let reading = READS_MAX.saturating_sub(self.reads.available_permits()) as u64;
        let queued = self.store.as_ref().map_or(0, |store| store.queued_bytes());
        self.inner.buffer_bytes() + reading * u64::from(READ_BLOCKS_MAX) * BLOCK_BYTES + queued
    }
}

/// The blocks of a range that is made of whole blocks, as the reader's are.
fn whole_blocks(source: &Source, range: &Range<u64>) -> Option<(Blob, Range<u32>)> {
    let blob = Blob::of(source)?;
    let is_whole = range.start < range.end
        && range.start.is_multiple_of(BLOCK_BYTES)
        && (range.end.is_multiple_of(BLOCK_BYTES) || range.end == blob.size)
        && range.end <= blob.size;
    is_whole.then(|| (blob, (range.start / BLOCK_BYTES) as u32..range.end.div_ceil(BLOCK_BYTES) as u32))
}
