//! Counts requests, bytes and connections, and keeps the latest request lines for asserts. Never loses a count: a
//! request is counted when its head has arrived, a byte when it is handed to the socket's writer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use http::{
    HeaderMap, Method, Uri,
    header::{AUTHORIZATION, RANGE},
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::route::{Route, Site};
use super::wire::Peer;

/// Live counters of a network.
pub struct Counters {
    routes: [Gauge; Route::ALL.len()],
    connections: [Gauge; Site::ALL.len()],
    stalled: AtomicU64,
    faults: AtomicU64,
    recent: Mutex<VecDeque<Request>>,
    changes: watch::Sender<u64>,
}

/// How many request lines are kept.
pub const RECENT_REQUESTS_MAX: usize = 65_536;

#[derive(Default)]
struct Gauge {
    started: AtomicU64,
    bytes: AtomicU64,
    active: AtomicU64,
    peak: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            routes: Default::default(),
            connections: Default::default(),
            stalled: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            recent: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }
}

/// The counters at one moment. Routes and sites without traffic are present, with zeros.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// By kind of request.
    pub routes: BTreeMap<Route, RouteCount>,
    /// By host.
    pub connections: BTreeMap<Site, ConnectionCount>,
    /// Responses that a script holds back right now.
    pub stalled: u64,
    /// Requests that a script or a rough link has touched.
    pub faults: u64,
}

/// Traffic of one route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteCount {
    /// Requests whose head arrived.
    pub requests: u64,
    /// Body bytes of responses that were handed to a socket, without heads.
    pub bytes: u64,
    /// Requests whose response has not ended.
    pub active: u64,
    /// The most that were active at once.
    pub peak: u64,
}

/// Connections of one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionCount {
    /// Connections accepted.
    pub opened: u64,
    /// Open now.
    pub active: u64,
    /// The most that were open at once.
    pub peak: u64,
}

/// One request line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The host asked.
    pub site: Site,
    /// The kind.
    pub route: Route,
    /// The method's name.
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// The value of `Range`.
    pub range: Option<String>,
    /// The value of `Authorization`.
    #[serde(default)]
    pub authorization: Option<String>,
    /// The connection it came on: 1 for the first of its site.
    pub connection: u64,
}

impl Snapshot {
    /// Requests of one route.
    #[must_use]
    pub fn requests(&self, route: Route) -> u64 {
        self.routes.get(&route).map_or(0, |count| count.requests)
    }

    /// Body bytes of one route.
    #[must_use]
    pub fn bytes(&self, route: Route) -> u64 {
        self.routes.get(&route).map_or(0, |count| count.bytes)
    }

    /// Requests for file contents on the data host, Xet and plain.
    #[must_use]
    pub fn data_requests(&self) -> u64 {
        Route::DATA.iter().map(|route| self.requests(*route)).sum()
    }

    /// Body bytes from the data host.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        Route::DATA.iter().map(|route| self.bytes(*route)).sum()
    }

    /// Requests of every route.
    #[must_use]
    pub fn requests_in_all(&self) -> u64 {
        self.routes.values().map(|count| count.requests).sum()
    }
}

impl Counters {
    /// The counts of this moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            routes: Route::ALL.iter().map(|route| (*route, self.routes[*route as usize].route_count())).collect(),
            connections: Site::ALL
                .iter()
                .map(|site| (*site, self.connections[*site as usize].connection_count()))
                .collect(),
            stalled: self.stalled.load(Relaxed),
            faults: self.faults.load(Relaxed),
        }
    }

    /// Starts again from zero; what is active stays active, and is the new peak.
    pub fn reset(&self) {
        self.routes.iter().chain(&self.connections).for_each(Gauge::reset);
        self.faults.store(0, Relaxed);
        self.recent().clear();
        self.changed();
    }

    /// The latest request lines, oldest first, at most [`RECENT_REQUESTS_MAX`].
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.recent().iter().cloned().collect()
    }

    /// Waits until `reached` holds. Looked at when a request, a response, a stall or a connection starts or ends.
    pub async fn until(&self, reached: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let mut changes = self.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let snapshot = self.snapshot();
            if reached(&snapshot) {
                return snapshot;
            }
            changes.changed().await.expect("the sender lives in self");
        }
    }

    pub(super) fn connect(&self, site: Site) -> Arc<Peer> {
        let number = self.connections[site as usize].start();
        self.changed();
        Arc::new(Peer::new(site, number))
    }

    pub(super) fn disconnect(&self, site: Site) {
        self.connections[site as usize].stop();
        self.changed();
    }

    pub(super) fn record(&self, route: Route, peer: &Peer, method: &Method, uri: &Uri, headers: &HeaderMap) {
        let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let request = Request {
            site: peer.site,
            route,
            method: method.to_string(),
            target: uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string),
            range: text(RANGE),
            authorization: text(AUTHORIZATION),
            connection: peer.number,
        };
        let mut recent = self.recent();
        if recent.len() == RECENT_REQUESTS_MAX {
            recent.pop_front();
        }
        recent.push_back(request);
        drop(recent);
        self.routes[route as usize].start();
        self.changed();
    }

    pub(super) fn finish(&self, route: Route) {
        self.routes[route as usize].stop();
        self.changed();
    }

    pub(super) fn faulted(&self) {
        self.faults.fetch_add(1, Relaxed);
    }

    pub(super) fn stall(&self) {
        self.stalled.fetch_add(1, Relaxed);
        self.changed();
    }

    pub(super) fn unstall(&self) {
        self.stalled.fetch_sub(1, Relaxed);
        self.changed();
    }

    pub(super) fn sent(&self, route: Route, bytes: usize) {
        self.routes[route as usize].bytes.fetch_add(bytes as u64, Relaxed);
    }

    fn recent(&self) -> std::sync::MutexGuard<'_, VecDeque<Request>> {
        self.recent.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|change| *change = change.wrapping_add(1));
    }
}

impl Gauge {
    /// Returns how many have started, this one included.
    fn start(&self) -> u64 {
        let active = self.active.fetch_add(1, Relaxed) + 1;
        self.peak.fetch_max(active, Relaxed);
        self.started.fetch_add(1, Relaxed) + 1
    }

    fn stop(&self) {
        self.active.fetch_sub(1, Relaxed);
    }

    fn reset(&self) {
        self.started.store(0, Relaxed);
        self.bytes.store(0, Relaxed);
        self.peak.store(self.active.load(Relaxed), Relaxed);
    }

    fn route_count(&self) -> RouteCount {
        RouteCount {
            requests: self.started.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            active: self.active.load(Relaxed),
            peak: self.peak.load(Relaxed),
        }
    }

    fn connection_count(&self) -> ConnectionCount {
        ConnectionCount {
            opened: self.started.load(Relaxed),
            active: self.active.load(Relaxed),
            peak: self.peak.load(Relaxed),
        }
    }
}
