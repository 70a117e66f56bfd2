use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use tokio::net::TcpListener;

use super::*;

/// A network with one data host that answers any path with `BODY_BYTES` bytes.
struct World {
    network: Network,
    address: SocketAddr,
    client: reqwest::Client,
    task: tokio::task::JoinHandle<io::Result<()>>,
}

const BODY_BYTES: usize = 200_000;
/// How late a loaded machine may be; accuracy is tested in virtual time, in the shaper.
const BUSY_MACHINE_MS: u128 = 3_000;

fn content() -> Bytes {
    (0..BODY_BYTES).map(|n| (n % 251) as u8).collect()
}

impl World {
    async fn new() -> Self {
        let network = Network::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/{*path}", get(async || Body::from(content())));
        let serving = network.clone();
        let task = tokio::spawn(async move { serving.serve(listener, Site::Data, router).await });
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { network, address, client, task }
    }

    async fn get(&self, path: &str) -> reqwest::Result<Bytes> {
        let url = format!("http://{}{path}", self.address);
        self.client.get(url).header("range", "bytes=0-").send().await?.error_for_status()?.bytes().await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn counts_are_exact() {
    let world = World::new().await;
    for path in ["/xorbs/a?sig=1", "/xorbs/b", "/files/c"] {
        assert_eq!(world.get(path).await.unwrap(), content());
    }
    let counters = world.network.counters();
    let idle = counters.until(|now| now.routes.values().all(|route| route.active == 0)).await;
    assert_eq!(idle.routes[&Route::XorbData], RouteCount { requests: 2, bytes: 400_000, active: 0, peak: 1 });
    assert_eq!(idle.routes[&Route::PlainData], RouteCount { requests: 1, bytes: 200_000, active: 0, peak: 1 });
    assert_eq!((idle.data_requests(), idle.data_bytes(), idle.requests_in_all()), (3, 600_000, 3));
    assert_eq!(idle.connections[&Site::Data], ConnectionCount { opened: 1, active: 1, peak: 1 });

    let requests = counters.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].target, "/xorbs/a?sig=1");
    assert_eq!(requests[0].range.as_deref(), Some("bytes=0-"));

    counters.reset();
    assert_eq!(counters.snapshot().requests_in_all(), 0);
    assert!(counters.requests().is_empty());
}

#[tokio::test]
async fn a_site_that_is_down_refuses_and_comes_back_on_its_port() {
    let world = World::new().await;
    world.get("/files/a").await.unwrap();
    world.network.down(Site::Data).await;
    assert!(world.get("/files/a").await.unwrap_err().is_connect());
    world.network.up(Site::Data).await;
    assert_eq!(world.get("/files/a").await.unwrap(), content());
}

#[tokio::test]
async fn a_cut_closes_the_connections_there_are() {
    let world = World::new().await;
    world.get("/files/a").await.unwrap();
    world.network.cut(Site::Data).await;
    world.network.counters().until(|now| now.connections[&Site::Data].active == 0).await;
    assert_eq!(world.get("/files/a").await.unwrap(), content());
    assert_eq!(world.network.counters().snapshot().connections[&Site::Data].opened, 2);
}

/// What a client sees of one GET: the status and how the body ended.
#[derive(Debug, PartialEq)]
enum Seen {
    Whole,
    /// The right length, this byte wrong.
    Wrong(usize),
    Status(u16),
    /// No head.
    Nothing,
    /// An error after so many bytes.
    Cut(usize),
}

impl World {
    async fn look(&self, path: &str) -> Seen {
        let url = format!("http://{}{path}", self.address);
        let Ok(mut response) = self.client.get(url).send().await else { return Seen::Nothing };
        if !response.status().is_success() {
            return Seen::Status(response.status().as_u16());
        }
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(_) => return Seen::Cut(body.len()),
            }
        }
        assert_eq!(body.len(), BODY_BYTES);
        body.iter().zip(content()).position(|(got, want)| *got != want).map_or(Seen::Whole, Seen::Wrong)
    }
}

#[tokio::test]
async fn each_fault_is_what_the_client_sees() {
    let cases = [
        (vec![], Seen::Whole),
        (vec![serve(40.kib()), serve_rest()], Seen::Whole),
        (vec![latency_ms(1), serve(1), latency_ms(1)], Seen::Whole),
        (vec![stall_ms(1), serve(70_000), stall_ms(1)], Seen::Whole),
        (vec![reset()], Seen::Nothing),
        (vec![truncate()], Seen::Nothing),
        (vec![serve(0), reset()], Seen::Cut(0)),
        (vec![serve(40.kib()), reset()], Seen::Cut(40 << 10)),
        (vec![serve(40.kib()), truncate()], Seen::Cut(40 << 10)),
        (vec![serve(1), serve(1), truncate()], Seen::Cut(2)),
        (vec![flip_byte()], Seen::Wrong(0)),
        (vec![serve(150_000), flip_byte()], Seen::Wrong(150_000)),
        (vec![expired()], Seen::Status(403)),
        (vec![rate_limited(9)], Seen::Status(429)),
        (vec![latency_ms(1), status(503)], Seen::Status(503)),
    ];
    let world = World::new().await;
    for (steps, expected) in cases {
        world.network.script().on(Route::XorbData).run(steps.clone());
        assert_eq!(world.look("/xorbs/a").await, expected, "{steps:?}");
        assert_eq!(world.look("/xorbs/a").await, Seen::Whole, "after {steps:?}");
    }
    for code in [401, 403, 404, 416, 429, 500, 502, 503, 504] {
        world.network.script().on("/files/").run([status(code)]);
        assert_eq!(world.look("/files/a").await, Seen::Status(code));
    }
}

#[tokio::test]
async fn a_rate_limit_names_its_end() {
    let world = World::new().await;
    world.network.script().on(Route::XorbData).run([rate_limited(9)]);
    let response = world.client.get(format!("http://{}/xorbs/a", world.address)).send().await.unwrap();
    assert_eq!(response.headers()["ratelimit"], r#""api";r=0;t=9"#);
    assert_eq!(response.headers()["retry-after"], "9");
}

#[tokio::test]
async fn a_fault_reaches_answers_without_a_body() {
    let world = World::new().await;
    let head = || world.client.head(format!("http://{}/xorbs/a", world.address)).send();
    world.network.script().on(Route::XorbData).run([serve(10), reset()]);
    assert!(head().await.is_err());
    let response = head().await.unwrap();
    assert_eq!(response.headers()["content-length"], BODY_BYTES.to_string());
}

#[tokio::test]
async fn a_stall_lasts_until_it_is_released() {
    let world = World::new().await;
    world.network.script().on(Route::XorbData).run([serve(1000), stall()]);
    let counters = world.network.counters();
    let (seen, ()) = tokio::join!(world.look("/xorbs/a"), async {
        let stalled = counters.until(|now| now.stalled == 1).await;
        assert_eq!(stalled.bytes(Route::XorbData), 1000);
        assert_eq!(stalled.faults, 1);
        world.network.release();
    });
    assert_eq!(seen, Seen::Whole);
    assert_eq!(counters.snapshot().stalled, 0);
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_stall() {
    let world = World::new().await;
    world.network.script().on(Route::XorbData).run([serve(1000), stall()]);
    let counters = world.network.counters();
    tokio::select! {
        seen = world.look("/xorbs/a") => panic!("{seen:?}"),
        _ = counters.until(|now| now.stalled == 1) => {}
    }
    counters.until(|now| now.stalled == 0 && now.routes[&Route::XorbData].active == 0).await;
}

#[tokio::test]
async fn a_request_costs_a_round_trip_and_a_connection_one_more() {
    let world = World::new().await;
    world.network.set_link(Link { round_trip_ms: 60, ..Link::default() });
    for least_ms in [120, 60] {
        let start = std::time::Instant::now();
        assert_eq!(world.look("/xorbs/a").await, Seen::Whole);
        let took_ms = start.elapsed().as_millis();
        assert!((least_ms..least_ms + BUSY_MACHINE_MS).contains(&took_ms), "{took_ms} ms, at least {least_ms}");
    }
}

#[tokio::test]
async fn a_limited_link_delivers_at_its_rate() {
    for (bodies, connection_mb, link_mb, expected_ms) in
        [(1, None, Some(1), 200), (4, None, Some(4), 200), (3, Some(1), Some(5), 200)]
    {
        let world = World::new().await;
        world.network.set_link(Link {
            connection_bytes_per_s: connection_mb.map(|mb: u64| mb * 1_000_000),
            link_bytes_per_s: link_mb.map(|mb: u64| mb * 1_000_000),
            ..Link::default()
        });
        let start = std::time::Instant::now();
        let seen = futures_util::future::join_all((0..bodies).map(|_| world.look("/xorbs/a"))).await;
        let took_ms = start.elapsed().as_millis();
        assert!(seen.iter().all(|seen| *seen == Seen::Whole));
        assert!((expected_ms - 10..expected_ms + BUSY_MACHINE_MS).contains(&took_ms), "{bodies} bodies: {took_ms} ms");
    }
}

#[tokio::test]
async fn the_control_endpoint_drives_it_from_outside() {
    let world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let hub = world.network.clone();
    let task = tokio::spawn(async move { hub.serve(listener, Site::Hub, Router::new()).await });

    let remote = Remote::new(&endpoint).unwrap();
    remote.set_profile(Profile::Home).await.unwrap();
    assert_eq!(world.network.link(), Profile::Home.link());
    let spelled = Link { round_trip_ms: 1, sharing: Sharing::FirstInFirstOut, ..Link::default() };
    remote.set_link(&spelled).await.unwrap();
    assert_eq!(remote.link().await.unwrap(), spelled);

    let rule = Rule { on: Route::XorbData.into(), nth: 1, times: Some(1), steps: vec![serve(10), truncate()] };
    let id = remote.add_rule(&rule).await.unwrap();
    assert_eq!(world.look("/xorbs/a").await, Seen::Cut(10));
    assert_eq!(world.network.script().fired(id), 1);
    let counters = remote.counters().await.unwrap();
    assert_eq!(counters.requests(Route::XorbData), 1);
    assert_eq!(counters.requests_in_all(), 1, "control traffic is not counted");
    assert_eq!(remote.requests().await.unwrap(), world.network.counters().requests());

    let turn = async |what| world.client.post(format!("{endpoint}/__sim/{what}/data")).send().await?.error_for_status();
    turn("down").await.unwrap();
    assert_eq!(world.look("/xorbs/a").await, Seen::Nothing);
    turn("up").await.unwrap();
    assert_eq!(world.look("/xorbs/a").await, Seen::Whole);

    remote.add_rule(&rule).await.unwrap();
    remote.clear_rules().await.unwrap();
    remote.release().await.unwrap();
    remote.reset().await.unwrap();
    assert_eq!(remote.counters().await.unwrap().requests_in_all(), 0);
    assert_eq!(world.look("/xorbs/a").await, Seen::Whole);
    task.abort();
}

#[tokio::test]
async fn a_rough_link_serves_everything_within_one_retry() {
    let world = World::new().await;
    let rough =
        Rough { failures_per_mille: 300, resets_per_mille: 300, stalls_per_mille: 0, delays_per_mille: 0, seed: 3 };
    world.network.set_link(Link { rough: Some(rough), ..Link::default() });
    for n in 0..40 {
        let path = format!("/xorbs/{n}");
        if world.look(&path).await != Seen::Whole {
            assert_eq!(world.look(&path).await, Seen::Whole, "{path}");
        }
    }
    assert!(world.network.counters().snapshot().faults >= 10);
}
