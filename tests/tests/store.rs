//! What was read once is at hand: after a remount, in another process, from the Hugging Face cache; within its cap, on a disk
//! that is full.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use weightless_core::engine::EngineConfig;
use weightless_core::reader::ReaderConfig;
use weightless_core::store::{HubCache, StoreConfig, StoreLimits};
use weightless_hub_sim::{Content, RepoDef, Storage};
use weightless_platform::room;
use weightless_tests::mounted::{Mounted, REPO};

const MIB: u64 = 1 << 20;
/// Holds whatever these tests read, so that none of it is left out because a busy machine writes slowly.
const QUEUE_BLOCKS: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(120);

/// An engine with a store in this folder.
fn keeping(folder: &Path, max_bytes: u64) -> EngineConfig {
    let store = StoreConfig {
        folder: folder.to_owned(),
        limits: StoreLimits { max_bytes, keep_free_bytes: 0 },
        queue_blocks_max: QUEUE_BLOCKS,
        durable_bytes_min: 16 * MIB,
        free_space: room::free_bytes,
    };
    EngineConfig { store: Some(store), ..EngineConfig::without_local(ReaderConfig::default()) }
}

/// Requests for content and their bytes while `read` runs.
fn cost(mounted: &Mounted, read: impl FnOnce(&Path)) -> (u64, u64) {
    let counters = mounted.hub.network().counters();
    counters.reset();
    read(&mounted.at);
    let seen = counters.snapshot();
    (seen.data_requests(), seen.data_bytes())
}

fn flush(mounted: &Mounted) {
    let store = mounted.engine.store().expect("a store");
    assert!(store.flush(PATIENCE));
    assert_eq!(store.stats().dropped_blocks, 0);
}

/// What lies in a folder, as `du` counts it.
fn du(folder: &Path) -> u64 {
    let Ok(listed) = fs::read_dir(folder) else { return 0 };
    let mut bytes = fs::symlink_metadata(folder).map_or(0, |meta| meta.blocks() * 512);
    for entry in listed.flatten() {
        // What goes while it is looked at takes no room any more.
        bytes += match entry.file_type() {
            Ok(kind) if kind.is_dir() => du(&entry.path()),
            _ => fs::symlink_metadata(entry.path()).map_or(0, |meta| meta.blocks() * 512),
        };
    }
    bytes
}

#[test]
fn what_was_read_costs_nothing_after_a_remount_and_in_another_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("xet", Content::random(1, 60 * MIB + 5), Storage::Xet),
        ("scattered", Content::scattered(2, 9 * MIB, 3), Storage::Xet),
        ("lfs", Content::random(3, 21 * MIB), Storage::Lfs),
        ("small", Content::random(4, 777), Storage::Git),
    ];
    let mut repo = RepoDef::model(REPO);
    for (name, content, storage) in &files {
        repo = repo.file_as(*name, content.clone(), *storage);
    }
    let check = |at: &Path| {
        for (name, content, _) in &files {
            assert!(fs::read(at.join(name)).expect("it reads") == content.to_bytes().expect("the content"), "{name}");
        }
    };
    let mut mounted = Mounted::with(repo, keeping(folder.path(), 1 << 40));
    let (requests, bytes) = cost(&mounted, check);
    assert!(requests > 0 && bytes > 90 * MIB);
    flush(&mounted);
    mounted.again(keeping(folder.path(), 1 << 40));
    // What comes faster than a busy disk takes it is not kept; it is the next time.
    let (_, left_out) = cost(&mounted, check);
    assert!(left_out <= 8 * MIB, "{left_out} bytes were not kept");
    flush(&mounted);
    mounted.again(keeping(folder.path(), 1 << 40));
    assert_eq!(cost(&mounted, check), (0, 0), "after a remount");
    let local = mounted.engine.local();
    assert!(local.store_bytes >= 90 * MIB && local.hub_cache_bytes == 0);
    assert_eq!(mounted.engine.stats().expect("the plan is whole").wire_bytes, 0);
    // Another process reads while the first still has the store open: a second engine of the same Hub.
    let _first = Mounted::with(RepoDef::model(REPO).file("a", "a"), keeping(folder.path(), 1 << 40));
    mounted.again(keeping(folder.path(), 1 << 40));
    assert_eq!(cost(&mounted, check), (0, 0), "beside another engine");
}

#[test]
fn overlapping_ranges_that_were_read_cost_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    // The first two ranges are all of it, so that nothing is left to be read ahead of the third.
    let content = Content::random(7, 100 * MIB);
    let bytes = content.to_bytes().expect("the content");
    let repo = RepoDef::model(REPO).file_as("w", content, Storage::Xet);
    let mut mounted = Mounted::with(repo, keeping(folder.path(), 1 << 40));
    let mut costs = Vec::new();
    for range in [0..50, 40..100, 20..80] {
        costs.push(cost(&mounted, |at| {
            let file = File::open(at.join("w")).expect("it opens");
            for at in range.map(|mib| mib * MIB) {
                let mut data = vec![0; MIB as usize];
                file.read_exact_at(&mut data, at).expect("it reads");
                assert!(data == bytes[at as usize..][..MIB as usize]);
            }
        }));
        flush(&mounted);
        // So that the kernel's own cache answers nothing of the next.
        mounted.again(keeping(folder.path(), 1 << 40));
    }
    println!("requests and bytes: {costs:?}");
    assert_eq!(costs[2], (0, 0));
}

#[test]
fn the_store_stays_within_its_cap_and_every_byte_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let cap = 64 * MIB;
    let content = Content::random(11, 300 * MIB);
    let mounted =
        Mounted::with(RepoDef::model(REPO).file_as("w", content.clone(), Storage::Xet), keeping(folder.path(), cap));
    let file = File::open(mounted.at.join("w")).expect("it opens");
    let mut data = vec![0; 4 * MIB as usize];
    // The folders that hold the cells are no cells.
    let most = cap + 256 * 1024 + MIB;
    for at in (0..300 * MIB).step_by(data.len()) {
        file.read_exact_at(&mut data, at).expect("it reads");
        assert!(data == content.read(at, data.len()).expect("the content")[..], "at {at}");
        let used = du(folder.path());
        assert!(used <= most, "{used} bytes of {cap}");
    }
    assert!(mounted.engine.store().expect("a store").flush(PATIENCE));
    let used = du(folder.path());
    assert!((cap / 2..=most).contains(&used), "{used} bytes of {cap}");
}

#[test]
fn on_a_full_disk_all_reads_are_right() {
    if fs::metadata("/proc/self").expect("our process").uid() != 0 {
        return println!("skipped: only root mounts a tmpfs");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tmpfs = Tmpfs::new(folder.path(), "64m");
    let content = Content::random(12, 150 * MIB);
    let expected = content.to_bytes().expect("the content");
    let mut mounted =
        Mounted::with(RepoDef::model(REPO).file_as("w", content, Storage::Xet), keeping(folder.path(), 1 << 40));
    for _ in 0..2 {
        assert!(fs::read(mounted.at.join("w")).expect("it reads") == expected);
        assert!(mounted.engine.store().expect("a store").flush(PATIENCE));
        mounted.again(keeping(folder.path(), 1 << 40));
    }
    // The same where somebody else has filled the disk.
    fs::remove_dir_all(folder.path().join("blocks")).expect("the store goes");
    let _ = fs::write(folder.path().join("theirs"), vec![1; 70 * MIB as usize]);
    mounted.again(keeping(folder.path(), 1 << 40));
    let mut news = mounted.engine.store().expect("a store").news();
    assert!(fs::read(mounted.at.join("w")).expect("it reads") == expected);
    assert!(mounted.engine.store().expect("a store").flush(PATIENCE));
    assert_eq!(news.try_recv().expect("somebody is told").kind(), weightless_core::ErrorKind::DiskFull);
    assert!(news.try_recv().is_err(), "once");
    drop(mounted);
    drop(tmpfs);
}

/// A small disk.
struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    fn new(at: &'a Path, size: &str) -> Self {
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).status();
        assert!(done.expect("mount runs").success());
        Tmpfs(at)
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// Downloads the repo as everybody does.
const DOWNLOAD: &str = "import sys; from huggingface_hub import snapshot_download; snapshot_download(sys.argv[1])";

#[test]
fn what_huggingface_hub_has_downloaded_costs_no_content_request() {
    let python = std::env::var_os("WEIGHTLESS_PYTHON").expect(
        "WEIGHTLESS_PYTHON names a Python with huggingface_hub: run the tests through ./dev test, which installs one",
    );
    let home = tempfile::tempdir().expect("a folder");
    let files = [
        ("model.bin", Content::random(1, 30 * MIB + 5), Storage::Xet),
        ("deep/er/lfs.bin", Content::random(2, 3 * MIB), Storage::Lfs),
        ("config.json", Content::text("{}"), Storage::Git),
    ];
    let mut repo = RepoDef::model(REPO);
    for (name, content, storage) in &files {
        repo = repo.file_as(*name, content.clone(), *storage);
    }
    let mut mounted = Mounted::with(repo, EngineConfig::without_local(ReaderConfig::default()));
    let status = Command::new(python)
        .args(["-c", DOWNLOAD, REPO])
        .env("HF_ENDPOINT", mounted.hub.endpoint())
        .env("HF_HOME", home.path())
        .env("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        .env("HF_HUB_DISABLE_TELEMETRY", "1")
        .env_remove("HF_HUB_CACHE")
        .env_remove("HF_TOKEN")
        .status();
    assert!(status.expect("python starts").success());
    let home = home.path().to_str().expect("UTF-8").to_owned();
    let cache = HubCache::find(&|name| (name == "HF_HOME").then(|| home.clone()));
    mounted.again(EngineConfig { hub_cache: cache, ..EngineConfig::without_local(ReaderConfig::default()) });
    let spent = cost(&mounted, |at| {
        for (name, content, _) in &files {
            assert!(fs::read(at.join(name)).expect("it reads") == content.to_bytes().expect("the content"), "{name}");
        }
    });
    assert_eq!(spent, (0, 0));
    assert!(mounted.engine.local().hub_cache_bytes >= 33 * MIB);
}
