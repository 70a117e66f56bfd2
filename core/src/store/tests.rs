//! The store on a disk that fails, and on the real one; the fetcher before a network that counts.

mod faulty;
mod fetching;

use self::faulty::{Dice, FaultyDisk};
use super::cell::CellId;
use super::exclusive::Exclusive;
use super::key::ContentHash;
use super::verify::Verdict;
use super::*;
use sha2::Digest;
use std::io;
use std::path::Path;

const BLOCK: usize = BLOCK_BYTES as usize;
const HUB: &str = "https://hub.test";
const ROOMY: StoreLimits = StoreLimits { max_bytes: 1 << 40, keep_free_bytes: 0 };

/// A content and its bytes.
#[derive(Clone)]
struct Known {
    blob: Blob,
    bytes: Vec<u8>,
}

impl Known {
    fn new(seed: u64, size: usize) -> Self {
        let mut dice = Dice(seed);
        let mut bytes = Vec::with_capacity(size + 8);
        while bytes.len() < size {
            bytes.extend(dice.roll(u64::MAX).to_le_bytes());
        }
        bytes.truncate(size);
        let hash = ContentHash::Sha256(sha2::Sha256::digest(&bytes).into());
        Known { blob: Blob::new(HUB, hash, size as u64), bytes }
    }

    fn blocks(&self) -> Range<u32> {
        0..cell::blocks(self.blob.size)
    }

    fn block(&self, block: u32) -> &[u8] {
        let range = cell::bytes(&self.blob, &(block..block + 1));
        &self.bytes[range.start as usize..range.end as usize]
    }

    fn keep(&self, block: u32) -> Job {
        let content = Bytes::copy_from_slice(self.block(block));
        Job::Keep { blob: self.blob, label: "org/name\nfile".into(), block, content }
    }
}

/// The writer without its thread: every step is the test's.
struct Steps {
    disk: Arc<dyn Disk>,
    shared: Arc<Shared>,
    writer: WriterThread,
    to_verify: Receiver<Blob>,
}

impl Steps {
    fn new(disk: Arc<dyn Disk>, folder: &Path, limits: StoreLimits) -> Self {
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            disk: disk.clone(),
            limits: Mutex::new(limits),
            queued_blocks: AtomicUsize::new(0),
            dropped_blocks: AtomicU64::new(0),
            used_bytes: AtomicU64::new(0),
            durable_bytes_min: 0,
            trouble: Mutex::new(None),
            news: broadcast::channel(NEWS_MAX).0,
        });
        let (verifier, to_verify) = mpsc::sync_channel(VERIFICATIONS_MAX);
        let writer = WriterThread::new(shared.clone(), Writer::fresh(), verifier);
        Steps { disk, shared, writer, to_verify }
    }

    fn faulty(disk: &FaultyDisk, limits: StoreLimits) -> Self {
        Steps::new(Arc::new(disk.clone()), Path::new("/s"), limits)
    }

    fn step(&mut self, job: Job) {
        self.writer.batch(vec![job]);
    }

    /// Compares what became whole.
    fn verify(&mut self) -> Vec<(Blob, Verdict)> {
        let mut verdicts = Vec::new();
        while let Ok(blob) = self.to_verify.try_recv() {
            if let Ok(verdict) = verify::verify(&*self.disk, &self.shared.folder, &blob, true) {
                self.step(Job::Compared { blob, verdict });
                verdicts.push((blob, verdict));
            }
        }
        verdicts
    }

    /// What would be served of a block.
    fn served(&self, known: &Known, block: u32) -> Option<Vec<u8>> {
        let Found::Cell(cell) = Cell::open(&*self.disk, &self.shared.folder, &known.blob, block / CELL_BLOCKS).unwrap()
        else {
            return None;
        };
        let (content, good) = cell.has(block).then(|| cell.read(&(block..block + 1)).unwrap())?;
        good[0].then_some(content)
    }

    /// How many blocks are served; none may be wrong.
    #[track_caller]
    fn count_right(&self, known: &Known, what: &str) -> usize {
        let served = known.blocks().filter_map(|block| Some((block, self.served(known, block)?)));
        served.map(|(block, content)| assert!(content == known.block(block), "{what}: wrong bytes served")).count()
    }

    fn is_sealed(&self, known: &Known) -> bool {
        matches!(verify::sealed(&*self.disk, &self.shared.folder, &known.blob), Ok(Some((_, true))))
    }
}

/// One power cut in the middle of writing, and what is found afterwards.
fn crash(seed: u64, contents: &[Known]) {
    let what = format!("seed {seed}");
    let mut dice = Dice(seed);
    let is_tight = dice.roll(3) == 0;
    let limits = if is_tight { StoreLimits { max_bytes: 700 << 10, ..ROOMY } } else { ROOMY };
    let mut disk = FaultyDisk::default();
    let mut reported: Vec<usize> = Vec::new();
    // The second life begins on what the first one left.
    for life in 0..2 {
        disk.cut_after(1 + dice.roll(70));
        let mut steps = Steps::faulty(&disk, limits);
        'life: for _ in 0..4 {
            for _ in 0..12 {
                let known = &contents[dice.roll(contents.len() as u64) as usize];
                steps.step(known.keep(dice.roll(known.blocks().len() as u64) as u32));
                steps.verify();
                if disk.is_dead() {
                    break 'life;
                }
                let sealed = contents.iter().enumerate().filter(|(_, known)| steps.is_sealed(known));
                reported = sealed.map(|(n, _)| n).collect();
            }
        }
        disk = disk.after_crash(&mut dice);
        let steps = Steps::faulty(&disk, limits);
        for (n, known) in contents.iter().enumerate() {
            let right = steps.count_right(known, &what);
            if reported.contains(&n) && !is_tight {
                assert_eq!(right, known.blocks().len(), "{what}, life {life}: a durable block is lost");
                assert!(steps.is_sealed(known), "{what}, life {life}: a seal is lost");
            }
        }
    }
    // What is left is no hindrance.
    let mut steps = Steps::faulty(&disk, ROOMY);
    for known in contents {
        for block in known.blocks() {
            if steps.served(known, block).is_none() {
                steps.step(Job::Forget { blob: known.blob, block });
            }
            steps.step(known.keep(block));
        }
        assert_eq!(steps.count_right(known, &what), known.blocks().len(), "{what}: it cannot be kept again");
    }
    let lock_bytes = 4096;
    assert_eq!(steps.shared.used_bytes.load(Relaxed) + lock_bytes, disk.allocated(), "{what}: the account is wrong");
}

#[test]
fn after_a_power_cut_no_wrong_byte_is_served_and_nothing_durable_is_lost() {
    let contents = [Known::new(1, 700), Known::new(2, 40_000), Known::new(3, BLOCK + 3_000), Known::new(4, 2 * BLOCK)];
    if let Some(seed) = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        return crash(seed, &contents);
    }
    (0..1_500).for_each(|seed| crash(seed, &contents));
}

#[test]
fn what_is_torn_or_alien_is_not_believed_and_makes_way() {
    let known = Known::new(1, 3 * BLOCK);
    let id = CellId { key: known.blob.key, number: 0 };
    let path = id.path(Path::new("/s"));
    // Where a bit flips, and how many blocks are still served.
    for (what, at, expected) in [
        ("magic", 0, 0),
        ("version", 8, 0),
        ("key", 20, 0),
        ("size", 48, 0),
        ("seal of the head", 70, 0),
        ("a checksum", 128 + 33, 2),
        ("the label", 2310, 3),
        ("a block", 4096 + 2 * BLOCK + 77, 2),
        ("nothing that matters", 110, 0),
    ] {
        let disk = FaultyDisk::default();
        let mut steps = Steps::faulty(&disk, ROOMY);
        known.blocks().for_each(|block| steps.step(known.keep(block)));
        assert_eq!(steps.count_right(&known, what), 3);
        disk.corrupt(&path, at);
        assert_eq!(steps.count_right(&known, what), expected, "{what}");
        for block in known.blocks().filter(|block| steps.served(&known, *block).is_none()).collect::<Vec<_>>() {
            steps.step(Job::Forget { blob: known.blob, block });
            steps.step(known.keep(block));
        }
        assert_eq!(steps.count_right(&known, what), 3, "{what}, kept again");
    }
    // Of another size, or another's cell under this name.
    let disk = FaultyDisk::default();
    let mut steps = Steps::faulty(&disk, ROOMY);
    steps.step(known.keep(0));
    let other = Known { blob: Blob { size: known.blob.size + 1, ..known.blob }, bytes: vec![0; 3 * BLOCK + 1] };
    assert_eq!(steps.served(&other, 0), None);
}

#[test]
fn the_cap_holds_at_every_step_and_what_was_used_last_stays() {
    let cap = 8 * BLOCK_BYTES;
    let contents: Vec<_> = (0..12).map(|n| Known::new(n, 2 * BLOCK)).collect();
    let disk = FaultyDisk::default();
    let mut steps = Steps::faulty(&disk, StoreLimits { max_bytes: cap, keep_free_bytes: 0 });
    for known in &contents {
        for block in known.blocks() {
            steps.step(known.keep(block));
            assert!(disk.allocated() <= cap + 4096, "{} bytes", disk.allocated());
        }
        // The first is used again and again.
        Cell::open(&disk, Path::new("/s"), &contents[0].blob, 0)
            .map(|found| match found {
                Found::Cell(cell) => cell.touch(),
                _ => panic!("the first content is gone"),
            })
            .unwrap();
    }
    let there: Vec<_> = contents.iter().map(|known| steps.count_right(known, "")).collect();
    assert_eq!(there, [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2]);
    *steps.shared.limits.lock().unwrap() = StoreLimits { max_bytes: 0, keep_free_bytes: 0 };
    steps.step(Job::Trim);
    assert_eq!(steps.shared.used_bytes.load(Relaxed), 0);
    assert_eq!(disk.files(), [Path::new("/s/store.lock")]);
}

#[test]
fn room_on_the_disk_is_left_for_others() {
    let known = Known::new(1, 12 * BLOCK);
    let others = Known::new(2, 2 * BLOCK);
    let disk = FaultyDisk::default();
    disk.set_capacity(10 * BLOCK_BYTES);
    let keep_free_bytes = 4 * BLOCK_BYTES;
    let mut steps = Steps::faulty(&disk, StoreLimits { max_bytes: 1 << 40, keep_free_bytes });
    others.blocks().for_each(|block| steps.step(others.keep(block)));
    for block in known.blocks() {
        steps.step(known.keep(block));
        assert!(disk.free_bytes(Path::new("/s")).unwrap() >= keep_free_bytes);
    }
    assert_eq!(steps.count_right(&others, ""), 0, "what was used before has left");
    assert!(steps.count_right(&known, "") >= 4);
    let trouble = steps.shared.trouble().clone().expect("somebody is told");
    assert_eq!(trouble.kind(), ErrorKind::DiskFull);
}

#[test]
fn a_disk_that_fails_is_told_of_once_and_tried_again() {
    for (refusal, kind) in [
        (io::ErrorKind::StorageFull, ErrorKind::DiskFull),
        (io::ErrorKind::QuotaExceeded, ErrorKind::DiskFull),
        (io::ErrorKind::ReadOnlyFilesystem, ErrorKind::StoreUnusable),
        (io::ErrorKind::PermissionDenied, ErrorKind::StoreUnusable),
        (io::ErrorKind::Other, ErrorKind::StoreUnusable),
    ] {
        let known = Known::new(1, 4 * BLOCK);
        let disk = FaultyDisk::default();
        let mut steps = Steps::faulty(&disk, ROOMY);
        let mut news = steps.shared.news.subscribe();
        steps.step(known.keep(0));
        disk.refuse(Some(refusal));
        (0..2_000).for_each(|_| steps.step(known.keep(1)));
        assert_eq!(news.try_recv().unwrap().kind(), kind);
        assert!(news.try_recv().is_err(), "once");
        assert_eq!(steps.count_right(&known, "what is there is served"), 1);
        disk.refuse(None);
        (0..5_000).for_each(|_| steps.step(known.keep(1)));
        assert_eq!(steps.count_right(&known, "well again"), 2);
        assert!(steps.shared.trouble().is_none());
    }
}

#[test]
fn a_whole_content_is_compared_with_its_hash() {
    let right = Known::new(1, 2 * BLOCK + 5);
    let wrong = Known { bytes: Known::new(9, 2 * BLOCK + 5).bytes, ..Known::new(2, 2 * BLOCK + 5) };
    let git = {
        let bytes = Known::new(3, 1000).bytes;
        let mut hasher = sha1::Sha1::new_with_prefix(b"blob 1000\0");
        hasher.update(&bytes);
        Known { blob: Blob::new(HUB, ContentHash::GitBlob(hasher.finalize().into()), 1000), bytes }
    };
    let disk = FaultyDisk::default();
    let mut steps = Steps::faulty(&disk, ROOMY);
    let mut news = steps.shared.news.subscribe();
    for known in [&right, &wrong, &git] {
        for block in known.blocks().rev() {
            assert!(steps.verify().is_empty(), "only what is whole is compared");
            steps.step(known.keep(block));
        }
        assert_eq!(steps.verify().len(), 1);
    }
    assert!(steps.is_sealed(&right) && steps.is_sealed(&git));
    assert_eq!(steps.count_right(&right, ""), 3);
    assert_eq!(steps.served(&wrong, 0), None, "it is removed");
    let told = news.try_recv().unwrap();
    assert_eq!((told.kind(), told.subject()), (ErrorKind::ContentMismatch, "org/name/file"));
    // Compared once: a later process finds the seal. A block that comes anew breaks none.
    steps.step(Job::Used(right.blob));
    assert!(steps.verify().is_empty());
    steps.step(Job::Forget { blob: right.blob, block: 1 });
    assert!(!steps.is_sealed(&right));
    steps.step(right.keep(1));
    assert!(steps.verify().is_empty() && steps.is_sealed(&right));
}

#[test]
fn two_processes_share_the_store_and_its_cap() {
    let dir = tempfile::tempdir().unwrap();
    let cap = 8 * BLOCK_BYTES;
    let limits = StoreLimits { max_bytes: cap, keep_free_bytes: 0 };
    let disk = || Arc::new(RealDisk { free_space: |_| Ok(u64::MAX) });
    let mut steps = [Steps::new(disk(), dir.path(), limits), Steps::new(disk(), dir.path(), limits)];
    let contents: Vec<_> = (0..10).map(|n| Known::new(n, 2 * BLOCK)).collect();
    for (n, known) in contents.iter().enumerate() {
        for block in known.blocks() {
            steps[(n + block as usize) % 2].step(known.keep(block));
            let used = Steps::new(disk(), dir.path(), limits);
            let mut used = used;
            used.step(Job::Trim);
            assert!(used.shared.used_bytes.load(Relaxed) <= cap);
        }
        assert_eq!(steps[n % 2].count_right(known, "each sees what the other wrote"), 2);
    }
}

#[test]
fn freeing_takes_what_is_named_and_says_it_first() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path(), ROOMY, 64);
    let (one, two) = (Known::new(1, 3 * BLOCK), Known::new(2, 1000));
    for (known, label) in [(&one, "org/a\nbig"), (&two, "org/b\nsmall")] {
        for block in known.blocks() {
            store.offer(&known.blob, label.into(), block, Bytes::copy_from_slice(known.block(block)));
        }
    }
    assert!(store.flush(Duration::from_secs(60)));
    // The file system's clock may not tell the two apart.
    let names = |freed: &[Freed]| {
        let mut names: Vec<_> = freed.iter().map(|freed| format!("{}/{}", freed.repo, freed.path)).collect();
        names.sort();
        names
    };
    assert_eq!(names(&store.free(None, true)), ["org/a/big", "org/b/small"]);
    assert_eq!(names(&store.free(Some("org/b"), true)), ["org/b/small"]);
    assert!(store.free(Some("org/none"), false).is_empty());
    let used = store.stats().used_bytes;
    let freed = store.free(Some("org/a"), false);
    assert!(freed[0].bytes >= 3 * BLOCK_BYTES);
    assert!(store.flush(Duration::from_secs(60)));
    assert_eq!(store.stats().used_bytes, used - freed[0].bytes);
    assert_eq!(names(&store.free(None, false)), ["org/b/small"]);
    assert!(store.free(None, true).is_empty());
}

#[test]
fn what_comes_faster_than_it_is_written_is_left_out_and_nobody_waits() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path(), ROOMY, 2);
    let known = Known::new(1, 400);
    // The writer waits for the store's lock, which this test holds.
    let lock = Exclusive::enter(&RealDisk { free_space: |_| Ok(u64::MAX) }, dir.path(), Writer::fresh()).unwrap();
    for _ in 0..200 {
        store.offer(&known.blob, "".into(), 0, Bytes::copy_from_slice(&known.bytes));
    }
    assert!(store.stats().dropped_blocks > 0);
    assert!(store.queued_bytes() <= 2 * BLOCK_BYTES);
    drop(lock);
    assert!(store.flush(Duration::from_secs(60)));
    assert_eq!(store.queued_bytes(), 0);
}

/// A store on the real disk.
fn real(folder: &Path, limits: StoreLimits, queue_blocks_max: usize) -> Store {
    let free_space: FreeSpace = |_| Ok(u64::MAX);
    Store::open(StoreConfig { folder: folder.to_owned(), limits, queue_blocks_max, durable_bytes_min: 0, free_space })
}
