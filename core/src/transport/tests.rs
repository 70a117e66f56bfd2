//! The transport against a Hub on loopback: what a range costs, and that its bytes are right.

use super::*;
use crate::hub::{Hub, View};
use crate::net::NetConfig;
use crate::repo::{RepoId, RepoKind};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all, try_join_all};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use weightless_hub_sim::net::{Route, expired, flip_byte, rate_limited, reset, serve, stall, status, truncate};
use weightless_hub_sim::{Content, HubSim, RepoDef, Storage};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const REPO: &str = "org/model";

/// The Hub as a transport sees it, for repos that need no token.
#[derive(Debug)]
struct Public(Arc<Hub>);

impl Origin for Public {
    fn view(&self) -> View {
        self.0.view()
    }

    fn address(&self) -> &str {
        self.0.config().base()
    }

    fn data_client(&self) -> &reqwest::Client {
        self.0.data_client()
    }

    fn xet_token(&self, repo: &RepoId, commit: &str) -> BoxFuture<'static, Result<XetToken>> {
        let (hub, repo, commit) = (Arc::clone(&self.0), repo.clone(), commit.to_owned());
        async move {
            let token = hub.xet_read_token(&repo, &commit).await?;
            Ok(XetToken { cas_url: token.cas_url, bearer: token.token.bearer(), valid_for: Duration::from_secs(900) })
        }
        .boxed()
    }

    fn locate(&self, repo: &RepoId, commit: &str, path: &str) -> BoxFuture<'static, Result<Location>> {
        let (hub, repo, commit, path) = (Arc::clone(&self.0), repo.clone(), commit.to_owned(), path.to_owned());
        async move { Ok(Location { url: hub.resolve(&repo, &commit, &path).await?.location, bearer: None }) }.boxed()
    }
}

/// What a fetch wrote, and whether any byte came twice.
struct Collected {
    range: Range<u64>,
    bytes: Mutex<Vec<Option<u8>>>,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Sink for Collected {
    fn sent(&self) {
        self.sent.fetch_add(1, Relaxed);
    }

    fn received(&self, wire_bytes: usize) {
        self.received.fetch_add(wire_bytes as u64, Relaxed);
    }

    fn write(&self, offset: u64, content: &[u8]) {
        assert!(self.range.start <= offset && offset + content.len() as u64 <= self.range.end, "a byte not asked for");
        let at = (offset - self.range.start) as usize;
        for (slot, byte) in self.bytes.lock().unwrap()[at..].iter_mut().zip(content) {
            assert_eq!(slot.replace(*byte), None, "a byte written twice");
        }
    }

    fn write_local(&self, _: Local, _: u64, _: &[u8]) {
        unreachable!("the transport knows no other place than the network")
    }
}

/// A repo with the files given, and a transport that reads it.
struct World {
    sim: HubSim,
    transport: Transport,
    files: Vec<(Content, Arc<Source>)>,
}

impl World {
    /// One in which Xet has answered before.
    async fn new(files: &[(Content, Storage)]) -> World {
        let world = Self::cold(files).await;
        let source = &world.files[0].1;
        world.transport.0.chooser(source, source.origin.view(), |chooser| chooser.greeted(true, Instant::now()));
        world
    }

    async fn cold(files: &[(Content, Storage)]) -> World {
        let mut def = RepoDef::model(REPO);
        for (index, (content, storage)) in files.iter().enumerate() {
            def = def.file_as(format!("file {index}"), content.clone(), *storage);
        }
        let sim = HubSim::builder().repo(def).start().await.unwrap();
        let config = NetConfig::new(Some(sim.endpoint()), &|_| None).unwrap();
        let hub = Arc::new(Hub::new(config, None).unwrap());
        let transport = Transport::new(None);
        let origin = Arc::new(Public(hub));
        let commit: Arc<str> = sim.commit_sha(weightless_hub_sim::RepoKind::Model, REPO, "main").unwrap().into();
        let source = |index: usize| {
            let path = format!("file {index}");
            let facts = sim.file(weightless_hub_sim::RepoKind::Model, REPO, "main", &path).unwrap();
            Arc::new(Source {
                origin: origin.clone(),
                repo: RepoId { kind: RepoKind::Model, name: REPO.into() },
                commit: Arc::clone(&commit),
                file: Arc::new(FileMeta {
                    path: path.into(),
                    size: facts.size,
                    git_oid: facts.oid,
                    sha256: facts.sha256,
                    xet_hash: facts.xet_hash,
                }),
            })
        };
        let files = files.iter().enumerate().map(|(index, (content, _))| (content.clone(), source(index))).collect();
        World { sim, transport, files }
    }

    /// Fetches a range of a file and compares it.
    async fn fetch(&self, file: usize, range: Range<u64>) -> Result<()> {
        let (content, source) = &self.files[file];
        let len = (range.end - range.start) as usize;
        let sink = Arc::new(Collected {
            range: range.clone(),
            bytes: Mutex::new(vec![None; len]),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        });
        let seen: Arc<dyn Sink> = sink.clone();
        self.transport.fetch(source, range.clone(), Urgency::Ahead, &seen).await?;
        let got: Option<Vec<u8>> = sink.bytes.lock().unwrap().iter().copied().collect();
        assert!(got.expect("a byte is missing") == content.read(range.start, len).unwrap(), "{range:?} of {file}");
        assert!(sink.sent.load(Relaxed) > 0 && sink.received.load(Relaxed) > 0);
        Ok(())
    }

    /// What `work` cost.
    async fn cost<T>(&self, work: impl Future<Output = T>) -> (T, Statistics) {
        let before = self.transport.statistics();
        let done = work.await;
        let after = self.transport.statistics();
        let less = |a: Traffic, b: Traffic| Traffic {
            requests: a.requests - b.requests,
            wire_bytes: a.wire_bytes - b.wire_bytes,
        };
        let cost = Statistics {
            tokens: less(after.tokens, before.tokens),
            resolves: less(after.resolves, before.resolves),
            reconstructions: less(after.reconstructions, before.reconstructions),
            xorbs: less(after.xorbs, before.xorbs),
            plain: less(after.plain, before.plain),
        };
        (done, cost)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_range_of_any_file_arrives_whole_and_once() {
    let world = World::new(&[
        (Content::random(1, 40 * MIB + 12345), Storage::Xet),
        (Content::compressible(2, 9 * MIB), Storage::Xet),
        (Content::scattered(3, 12 * MIB, 5), Storage::Xet),
        (Content::repeating(4, 20 * MIB), Storage::Xet),
        (Content::zeros(3 * MIB), Storage::Xet),
        (Content::random(5, 1), Storage::Xet),
        (Content::random(6, 10 * MIB), Storage::Lfs),
        (Content::random(7, 3000), Storage::Git),
    ])
    .await;
    for file in 0..world.files.len() {
        let size = world.files[file].1.file.size;
        let mut rng = decode::tests::Rng(file as u64 + 99);
        let mut ranges = vec![0..size, 0..1, size - 1..size];
        for _ in 0..6 {
            let start = rng.below(size);
            ranges.push(start..start + 1 + rng.below((size - start).min(5 * MIB)));
            ranges.push(start..start + 1 + rng.below((size - start).min(300 * KIB)));
        }
        try_join_all(ranges.into_iter().map(|range| world.fetch(file, range))).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_of_4_mib_costs_two_data_requests_or_one_a_xorb() {
    let xorbs = 6;
    let world = World::new(&[
        (Content::random(1, 150 * MIB), Storage::Xet),
        (Content::scattered(2, 24 * MIB, xorbs), Storage::Xet),
    ])
    .await;
    for (file, start) in [(0, 70 * MIB + 77), (0, 62 * MIB + 1), (1, 10 * MIB + 5)] {
        // Blocks of 256 KiB, as the plan asks.
        let range = start / (256 * KIB) * 256 * KIB..(start + 4 * MIB).next_multiple_of(256 * KIB);
        let (done, cost) = world.cost(world.fetch(file, range)).await;
        done.unwrap();
        let requests_max = if file == 0 { 2 } else { u64::from(xorbs) };
        assert!(cost.xorbs.requests <= requests_max, "{cost:?}");
        if file == 0 {
            assert!(cost.xorbs.wire_bytes <= 46 * MIB / 10, "{cost:?}");
        }
        assert_eq!((cost.reconstructions.requests, cost.plain.requests), (1, 0), "{cost:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_is_not_asked_again() {
    let world = World::new(&[(Content::random(1, 40 * MIB), Storage::Xet)]).await;
    let (_, cost) = world.cost(join_all((0..8).map(|_| world.fetch(0, 0..4 * MIB)))).await;
    assert_eq!((cost.tokens.requests, cost.reconstructions.requests), (1, 1), "many at once share the questions");
    let (_, cost) = world.cost(world.fetch(0, 0..4 * MIB)).await;
    assert_eq!((cost.tokens.requests, cost.reconstructions.requests, cost.xorbs.requests), (0, 0, 1));
    // One whole cell by lanes; border chunks come twice.
    let (_, cost) = world.cost(world.fetch(0, 0..32 * MIB)).await;
    assert!(cost.xorbs.wire_bytes <= 32 * MIB * 103 / 100, "{cost:?}");
    let (_, again) = world.cost(world.fetch(0, 0..32 * MIB)).await;
    assert_eq!((again.reconstructions.requests, again.xorbs.requests), (0, cost.xorbs.requests));
    let (_, cost) = world.cost(world.fetch(0, 20 * MIB..20 * MIB + 256 * KIB)).await;
    assert!(cost.xorbs.wire_bytes + cost.plain.wire_bytes <= 400 * KIB, "{cost:?}");
}

/// Lets what was spawned run until `done`, or fails after a bound.
async fn until(mut done: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if done() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it did not happen");
}

/// From nothing, the plain way is three round trips (a redirect, a connection, the bytes) and Xet five.
#[tokio::test]
async fn the_first_bytes_of_a_repo_come_the_plain_way_while_xet_is_greeted() {
    let world = World::cold(&[(Content::random(1, 80 * MIB), Storage::Xet)]).await;
    let (done, cost) = world.cost(try_join_all((0..4).map(|n| world.fetch(0, n * 8 * MIB..(n + 1) * 8 * MIB)))).await;
    done.unwrap();
    assert_eq!((cost.resolves.requests, cost.plain.wire_bytes, cost.xorbs.requests), (1, 32 * MIB, 0), "{cost:?}");
    until(|| world.transport.statistics().reconstructions.wire_bytes > 0).await;
    assert_eq!((world.transport.statistics().reconstructions.requests, cost.tokens.requests), (1, 1), "greeted once");
    until(|| {
        let chosen = world.transport.0.chooser(&world.files[0].1, world.files[0].1.origin.view(), |chooser| {
            chooser.clone().choose(Want::Bulk, Instant::now())
        });
        chosen == Choice::Take(Way::Xet)
    })
    .await;
    let (done, cost) = world.cost(world.fetch(0, 32 * MIB..40 * MIB)).await;
    done.unwrap();
    assert_eq!((cost.tokens.requests, cost.plain.requests), (0, 0), "{cost:?}");
    assert!(cost.xorbs.wire_bytes >= 8 * MIB, "{cost:?}");
}

#[tokio::test]
async fn a_repo_whose_plain_data_is_refused_begins_by_xet() {
    let world = World::cold(&[(Content::random(1, 8 * MIB), Storage::Xet)]).await;
    world.sim.network().script().on(Route::PlainData).always().run([status(403)]);
    assert_eq!(world.fetch(0, 0..4 * MIB).await.unwrap_err().kind(), ErrorKind::Connection, "worth another attempt");
    let (done, cost) = world.cost(world.fetch(0, 0..4 * MIB)).await;
    done.unwrap();
    assert_eq!(cost.plain.requests, 0, "{cost:?}");
}

#[tokio::test]
async fn what_expires_is_renewed_once() {
    let hour = Duration::from_secs(3600);
    let world =
        World::new(&[(Content::random(1, 20 * MIB), Storage::Xet), (Content::random(2, 3 * MIB), Storage::Lfs)]).await;
    let range = 0..2 * MIB;
    // Links that have expired when they are used, then good ones.
    world.sim.set_signed_url_lifetime(Duration::ZERO);
    let (_, source) = &world.files[0];
    let file = xet_file(source).unwrap().unwrap();
    world.transport.0.xet.greet(source, &file, range.clone()).await.unwrap();
    world.sim.set_signed_url_lifetime(hour);
    let (done, cost) = world.cost(world.fetch(0, range.clone())).await;
    done.unwrap();
    assert_eq!((cost.reconstructions.requests, cost.xorbs.requests), (1, 2), "{cost:?}");

    // Links that never work: the file is refused after one renewal.
    world.sim.set_signed_url_lifetime(Duration::ZERO);
    use ErrorKind::{Connection, FileRefused};
    for (file, expected) in [(1, &[FileRefused][..]), (0, &[Connection, Connection, FileRefused])] {
        for expected in expected {
            let (failed, cost) = world.cost(world.fetch(file, 0..3 * MIB)).await;
            assert_eq!(failed.unwrap_err().kind(), *expected, "{cost:?}");
        }
    }

    // A plain location that expired, then a good one.
    world.sim.set_signed_url_lifetime(hour);
    let (done, cost) = world.cost(world.fetch(1, 0..MIB)).await;
    done.unwrap();
    assert_eq!((cost.resolves.requests, cost.plain.requests), (1, 1), "{cost:?}");

    // Tokens the service takes for expired: one more is asked, no third. It is no fault of the account's, and not of the other way.
    let world = World::new(&[(Content::random(1, MIB), Storage::Xet)]).await;
    world.sim.set_xet_token_lifetime(Duration::ZERO);
    for _ in 0..2 {
        let (failed, cost) = world.cost(world.fetch(0, 0..MIB)).await;
        assert_eq!(failed.unwrap_err().kind(), Connection);
        assert_eq!((cost.tokens.requests, cost.reconstructions.requests), (2, 2), "{cost:?}");
    }
    let (done, cost) = world.cost(world.fetch(0, 0..MIB)).await;
    done.unwrap();
    assert_eq!((cost.tokens.requests, cost.plain.requests), (0, 1), "{cost:?}");
    world.sim.set_xet_token_lifetime(hour);
    world.fetch(0, 0..MIB).await.unwrap();
}

#[tokio::test]
async fn small_reads_go_the_way_that_needs_fewer_round_trips() {
    let world = World::new(&[(Content::random(1, 100 * MIB), Storage::Xet)]).await;
    let mut rng = decode::tests::Rng(7);
    for _ in 0..40 {
        let start = rng.below(99 * MIB / (256 * KIB)) * 256 * KIB;
        world.fetch(0, start..start + 256 * KIB).await.unwrap();
    }
    let cost = world.transport.statistics();
    // Both ways were tried; either may be sooner on loopback, and no read costs more than its block and two chunks.
    assert!(cost.plain.requests >= 2 && cost.xorbs.requests >= 1, "{cost:?}");
    assert!(cost.plain.wire_bytes + cost.xorbs.wire_bytes <= 40 * 400 * KIB, "{cost:?}");
}

#[tokio::test]
async fn a_fetch_of_nothing_or_past_the_end_is_a_bug_of_ours_and_asks_nothing() {
    let world = World::new(&[(Content::random(1, 1000), Storage::Xet)]).await;
    for range in [5..5, 900..1001] {
        let sink: Arc<dyn Sink> = Arc::new(Collected {
            range: range.clone(),
            bytes: Mutex::default(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        });
        let failed = world.transport.fetch(&world.files[0].1, range, Urgency::Ahead, &sink).await;
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Internal);
    }
    assert_eq!(world.transport.statistics(), Statistics::default());
}

#[tokio::test]
async fn each_fault_is_told_for_what_it_is() {
    use ErrorKind::{Connection, ContentMismatch, FileRefused, HubDown, RateLimited};
    use Route::{PlainData, Reconstruction, XorbData};
    let (xet, lfs) = (0, 1);
    for (name, file, route, steps, expected) in [
        ("reset in the middle", xet, XorbData, vec![serve(300 * KIB), reset()], Some(Connection)),
        ("cut short", xet, XorbData, vec![serve(300 * KIB), truncate()], Some(Connection)),
        ("a wrong byte in a chunk's header", xet, XorbData, vec![serve(1), flip_byte()], Some(ContentMismatch)),
        ("the data host asks to wait", xet, XorbData, vec![rate_limited(7)], Some(RateLimited)),
        ("the data host is down", xet, XorbData, vec![status(503)], Some(HubDown)),
        ("the data host has no such xorb", xet, XorbData, vec![status(404)], Some(Connection)),
        ("an expired link", xet, XorbData, vec![expired()], None),
        ("the service asks to wait", xet, Reconstruction, vec![rate_limited(7)], Some(RateLimited)),
        ("the service is down", xet, Reconstruction, vec![status(500)], Some(HubDown)),
        ("a token rejected once", xet, Reconstruction, vec![status(401)], None),
        ("no second version", xet, Reconstruction, vec![status(404)], None),
        ("no second version, said otherwise", xet, Reconstruction, vec![status(501)], None),
        ("plain: reset in the middle", lfs, PlainData, vec![serve(300 * KIB), reset()], Some(Connection)),
        ("plain: cut short", lfs, PlainData, vec![serve(300 * KIB), truncate()], Some(Connection)),
        ("plain: the data host asks to wait", lfs, PlainData, vec![rate_limited(7)], Some(RateLimited)),
        ("plain: an expired link", lfs, PlainData, vec![expired()], None),
        ("plain: no such range", lfs, PlainData, vec![status(416)], Some(ErrorKind::Protocol)),
    ] {
        let world =
            World::new(&[(Content::random(1, 2 * MIB), Storage::Xet), (Content::random(2, 2 * MIB), Storage::Lfs)])
                .await;
        let rule = world.sim.network().script().on(route).run(steps);
        let outcome = world.fetch(file, 0..2 * MIB).await;
        assert_eq!(world.sim.network().script().fired(rule), 1, "{name}");
        assert_eq!(outcome.as_ref().err().map(Error::kind), expected, "{name}: {outcome:?}");
        let wait = outcome.err().and_then(|error| error.wait_asked());
        assert_eq!(wait.is_some(), expected == Some(RateLimited), "{name}");
        // The next attempt gets through; nothing bad was kept.
        world.fetch(file, 0..2 * MIB).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
    // A file that Xet refuses again and again is read by plain ranges.
    let world = World::new(&[(Content::random(1, 2 * MIB), Storage::Xet)]).await;
    world.sim.network().script().on(XorbData).always().run([status(404)]);
    for _ in 0..2 {
        assert_eq!(world.fetch(0, 0..2 * MIB).await.unwrap_err().kind(), Connection);
    }
    world.fetch(0, 0..2 * MIB).await.unwrap();
    world.sim.network().script().on(PlainData).always().run([status(403)]);
    assert_eq!(world.fetch(0, 0..2 * MIB).await.unwrap_err().kind(), FileRefused);
}

#[tokio::test]
async fn a_dropped_fetch_writes_nothing_more_and_frees_its_connections() {
    let world = World::new(&[(Content::random(1, 20 * MIB), Storage::Xet)]).await;
    world.sim.network().script().on(Route::XorbData).always().run([serve(MIB), stall()]);
    let sink = Arc::new(Collected {
        range: 0..20 * MIB,
        bytes: Mutex::new(vec![None; 20 << 20]),
        sent: AtomicU64::new(0),
        received: AtomicU64::new(0),
    });
    let seen: Arc<dyn Sink> = sink.clone();
    let mut fetch = Box::pin(world.transport.fetch(&world.files[0].1, 0..20 * MIB, Urgency::Ahead, &seen));
    until(|| {
        let _ = fetch.as_mut().now_or_never();
        sink.received.load(Relaxed) >= 4 * MIB
    })
    .await;
    assert!(world.transport.0.lanes.busy() > 1);
    drop(fetch);
    assert_eq!(world.transport.0.lanes.busy(), 0);
    let received = sink.received.load(Relaxed);
    world.sim.network().release();
    world.sim.network().script().clear();
    world.fetch(0, 0..MIB).await.unwrap();
    assert_eq!(sink.received.load(Relaxed), received);
}
