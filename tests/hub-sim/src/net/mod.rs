//! The network between a client and the simulated Hub: serves routers over real sockets, counts what crosses, and
//! makes it slow or faulty where a script says so. Never knows what the routers answer.
//!
//! Everything acts on real TCP connections over loopback, so a client meets real resets, stalls and short bodies.
//! `GET /__sim/…` on [`Site::Hub`] (or on a listener of its own) drives it all from another process.

mod control;
mod counters;
mod exchange;
mod link;
mod pace;
mod remote;
mod rough;
mod route;
mod script;
mod served;
mod shaper;
mod switch;
mod wire;

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use counters::{ConnectionCount, Counters, RECENT_REQUESTS_MAX, Request, RouteCount, Snapshot};
pub use link::{Link, Profile, Sharing, UnknownProfile};
pub use remote::Remote;
pub use rough::Rough;
pub use route::{Route, Site};
pub use script::{
    Answer, Draft, Match, RULES_MAX, Rule, RuleId, Script, Size, Step, expired, flip_byte, latency_ms, rate_limited,
    reset, serve, serve_rest, stall, stall_ms, status, truncate,
};

use pace::Pacer;
use rough::Dice;
use switch::Switch;
use wire::{Ending, Peer, Wire};

/// One simulated network; clones share counters, script and link.
#[derive(Clone)]
pub struct Network {
    inner: Arc<Inner>,
}

struct Inner {
    counters: Counters,
    script: Script,
    dice: Dice,
    pacer: Arc<Pacer>,
    switches: [Switch; Site::ALL.len()],
    /// Grows by one for each release of what is stalled.
    releases: watch::Sender<u64>,
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Network {
    /// A network that is as fast as the machine and has no faults.
    #[must_use]
    pub fn new() -> Self {
        Self::with_link(Link::default())
    }

    /// A network behind `link`.
    #[must_use]
    pub fn with_link(link: Link) -> Self {
        let inner = Inner {
            counters: Counters::default(),
            script: Script::default(),
            dice: Dice::default(),
            pacer: Arc::new(Pacer::new(link)),
            switches: Default::default(),
            releases: watch::Sender::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Accepts connections for `site` and answers them from `router`, until the future is dropped, which closes every
    /// connection at once. A site has one listener at a time.
    pub async fn serve(&self, listener: TcpListener, site: Site, router: Router) -> io::Result<()> {
        let switch = &self.inner.switches[site as usize];
        let address = listener.local_addr()?;
        let mut seat = switch.take_seat();
        let mut listener = Some(listener);
        let mut connections = Connections::default();
        loop {
            tokio::select! {
                wanted = seat.changed() => {
                    connections.cut();
                    if wanted.up && listener.is_none() {
                        listener = Some(TcpListener::bind(address).await?);
                    } else if !wanted.up {
                        listener = None;
                    }
                    seat.settle(wanted);
                }
                stream = accept(listener.as_ref()) => {
                    let connected = Connected::new(&self.inner, site);
                    let peer = connected.peer.clone();
                    connections.add(&peer, self.clone().speak(stream, connected, router.clone()));
                }
                Some(_) = connections.tasks.join_next() => {}
            }
        }
    }

    /// Refuses connections to `site` and resets those it has. Returns once a client would notice.
    pub async fn down(&self, site: Site) {
        self.inner.switches[site as usize].turn(|wanted| wanted.up = false).await;
    }

    /// Accepts connections to `site` again, on the same port. Returns once a client can connect.
    pub async fn up(&self, site: Site) {
        self.inner.switches[site as usize].turn(|wanted| wanted.up = true).await;
    }

    /// Resets every connection to `site` that is open now, as a network change or a restarted proxy does.
    pub async fn cut(&self, site: Site) {
        self.inner.switches[site as usize].turn(|wanted| wanted.cuts += 1).await;
    }

    /// What crossed since the start or the last [`Counters::reset`].
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// The table of faults.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.inner.script
    }

    /// The link of this moment.
    #[must_use]
    pub fn link(&self) -> Link {
        self.inner.pacer.link()
    }

    /// Changes the link. Bodies under way take the new rates; one that began on an unlimited link ends on it.
    pub fn set_link(&self, link: Link) {
        self.inner.pacer.set_link(link);
    }

    /// Lets everything go on that a script stalls now.
    pub fn release(&self) {
        self.inner.releases.send_modify(|releases| *releases += 1);
    }

    /// The control endpoint alone, for a listener that stays up while the Hub is down.
    pub fn control(&self) -> Router {
        control::router(self.inner.clone())
    }

    async fn speak(self, stream: TcpStream, connected: Connected, router: Router) {
        let peer = &connected.peer;
        // Off, a small answer would wait for the acknowledgement of the one before it.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let io = TokioIo::new(Wire::new(stream, peer.clone()));
        let service = service_fn(|request| exchange::exchange(&self.inner, peer, &router, request));
        let spoken = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE_TIMEOUT)
            .max_buf_size(WRITE_BUFFER_BYTES)
            .serve_connection(io, service)
            .await;
        if let Err(error) = spoken {
            tracing::debug!(%error, "connection ended");
        }
    }
}

/// Counts a connection as open until dropped.
struct Connected {
    inner: Arc<Inner>,
    peer: Arc<Peer>,
}

impl Connected {
    fn new(inner: &Arc<Inner>, site: Site) -> Self {
        Self { inner: inner.clone(), peer: inner.counters.connect(site) }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.inner.counters.disconnect(self.peer.site);
    }
}

#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    peers: Vec<Weak<Peer>>,
}

impl Connections {
    fn add(&mut self, peer: &Arc<Peer>, task: impl Future<Output = ()> + Send + 'static) {
        self.peers.retain(|peer| peer.strong_count() > 0);
        self.peers.push(Arc::downgrade(peer));
        self.tasks.spawn(task);
    }

    fn cut(&mut self) {
        for peer in self.peers.drain(..).filter_map(|peer| peer.upgrade()) {
            peer.end(Ending::Reset);
        }
        self.tasks.abort_all();
    }
}

/// Waits for the next release, `limit` at most.
async fn hold(inner: Arc<Inner>, limit: Option<Duration>) {
    struct Stalled<'a>(&'a Counters);
    impl Drop for Stalled<'_> {
        fn drop(&mut self) {
            self.0.unstall();
        }
    }
    let mut releases = inner.releases.subscribe();
    inner.counters.stall();
    let _stalled = Stalled(&inner.counters);
    let released = releases.changed();
    match limit {
        // An error means that the network is gone, and with it whatever was stalled.
        None => drop(released.await),
        Some(limit) => drop(tokio::time::timeout(limit, released).await),
    }
}

async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    let Some(listener) = listener else {
        let never: Infallible = std::future::pending().await;
        match never {}
    };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                // Out of descriptors: a moment later some are free again, while a tight loop would burn a core.
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Kept connections outlive any pause of a test or a benchmark, so that a count of connections means something.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);
const ACCEPT_PAUSE: Duration = Duration::from_millis(5);
/// Bodies are queued by reference; this only says how much is offered to one vectored write.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
