//! The driver under paused time with a scripted fetcher.

use super::driver::{Counters, OpenFile};
use super::*;
use crate::hub::View;
use crate::repo::{RepoId, RepoKind};
use crate::transport::{Location, Origin, Sink, Source, XetToken};
use crate::tree::FileMeta;
use crate::{Error, ErrorKind, Result};
use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use weightless_plan::{BLOCK_BYTES, Mode, MountId, Urgency};

/// What one attempt does, in order; after the last step it serves the rest.
#[derive(Clone, Copy, Debug)]
enum Step {
    Serve(u64),
    Hang,
    Fail(ErrorKind),
    Panic,
}

/// Serves a pattern, each attempt by the next script.
#[derive(Default)]
struct Scripted {
    scripts: Mutex<VecDeque<Vec<Step>>>,
    asked: Mutex<Vec<Range<u64>>>,
    /// Of which repos, in turn.
    repos: Mutex<Vec<String>>,
    dropped: Arc<AtomicUsize>,
    buffer_bytes: AtomicU64,
}

fn pattern(offset: u64) -> u8 {
    (offset.wrapping_mul(2_654_435_761) >> 13) as u8
}

fn content(range: Range<u64>) -> Vec<u8> {
    range.map(pattern).collect()
}

/// Counts futures that ended before their time.
struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Fetcher for Scripted {
    fn fetch<'a>(
        &'a self,
        source: &'a Arc<Source>,
        range: Range<u64>,
        _: Urgency,
        sink: &'a Arc<dyn Sink>,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(range.clone());
            self.repos.lock().unwrap().push(source.repo.name.to_string());
            let script = self.scripts.lock().unwrap().pop_front().unwrap_or_default();
            sink.sent();
            let mut at = range.start;
            let serve = |at: u64, end: u64| {
                sink.received((end - at) as usize);
                sink.write(at, &content(at..end));
            };
            for step in script {
                match step {
                    Step::Serve(bytes) => {
                        let end = (at + bytes).min(range.end);
                        serve(at, end);
                        at = end;
                    }
                    Step::Hang => {
                        let _counted = OnDrop(self.dropped.clone());
                        std::future::pending::<()>().await;
                    }
                    Step::Fail(kind) => return Err(Error::new(kind, "scripted")),
                    Step::Panic => panic!("scripted"),
                }
            }
            if at < range.end {
                serve(at, range.end);
            }
            Ok(())
        })
    }

    fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes.load(Ordering::Relaxed)
    }
}

/// A Hub that is not asked: the fetcher is scripted.
#[derive(Debug)]
struct Nowhere(View);

impl Origin for Nowhere {
    fn view(&self) -> View {
        self.0
    }

    fn address(&self) -> &str {
        "https://hub.test"
    }

    fn data_client(&self) -> &reqwest::Client {
        unreachable!("the fetcher is scripted")
    }

    fn xet_token(&self, _: &RepoId, _: &str) -> BoxFuture<'static, Result<XetToken>> {
        unreachable!("the fetcher is scripted")
    }

    fn locate(&self, _: &RepoId, _: &str, _: &str) -> BoxFuture<'static, Result<Location>> {
        unreachable!("the fetcher is scripted")
    }
}

struct World {
    fetcher: Arc<Scripted>,
    reader: Reader,
    origin: Arc<Nowhere>,
}

impl World {
    fn new(scripts: &[&[Step]]) -> Self {
        let fetcher = Arc::new(Scripted::default());
        fetcher.scripts.lock().unwrap().extend(scripts.iter().map(|script| script.to_vec()));
        let reader = Reader::new(ReaderConfig::default(), fetcher.clone(), Handle::current()).expect("default limits");
        World { fetcher, reader, origin: Arc::new(Nowhere(View::fresh())) }
    }

    fn open(&self, size: u64) -> OpenFile {
        self.open_of(self.origin.clone(), "org/name", size)
    }

    fn open_of(&self, origin: Arc<Nowhere>, repo: &str, size: u64) -> OpenFile {
        self.open_in(MountId(0), origin, repo, size)
    }

    /// Files of one size are of one content, whatever their repo.
    fn open_in(&self, mount: MountId, origin: Arc<Nowhere>, repo: &str, size: u64) -> OpenFile {
        let file = FileMeta {
            path: "file.bin".into(),
            size,
            git_oid: "0".repeat(40),
            sha256: Some(format!("{size:064x}")),
            xet_hash: None,
        };
        let repo = RepoId { kind: RepoKind::Model, name: repo.into() };
        let source = Arc::new(Source { origin, repo, commit: "c".into(), file: Arc::new(file) });
        self.reader.open(source, mount, Mode::Cached, Arc::new(Counters::default())).expect("opens")
    }

    fn start(&self, file: OpenFile, offset: u64, len: u32) -> oneshot::Receiver<Result<Vec<u8>>> {
        let (reply, answer) = oneshot::channel();
        let reply = move |data: Result<ReadData>| drop(reply.send(data.map(|data| data.into_bytes().to_vec())));
        self.reader.read(file, offset, len, Box::new(reply));
        answer
    }

    async fn read(&self, file: OpenFile, offset: u64, len: u32) -> Result<Vec<u8>> {
        self.start(file, offset, len).await.expect("every read is answered")
    }
}

const MIB: u64 = 1 << 20;

#[tokio::test(start_paused = true)]
async fn reads_give_the_bytes_and_end_at_the_end() {
    let world = World::new(&[]);
    let size = 3 * BLOCK_BYTES + 17;
    let file = world.open(size);
    for (offset, len) in
        [(0, 1), (0, 131_072), (BLOCK_BYTES - 1, 2), (5, 300_000), (size - 1, 4096), (size, 10), (size + 9, 10)]
    {
        let end = (offset + len).min(size).max(offset.min(size));
        assert_eq!(
            world.read(file, offset, len as u32).await.expect("reads"),
            content(offset.min(size)..end),
            "{offset}+{len}"
        );
    }
    let empty = world.open(0);
    assert_eq!(world.read(empty, 0, 10).await.expect("reads"), b"");
}

#[tokio::test(start_paused = true)]
async fn a_hit_is_answered_inline() {
    let world = World::new(&[]);
    let file = world.open(MIB);
    world.read(file, 0, 4096).await.expect("reads");
    let (told, heard) = mpsc::channel();
    world.reader.read(file, 4096, 4096, Box::new(move |data| told.send(data.expect("reads").len()).expect("heard")));
    assert_eq!(heard.try_recv(), Ok(4096));
}

#[tokio::test(start_paused = true)]
async fn readers_of_one_file_share_what_is_in_flight() {
    let world = World::new(&[]);
    let files: Vec<_> = (0..16).map(|_| world.open(8 * MIB)).collect();
    let answers: Vec<_> = files.iter().map(|file| world.start(*file, MIB, 131_072)).collect();
    for answer in answers {
        assert_eq!(answer.await.expect("answered").expect("reads"), content(MIB..MIB + 131_072));
    }
    let mut asked = world.fetcher.asked.lock().unwrap().clone();
    asked.sort_by_key(|range| range.start);
    assert!(asked.windows(2).all(|pair| pair[0].end <= pair[1].start), "a byte was fetched twice: {asked:?}");
}

#[tokio::test(start_paused = true)]
async fn content_is_shared_among_repos_of_one_account_and_never_with_another() {
    let world = World::new(&[]);
    let (mine, theirs) = (world.origin.clone(), Arc::new(Nowhere(View::fresh())));
    let first = world.open_of(mine.clone(), "org/one", MIB);
    world.read(first, 0, 10).await.expect("reads");
    let asked = || world.fetcher.asked.lock().unwrap().len();
    let before = asked();
    let shared = world.open_of(mine, "org/two", MIB);
    assert_eq!(world.read(shared, 0, 10).await.expect("reads"), content(0..10));
    assert_eq!(asked(), before, "one account's copies of a file share blocks");
    // The other account is refused, while its neighbour's blocks are there.
    world.fetcher.scripts.lock().unwrap().push_back(vec![Step::Fail(ErrorKind::FileRefused)]);
    let refused = world.open_of(theirs, "org/one", MIB);
    assert_eq!(world.read(refused, 0, 10).await.expect_err("fails").kind(), ErrorKind::FileRefused);
    assert_eq!(world.read(first, 0, 10).await.expect("reads"), content(0..10));
}

#[tokio::test(start_paused = true)]
async fn a_content_is_fetched_from_a_repo_that_is_still_open() {
    let world = World::new(&[]);
    let first = world.open_of(world.origin.clone(), "org/one", 200 * MIB);
    let second = world.open_of(world.origin.clone(), "org/two", 200 * MIB);
    world.read(first, 100 * MIB, 10).await.expect("reads");
    world.reader.close(first);
    world.read(second, 50 * MIB, 10).await.expect("reads");
    let mut repos = world.fetcher.repos.lock().unwrap().clone();
    repos.dedup();
    assert_eq!(repos, ["org/one", "org/two"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_fetch_fails_its_reads_only() {
    let world = World::new(&[&[Step::Panic]]);
    let file = world.open(MIB);
    assert_eq!(world.read(file, 0, 10).await.expect_err("fails").kind(), ErrorKind::Internal);
    assert_eq!(world.read(file, 0, 10).await.expect("a later read works"), content(0..10));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_plan_fails_waiting_reads_and_files_stay_open() {
    let world = World::new(&[&[Step::Hang]]);
    let file = world.open(MIB);
    let waiting = world.start(file, 0, 10);
    assert!(world.reader.panic_in_plan().is_err());
    assert_eq!(waiting.await.expect("answered").expect_err("fails").kind(), ErrorKind::Internal);
    assert_eq!(world.read(file, 0, 10).await.expect("a later read works"), content(0..10));
}

#[tokio::test(start_paused = true)]
async fn a_broken_fetch_goes_on_where_it_broke() {
    let world = World::new(&[&[Step::Serve(BLOCK_BYTES + 5), Step::Fail(ErrorKind::Connection)]]);
    let file = world.open(4 * BLOCK_BYTES);
    assert_eq!(world.read(file, 0, 4 * BLOCK_BYTES as u32).await.expect("reads"), content(0..4 * BLOCK_BYTES));
    let asked = world.fetcher.asked.lock().unwrap().clone();
    assert!(asked[1..].iter().all(|range| range.start >= BLOCK_BYTES), "the first block came already: {asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_final_error_keeps_its_kind() {
    let world = World::new(&[&[Step::Fail(ErrorKind::FileRefused)], &[Step::Fail(ErrorKind::FileRefused)]]);
    let file = world.open(4096);
    assert_eq!(world.read(file, 0, 10).await.expect_err("fails").kind(), ErrorKind::FileRefused);
}

#[tokio::test(start_paused = true)]
async fn silence_fails_a_read_within_its_deadline() {
    let hang: &[Step] = &[Step::Hang];
    let world = World::new(&[hang; 12]);
    let file = world.open(4096);
    let began = tokio::time::Instant::now();
    let error = world.read(file, 0, 10).await.expect_err("fails");
    assert!(matches!(error.kind(), ErrorKind::Deadline | ErrorKind::Stalled), "{error:?}");
    assert!(began.elapsed() <= Duration::from_secs(46), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_time_is_over_says_what_it_waited_for() {
    let slow: &[Step] = &[Step::Fail(ErrorKind::RateLimited)];
    let world = World::new(&[slow; 100]);
    let file = world.open(4096);
    let began = tokio::time::Instant::now();
    let error = world.read(file, 0, 10).await.expect_err("fails");
    assert_eq!((error.kind(), began.elapsed().as_secs()), (ErrorKind::RateLimited, 45), "{error:?}");
    assert!(world.fetcher.asked.lock().unwrap().len() <= 10, "nothing is asked before the wait is over");
}

#[tokio::test(start_paused = true)]
async fn a_read_waits_for_a_network_that_changes_and_not_for_one_that_is_gone() {
    let gone: &[Step] = &[Step::Fail(ErrorKind::Offline)];
    let world = World::new(&[gone; 9]);
    let file = world.open(4 * MIB);
    assert_eq!(world.read(file, 0, 10).await.expect("it comes back"), content(0..10));
    world.fetcher.scripts.lock().unwrap().extend(vec![gone.to_vec(); 100]);
    for longest in [32, 2, 2] {
        let began = tokio::time::Instant::now();
        let (size, at) = (5 * MIB + longest, MIB);
        let error = world.read(world.open(size), at, 10).await.expect_err("fails");
        assert_eq!(error.kind(), ErrorKind::Offline);
        assert!(began.elapsed().as_secs() <= longest, "{:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_network_fails_the_kernels_retries_at_once_and_later_reads_try_again() {
    let hang: &[Step] = &[Step::Hang];
    let world = World::new(&[hang; 12]);
    let file = world.open(MIB);
    let first = world.read(file, 0, 131_072).await.expect_err("fails");
    let failed = tokio::time::Instant::now();
    for page in 0..32 {
        let again = world.read(file, page * 4096, 4096).await.expect_err("fails");
        assert_eq!((again.kind(), again.to_string()), (first.kind(), first.to_string()), "page {page}");
    }
    assert_eq!(failed.elapsed(), Duration::ZERO);
    let asked = world.fetcher.asked.lock().unwrap().len();
    // The moment passes, and the network is back.
    world.fetcher.scripts.lock().unwrap().clear();
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(world.read(file, 0, 4096).await.expect("reads"), content(0..4096));
    assert!(world.fetcher.asked.lock().unwrap().len() > asked);
}

#[tokio::test(start_paused = true)]
async fn a_paused_mount_reads_nothing_and_fetches_nothing_until_it_is_resumed() {
    let world = World::new(&[&[Step::Hang]]);
    let (paused, other) = (MountId(0), MountId(1));
    let file = world.open(MIB);
    let waiting = world.start(file, 0, 10);
    tokio::task::yield_now().await;
    world.reader.set_paused(paused, true);
    assert_eq!(waiting.await.expect("answered").expect_err("fails").kind(), ErrorKind::Paused);
    while world.reader.running() > 0 {
        tokio::task::yield_now().await;
    }
    let asked = || world.fetcher.asked.lock().unwrap().len();
    let before = asked();
    let late = world.open(2 * MIB);
    for file in [file, late] {
        assert_eq!(world.read(file, 0, 10).await.expect_err("fails").kind(), ErrorKind::Paused);
    }
    assert_eq!(asked(), before);
    let elsewhere = world.open_in(other, world.origin.clone(), "org/name", 3 * MIB);
    assert_eq!(world.read(elsewhere, 0, 10).await.expect("another mount reads"), content(0..10));
    world.reader.set_paused(paused, false);
    for file in [file, late] {
        assert_eq!(world.read(file, 0, 10).await.expect("reads again"), content(0..10));
    }
    world.reader.set_paused(paused, true);
    world.reader.close(file);
    assert_eq!(world.read(file, 0, 10).await.expect_err("closed").kind(), ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn each_open_file_says_what_went_through_and_what_it_waits_for() {
    let world = World::new(&[&[Step::Serve(BLOCK_BYTES / 2), Step::Hang]]);
    let (one, two) = (world.open(2 * BLOCK_BYTES), world.open(BLOCK_BYTES));
    let waiting = world.start(one, BLOCK_BYTES, 10);
    let stats = |file| {
        let files = world.reader.files(MountId(0)).expect("no panic");
        files.into_iter().find(|stats| stats.file == file).expect("it is open")
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((stats(one).waiting_reads, stats(one).waits_for), (1, Some(WaitsFor::Link)));
    assert_eq!(waiting.await.expect("answered").expect("a second attempt"), content(BLOCK_BYTES..BLOCK_BYTES + 10));
    world.read(one, 0, 20).await.expect("reads");
    assert_eq!((stats(one).delivered_bytes, stats(one).waiting_reads, stats(one).waits_for), (30, 0, None));
    // Half a block that was asked for twice, and both blocks.
    assert_eq!(stats(one).fetched_bytes, BLOCK_BYTES / 2 + 2 * BLOCK_BYTES);
    world.fetcher.scripts.lock().unwrap().push_back(vec![Step::Fail(ErrorKind::Connection)]);
    let waiting = world.start(two, 0, 10);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(stats(two).waits_for, Some(WaitsFor::Retry(Duration::from_millis(150))));
    waiting.await.expect("answered").expect("reads");
    assert!(world.reader.files(MountId(1)).expect("no panic").is_empty());
    assert_eq!(stats(two).path.as_ref(), "file.bin");
}

#[tokio::test(start_paused = true)]
async fn buffers_of_the_transport_are_part_of_the_budget_up_to_a_quarter() {
    let world = World::new(&[]);
    let budget = world.reader.limits().expect("no panic").budget_bytes;
    for (n, (buffers, charged)) in [(5 * MIB, 5 * MIB), (budget, budget / 4), (0, 0)].into_iter().enumerate() {
        world.fetcher.buffer_bytes.store(buffers, Ordering::Relaxed);
        world.read(world.open(MIB + n as u64), 0, 10).await.expect("reads");
        while world.reader.running() > 0 {
            tokio::task::yield_now().await;
        }
        let stats = world.reader.stats().expect("no panic");
        assert_eq!(stats.outside_bytes, charged);
        assert!(stats.charged_bytes <= budget);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_ends_reads_and_cancels_what_nobody_else_wants() {
    let hang: &[Step] = &[Step::Hang];
    let world = World::new(&[hang; 4]);
    let file = world.open(BLOCK_BYTES);
    let waiting = world.start(file, 0, 10);
    tokio::task::yield_now().await;
    world.reader.close(file);
    assert_eq!(waiting.await.expect("answered").expect_err("fails").kind(), ErrorKind::Closed);
    while world.reader.running() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(world.fetcher.dropped.load(Ordering::SeqCst) >= 1);
    assert_eq!(world.reader.block_bytes(), 0);
    assert_eq!(world.read(file, 0, 10).await.expect_err("closed").kind(), ErrorKind::Closed);
}

#[test]
fn shutting_the_runtime_down_with_reads_in_flight_ends_at_once() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let hang: &[Step] = &[Step::Hang];
    let world = runtime.block_on(async { World::new(&[hang; 64]) });
    let files: Vec<_> = (0..16u64).map(|n| world.open(MIB + n)).collect();
    let answers: Vec<_> = files.iter().map(|file| world.start(*file, 0, 10)).collect();
    runtime.shutdown_timeout(Duration::from_secs(1));
    drop(world);
    for answer in answers {
        assert_eq!(answer.blocking_recv().expect("answered").expect_err("fails").kind(), ErrorKind::Closed);
    }
}
