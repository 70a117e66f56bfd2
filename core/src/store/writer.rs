//! The one thread of this process that changes the store: writes blocks, makes room for them, gives up on a disk that fails.
//! Nobody waits for it but who asks to.

use super::cell::{self, Cell, CellId, Found};
use super::disk::Disk;
use super::exclusive::{Exclusive, Writer};
use super::key::{Blob, BlobKey};
use super::ledger::{Kept, Ledger};
use super::verify::{self, Seal, Verdict};
use super::{Freed, Shared, StoreLimits};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender};

/// Jobs done under one lock: 16 MiB, some tens of milliseconds in which another process waits.
const BATCH_JOBS_MAX: usize = 64;
/// What a block may take beside its bytes: a new cell's header, and a block of the file system's own.
const OVERHEAD_BYTES: u64 = cell::HEADER_BYTES + 4096;
/// After a failure so many blocks are left out before the next attempt, then twice as many each time.
const LEFT_OUT_MIN: u64 = 64;
/// At most so many: 4 GiB.
const LEFT_OUT_MAX: u64 = 16 * 1024;

/// What the thread is asked.
pub(super) enum Job {
    /// Keep a block.
    Keep { blob: Blob, label: Arc<str>, block: u32, content: Bytes },
    /// A block that is not what it was.
    Forget { blob: Blob, block: u32 },
    /// A content was read here for the first time: if it is whole and nobody has compared it, that is to be done.
    Used(Blob),
    /// A content was compared.
    Compared { blob: Blob, verdict: Verdict },
    /// The limits have changed, or the store has just been opened.
    Trim,
    /// Free what belongs to a repo, or everything; or only say what that would be.
    Free { repo: Option<String>, dry_run: bool, reply: SyncSender<Vec<Freed>> },
    /// Tell when all that came before is done.
    Flush(SyncSender<()>),
}

pub(super) struct WriterThread {
    shared: Arc<Shared>,
    me: Writer,
    /// `None` until the folder was read, or after another process has written.
    ledger: Option<Ledger>,
    verifier: SyncSender<Blob>,
    /// Blocks to be left out after a failure, and how many it will be after the next.
    left_out: u64,
    left_out_next: u64,
}

impl WriterThread {
    pub(super) fn new(shared: Arc<Shared>, me: Writer, verifier: SyncSender<Blob>) -> Self {
        WriterThread { shared, me, ledger: None, verifier, left_out: 0, left_out_next: LEFT_OUT_MIN }
    }

    /// Works until nobody can ask any more.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut batch = vec![first];
            batch.extend(jobs.try_iter().take(BATCH_JOBS_MAX - 1));
            let kept = batch.iter().filter(|job| matches!(job, Job::Keep { .. })).count();
            let waiting = self.batch(batch);
            self.shared.queued_blocks.fetch_sub(kept, Relaxed);
            for reply in waiting {
                let _ = reply.send(());
            }
        }
    }

    /// Does these jobs; returns who waits for them to be done.
    pub(super) fn batch(&mut self, batch: Vec<Job>) -> Vec<SyncSender<()>> {
        let disk = Arc::clone(&self.shared.disk);
        let mut replies = Vec::new();
        let mut work = Vec::new();
        for job in batch {
            match job {
                Job::Flush(reply) => replies.push(reply),
                Job::Keep { .. } if self.is_left_out() => {}
                job => work.push(job),
            }
        }
        if !work.is_empty() {
            match Exclusive::enter(&*disk, &self.shared.folder, self.me).and_then(|lock| self.enter(lock)) {
                Ok(lock) => {
                    let mut open = None;
                    for job in work {
                        self.job(&*disk, job, &mut open);
                    }
                    drop(lock);
                }
                // A store that was never there and cannot be made is as good as an empty one.
                Err(error) => {
                    let kept = work.iter().filter(|job| matches!(job, Job::Keep { .. })).count();
                    if kept > 0 {
                        self.fail(&error);
                    }
                }
            }
            self.shared.used_bytes.store(self.ledger.as_ref().map_or(0, Ledger::bytes), Relaxed);
        }
        replies
    }

    /// Brings the account up to date.
    fn enter(&mut self, lock: Exclusive) -> io::Result<Exclusive> {
        if self.ledger.is_none() || !lock.is_mine {
            self.ledger = None;
            self.ledger = Some(scan(&*self.shared.disk, &self.shared.folder)?);
        }
        Ok(lock)
    }

    fn job(&mut self, disk: &dyn Disk, job: Job, open: &mut Option<(CellId, Cell)>) {
        match job {
            Job::Keep { blob, label, block, content } => {
                if self.is_left_out() {
                    return;
                }
                match self.keep(disk, &blob, &label, block, &content, open) {
                    Ok(Put::Written) => self.succeeded(),
                    Ok(Put::There) => {}
                    Ok(Put::NoRoom) => self.fail(&io::ErrorKind::StorageFull.into()),
                    Err(error) => {
                        if let Some((id, _)) = open.take() {
                            self.look_again(disk, id);
                        }
                        self.fail(&error);
                    }
                }
            }
            Job::Forget { blob, block } => {
                *open = None;
                self.forget(disk, &blob, block);
            }
            Job::Used(blob) => self.look_whether_whole(disk, &blob),
            Job::Compared { blob, verdict: Verdict::Right(seal) } => {
                *open = None;
                if let Err(error) = self.seal(disk, &blob, seal) {
                    tracing::debug!(%error, "a content that was compared is compared again some day");
                }
            }
            Job::Compared { blob, verdict: Verdict::Wrong } => {
                *open = None;
                self.purge(disk, &blob);
            }
            Job::Compared { verdict: Verdict::Partial, .. } => {}
            Job::Trim => {
                *open = None;
                self.make_room(disk, 0, None);
            }
            Job::Free { repo, dry_run, reply } => {
                *open = None;
                let _ = reply.send(self.free(disk, repo.as_deref(), dry_run));
            }
            Job::Flush(_) => unreachable!("sorted out before"),
        }
    }

    fn keep(
        &mut self,
        disk: &dyn Disk,
        blob: &Blob,
        label: &str,
        block: u32,
        content: &[u8],
        open: &mut Option<(CellId, Cell)>,
    ) -> io::Result<Put> {
        let id = CellId { key: blob.key, number: block / cell::CELL_BLOCKS };
        let store = &self.shared.folder;
        if open.as_ref().is_none_or(|(of, _)| *of != id) {
            *open = None;
            let is_there = matches!(Cell::open(disk, store, blob, id.number)?, Found::Cell(cell) if cell.has(block));
            if is_there {
                return Ok(Put::There);
            }
        }
        if open.as_ref().is_some_and(|(_, cell)| cell.has(block)) {
            return Ok(Put::There);
        }
        if !self.make_room(disk, content.len() as u64 + OVERHEAD_BYTES, Some(id)) {
            return Ok(Put::NoRoom);
        }
        let (_, cell) = match open {
            Some(open) => open,
            None => open.insert((id, Cell::create(disk, &self.shared.folder, blob, id.number, label)?)),
        };
        cell.put(block, content)?;
        let facts = cell.facts()?;
        if let Some(ledger) = &mut self.ledger {
            ledger.set(id, facts.allocated, facts.used);
        }
        if cell.is_full() {
            self.look_whether_whole(disk, blob);
        }
        Ok(Put::Written)
    }

    /// Lets what was not used for longest go until there is room for `bytes` more; the cell that is being written stays.
    /// `false`: there is none.
    fn make_room(&mut self, disk: &dyn Disk, bytes: u64, but: Option<CellId>) -> bool {
        let StoreLimits { max_bytes, keep_free_bytes } = self.shared.limits();
        loop {
            let Some(ledger) = &self.ledger else { return false };
            let is_within = ledger.bytes() + bytes <= max_bytes;
            // Where nobody can say, the cap alone holds.
            let free = disk.free_bytes(&self.shared.folder).unwrap_or(u64::MAX);
            if is_within && free.saturating_sub(bytes) >= keep_free_bytes {
                return true;
            }
            let Some(oldest) = ledger.oldest(but) else { return bytes == 0 };
            let before = ledger.used(oldest);
            // Another process may have used it since.
            match disk.facts(&oldest.path(&self.shared.folder)) {
                Ok(facts) if before.is_some_and(|before| facts.used > before) => {
                    if let Some(ledger) = &mut self.ledger {
                        ledger.set(oldest, facts.allocated, facts.used);
                    }
                }
                _ => {
                    if let Err(error) = self.evict(disk, oldest) {
                        tracing::warn!(%error, "a part of the store cannot be removed");
                        return false;
                    }
                }
            }
        }
    }

    fn evict(&mut self, disk: &dyn Disk, id: CellId) -> io::Result<()> {
        let folder = cell::folder(&self.shared.folder, id.key);
        disk.remove(&id.path(&self.shared.folder))?;
        if let Some(ledger) = &mut self.ledger {
            ledger.remove(id);
            if ledger.of(id.key).is_empty() {
                // Others' files may be in there.
                let _ = disk.remove_folder(&folder);
            }
        }
        Ok(())
    }

    fn forget(&mut self, disk: &dyn Disk, blob: &Blob, block: u32) {
        let id = CellId { key: blob.key, number: block / cell::CELL_BLOCKS };
        let store = self.shared.folder.clone();
        let forgotten = Cell::open(disk, &store, blob, id.number).and_then(|found| match found {
            Found::Cell(_) => Cell::create(disk, &store, blob, id.number, "")?.forget(block),
            Found::Alien => disk.remove(&id.path(&store)),
            Found::Nothing => Ok(()),
        });
        tracing::warn!(
            key = blob.key.hex(),
            block,
            "a block of the store was not what was written; it is fetched again"
        );
        if let Err(error) = forgotten {
            tracing::warn!(%error, "it stays, and is not believed");
        }
        self.look_again(disk, id);
    }

    fn free(&mut self, disk: &dyn Disk, repo: Option<&str>, dry_run: bool) -> Vec<Freed> {
        let kept = self.ledger.as_ref().map(Ledger::kept).unwrap_or_default();
        let mut freed = Vec::new();
        for Kept { key, bytes, cells, .. } in kept {
            let label = label_of(disk, &self.shared.folder, CellId { key, number: cells[0] });
            let (of, path) = label.split_once('\n').unwrap_or_default();
            if repo.is_some_and(|repo| repo != of) {
                continue;
            }
            if !dry_run {
                if let Err(error) = remove_content(disk, &self.shared.folder, key) {
                    tracing::warn!(%error, "a part of the store cannot be removed");
                    continue;
                }
                if let Some(ledger) = &mut self.ledger {
                    cells.iter().for_each(|number| ledger.remove(CellId { key, number: *number }));
                }
            }
            freed.push(Freed { repo: of.to_owned(), path: path.to_owned(), bytes });
        }
        freed
    }

    fn look_whether_whole(&self, disk: &dyn Disk, blob: &Blob) {
        if let Ok(Some((_, false))) = verify::sealed(disk, &self.shared.folder, blob) {
            // Where too many wait, it is compared when the next process uses it.
            let _ = self.verifier.try_send(*blob);
        }
    }

    fn seal(&self, disk: &dyn Disk, blob: &Blob, seal: Seal) -> io::Result<()> {
        let store = &self.shared.folder;
        // Parts of it may have gone meanwhile, and a cell must not be made for the seal's sake.
        if verify::sealed(disk, store, blob)?.is_some_and(|(of, is_there)| of == seal && !is_there) {
            let mut first = Cell::create(disk, store, blob, 0, "")?;
            first.set_seal(seal)?;
            if blob.size >= self.shared.durable_bytes_min {
                first.sync()?;
            }
        }
        Ok(())
    }

    /// What was kept of a file is not what the Hub says.
    fn purge(&mut self, disk: &dyn Disk, blob: &Blob) {
        let store = self.shared.folder.clone();
        let cells = self.ledger.as_ref().map(|ledger| ledger.of(blob.key)).unwrap_or_default();
        let label = cells.first().map(|id| label_of(disk, &store, *id)).unwrap_or_default();
        let removed = remove_content(disk, &store, blob.key);
        cells.iter().for_each(|id| self.look_again(disk, *id));
        tracing::error!(label, ?removed, "what was kept of a file is not what the Hub says");
        let _ = self.shared.news.send(
            Error::new(ErrorKind::ContentMismatch, label.replace('\n', "/"))
                .saying("what came of it is not the file that the Hub names")
                .advise("It was removed from the local store; reading it again fetches it again."),
        );
    }

    /// What a cell takes is not what was thought.
    fn look_again(&mut self, disk: &dyn Disk, id: CellId) {
        let Some(ledger) = &mut self.ledger else { return };
        match disk.facts(&id.path(&self.shared.folder)) {
            Ok(facts) => ledger.set(id, facts.allocated, facts.used),
            Err(_) => ledger.remove(id),
        }
    }

    fn is_left_out(&mut self) -> bool {
        let is_left_out = self.left_out > 0;
        self.left_out = self.left_out.saturating_sub(1);
        is_left_out
    }

    fn fail(&mut self, error: &io::Error) {
        self.left_out = self.left_out_next;
        self.left_out_next = (self.left_out_next * 2).min(LEFT_OUT_MAX);
        self.shared.tell(trouble(&self.shared.folder, error));
    }

    fn succeeded(&mut self) {
        self.left_out_next = LEFT_OUT_MIN;
        self.shared.well_again();
    }
}

/// What became of a block.
enum Put {
    Written,
    There,
    NoRoom,
}

/// What is wrong, in words.
fn trouble(folder: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::DiskFull,
        _ => ErrorKind::StoreUnusable,
    };
    let told = Error::new(kind, folder.display().to_string()).because(error.to_string());
    match kind {
        ErrorKind::DiskFull => told
            .saying("there is no room to keep what was read")
            .advise("Reading goes on from the network. Free some space, or change store_max_gb or store_keep_free_gb."),
        _ => told,
    }
}

/// What a cell says that it is of: repo, line feed, path; empty where that cannot be read.
fn label_of(disk: &dyn Disk, store: &Path, id: CellId) -> String {
    disk.open(&id.path(store)).map(|file| cell::label(&*file)).unwrap_or_default()
}

/// Removes all that is kept of a content; only under the lock.
fn remove_content(disk: &dyn Disk, store: &Path, key: BlobKey) -> io::Result<()> {
    let folder = cell::folder(store, key);
    for name in disk.list(&folder)?.iter().filter(|name| CellId::number(name).is_some()) {
        disk.remove(&folder.join(name))?;
    }
    // Others' files may be in there.
    let _ = disk.remove_folder(&folder);
    Ok(())
}

/// Reads what the folder holds. What is none of ours is left alone and not counted.
fn scan(disk: &dyn Disk, store: &Path) -> io::Result<Ledger> {
    let mut ledger = Ledger::default();
    let blocks = cell::blocks_folder(store);
    for shelf in disk.list(&blocks)? {
        for name in disk.list(&blocks.join(&shelf)).unwrap_or_default() {
            let Some(key) = BlobKey::parse(&name) else { continue };
            for number in disk.list(&cell::folder(store, key))?.iter().filter_map(|name| CellId::number(name)) {
                let id = CellId { key, number };
                if let Ok(facts) = disk.facts(&id.path(store)) {
                    ledger.set(id, facts.allocated, facts.used);
                }
            }
        }
    }
    Ok(ledger)
}
