//! What was read once, kept on this device: blocks of content in the user's cache folder, shared by all mounts and processes of
//! the user; and files that the Hugging Face cache has already. Never makes a read wait for a write, never serves a block that
//! its checksum does not hold for, never fails a read because a disk does.
//!
//! | file | noun |
//! | --- | --- |
//! | `key` | `Blob`: a content, and what it is called here |
//! | `cell` | the file format: 64 blocks of a content, with their checksums |
//! | `disk` | files as the store uses them; tests have another disk |
//! | `exclusive` | who may change the store |
//! | `ledger` | what is kept and when it was used |
//! | `writer` | the thread that writes and makes room |
//! | `verify` | a content that became whole against its hash |
//! | `hub_cache` | files of the Hugging Face cache |
//! | `parts`, `fetcher` | what of a fetch is here; [`LocalFetcher`], which asks the network for the rest |
//!
//! Architecture Invariant: only the writer's thread changes cells, under the store's file lock, so that the caps hold across
//! processes. Readers take no lock: they open a cell, believe what its checksums hold for, and fetch the rest.

mod cell;
mod disk;
mod exclusive;
mod fetcher;
mod hub_cache;
mod key;
mod ledger;
mod parts;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use disk::FreeSpace;
pub use fetcher::{LocalFetcher, LocalStats};
pub use hub_cache::HubCache;

use self::cell::{CELL_BLOCKS, Cell, Found};
use self::disk::{Disk, RealDisk};
use self::exclusive::Writer;
use self::key::{Blob, BlobKey};
use self::writer::{Job, WriterThread};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::broadcast;
use weightless_plan::BLOCK_BYTES;

/// Blocks that may wait for the writer at most: 32 MiB, a blink of a fast disk. What comes while so many wait is read faster
/// than the disk writes, and is not kept.
const QUEUE_BLOCKS_MAX: u64 = 128;
/// Of a small memory budget they take an eighth, since they are memory.
const QUEUE_PART: u64 = 8;
/// Jobs beside blocks that may wait for the writer.
const OTHER_JOBS_MAX: usize = 64;
/// Contents that may wait to be compared.
const VERIFICATIONS_MAX: usize = 1024;
/// Contents of which is remembered that they were used; forgotten all at once beyond.
const USED_MAX: usize = 16 * 1024;
/// Messages kept for a listener that is busy.
const NEWS_MAX: usize = 16;

/// What a store is told once.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Its folder; made when there is something to keep.
    pub folder: PathBuf,
    /// How much it may take.
    pub limits: StoreLimits,
    /// Blocks that may wait to be written; what comes while so many wait is not kept.
    pub queue_blocks_max: usize,
    /// A whole content from this size on is made durable when it was compared: forty thousand small ones are not worth forty
    /// thousand syncs.
    pub durable_bytes_min: u64,
    /// How the room on a disk is found out.
    pub free_space: FreeSpace,
}

/// How much a store may take; both hold before each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes on the disk at most; with 0 nothing is kept and what is there goes.
    pub max_bytes: u64,
    /// Bytes that stay free on its disk.
    pub keep_free_bytes: u64,
}

/// The store, as of now.
#[derive(Debug, Clone)]
pub struct StoreStats {
    /// Its folder.
    pub folder: PathBuf,
    /// Bytes that it takes on the disk.
    pub used_bytes: u64,
    /// How much it may take.
    pub limits: StoreLimits,
    /// Blocks that came faster than they could be written, and were not kept.
    pub dropped_blocks: u64,
    /// Why nothing is kept at the moment, where that is so.
    pub trouble: Option<Error>,
}

/// A content that was freed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freed {
    /// The repo that it was first read in; empty where that is not known any more.
    pub repo: String,
    /// Its path there.
    pub path: String,
    /// Bytes that it takes.
    pub bytes: u64,
}

/// The store of one folder.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    jobs: Arc<SyncSender<Job>>,
    queue_blocks_max: AtomicUsize,
    /// Contents that this process has read here; std because it is held for a lookup.
    used: Mutex<HashSet<BlobKey>>,
}

/// What the store and its threads have in common.
#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// Std: held for a copy.
    limits: Mutex<StoreLimits>,
    queued_blocks: AtomicUsize,
    dropped_blocks: AtomicU64,
    used_bytes: AtomicU64,
    durable_bytes_min: u64,
    /// What was told and still holds; std because it is held for a look.
    trouble: Mutex<Option<Error>>,
    news: broadcast::Sender<Error>,
}

/// Blocks that may wait for the writer where this much memory is for file content.
pub fn queue_blocks(budget_bytes: u64) -> usize {
    (budget_bytes / QUEUE_PART / BLOCK_BYTES).clamp(1, QUEUE_BLOCKS_MAX) as usize
}

impl Store {
    /// Opens the store at a folder, which may not be there yet. What cannot be used is told by [`Store::news`] once there is
    /// something to keep.
    pub fn open(config: StoreConfig) -> Self {
        let disk = Arc::new(RealDisk { free_space: config.free_space });
        Self::on(disk, config)
    }

    fn on(disk: Arc<dyn Disk>, config: StoreConfig) -> Self {
        let shared = Arc::new(Shared {
            folder: config.folder,
            disk,
            limits: Mutex::new(config.limits),
            queued_blocks: AtomicUsize::new(0),
            dropped_blocks: AtomicU64::new(0),
            used_bytes: AtomicU64::new(0),
            durable_bytes_min: config.durable_bytes_min,
            trouble: Mutex::new(None),
            news: broadcast::channel(NEWS_MAX).0,
        });
        let (jobs, to_do) = mpsc::sync_channel(config.queue_blocks_max.max(QUEUE_BLOCKS_MAX as usize) + OTHER_JOBS_MAX);
        let (verifier, to_verify) = mpsc::sync_channel(VERIFICATIONS_MAX);
        let thread = WriterThread::new(shared.clone(), Writer::fresh(), verifier);
        shared.start("weightless-store", move || thread.run(&to_do));
        let (compares, jobs) = (shared.clone(), Arc::new(jobs));
        // Weak: the writer ends when nobody can ask it any more, and then the verifier does.
        let verdicts = Arc::downgrade(&jobs);
        shared.start("weightless-verify", move || verify_all(&compares, &to_verify, &verdicts));
        let queue_blocks_max = AtomicUsize::new(config.queue_blocks_max);
        let store = Store { shared, jobs, queue_blocks_max, used: Mutex::default() };
        store.ask(Job::Trim);
        store
    }

    /// What goes wrong, each cause once until it is over.
    pub fn news(&self) -> broadcast::Receiver<Error> {
        self.shared.news.subscribe()
    }

    /// The store, as of now.
    pub fn stats(&self) -> StoreStats {
        StoreStats {
            folder: self.shared.folder.clone(),
            used_bytes: self.shared.used_bytes.load(Relaxed),
            limits: self.shared.limits(),
            dropped_blocks: self.shared.dropped_blocks.load(Relaxed),
            trouble: self.shared.trouble().clone(),
        }
    }

    /// Changes how much it may take; what is too much goes at once.
    pub fn set_limits(&self, limits: StoreLimits) {
        *self.shared.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
        self.ask(Job::Trim);
    }

    /// Changes how many blocks may wait to be written; they are memory.
    pub fn set_queue(&self, blocks: usize) {
        self.queue_blocks_max.store(blocks, Relaxed);
    }

    /// Frees what was first read in `repo`, or everything; what was not used for longest comes first. With `dry_run` it only
    /// says what that would be. Waits for the disk.
    pub fn free(&self, repo: Option<&str>, dry_run: bool) -> Vec<Freed> {
        let (reply, answer) = mpsc::sync_channel(1);
        let _ = self.jobs.send(Job::Free { repo: repo.map(str::to_owned), dry_run, reply });
        answer.recv().unwrap_or_default()
    }

    /// Waits until what came so far is written, not longer than `patience`; says whether it is.
    pub fn flush(&self, patience: Duration) -> bool {
        let (reply, answer) = mpsc::sync_channel(1);
        self.jobs.try_send(Job::Flush(reply)).is_ok() && answer.recv_timeout(patience).is_ok()
    }

    /// Bytes that wait to be written.
    pub fn queued_bytes(&self) -> u64 {
        self.shared.queued_blocks.load(Relaxed) as u64 * BLOCK_BYTES
    }

    /// Whether anything is kept at all.
    fn is_on(&self) -> bool {
        self.shared.limits().max_bytes > 0
    }

    /// Gives a block to be kept. Never waits: where too many wait, this one is not kept.
    fn offer(&self, blob: &Blob, label: Arc<str>, block: u32, content: Bytes) {
        if !self.is_on() {
            return;
        }
        let queued = self.shared.queued_blocks.fetch_add(1, Relaxed);
        let job = Job::Keep { blob: *blob, label, block, content };
        if queued >= self.queue_blocks_max.load(Relaxed) || self.jobs.try_send(job).is_err() {
            self.shared.queued_blocks.fetch_sub(1, Relaxed);
            self.shared.dropped_blocks.fetch_add(1, Relaxed);
        }
    }

    /// The cells that hold some of `blocks`. Waits for the disk.
    fn cells(&self, blob: &Blob, blocks: &Range<u32>) -> Vec<(u32, Cell)> {
        if !self.is_on() || blocks.is_empty() {
            return Vec::new();
        }
        let mut cells = Vec::new();
        for number in blocks.start / CELL_BLOCKS..=(blocks.end - 1) / CELL_BLOCKS {
            match Cell::open(&*self.shared.disk, &self.shared.folder, blob, number) {
                Ok(Found::Cell(cell)) => {
                    cell.touch();
                    cells.push((number, cell));
                }
                Ok(Found::Nothing) => {}
                Ok(Found::Alien) => self.ask(Job::Forget { blob: *blob, block: number * CELL_BLOCKS }),
                Err(error) => tracing::debug!(%error, "a cell cannot be read"),
            }
        }
        if !cells.is_empty() && self.is_first_use(blob.key) {
            self.ask(Job::Used(*blob));
        }
        cells
    }

    /// A block is not what was written.
    fn forget(&self, blob: &Blob, block: u32) {
        self.ask(Job::Forget { blob: *blob, block });
    }

    fn is_first_use(&self, key: BlobKey) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= USED_MAX {
            used.clear();
        }
        used.insert(key)
    }

    /// Asks for what may be left out when much is to be done.
    fn ask(&self, job: Job) {
        let _ = self.jobs.try_send(job);
    }
}

impl Shared {
    fn limits(&self) -> StoreLimits {
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self) -> MutexGuard<'_, Option<Error>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing can be kept; told once.
    fn tell(&self, error: Error) {
        let before = self.trouble().replace(error.clone());
        if before.is_none_or(|before| before.kind() != error.kind()) {
            tracing::warn!(?error, "nothing is kept in the local store for now");
            let _ = self.news.send(error);
        }
    }

    fn well_again(&self) {
        if self.trouble().take().is_some() {
            tracing::info!("the local store keeps what is read again");
        }
    }

    fn start(self: &Arc<Self>, name: &str, work: impl FnOnce() + Send + 'static) {
        if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(work) {
            self.tell(
                Error::new(ErrorKind::StoreUnusable, self.folder.display().to_string()).because(error.to_string()),
            );
        }
    }
}

/// Compares what became whole, one after another; ends with the store.
fn verify_all(shared: &Shared, to_verify: &Receiver<Blob>, jobs: &Weak<SyncSender<Job>>) {
    while let Ok(blob) = to_verify.recv() {
        let durable = blob.size >= shared.durable_bytes_min;
        match verify::verify(&*shared.disk, &shared.folder, &blob, durable) {
            Ok(verdict) => {
                tracing::debug!(key = blob.key.hex(), ?verdict, "compared a whole content");
                let Some(jobs) = jobs.upgrade() else { return };
                let _ = jobs.send(Job::Compared { blob, verdict });
            }
            Err(error) => tracing::debug!(%error, "a whole content could not be compared"),
        }
    }
}
