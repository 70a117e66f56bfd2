//! The server side of the control protocol: one socket a process, for its own user only. Reads requests and writes what
//! answers them; what they mean is `answer`'s.
//!
//! A connection is one task. Requests run on tasks of their own, so that a slow one holds up no other, and go on to their end
//! when the client is gone. A client that takes nothing holds up its own connection only, and loses it in the end.

use super::answer::answer;
use super::host::Host;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};
use weightless_control::events::{STATS_MS_MIN, Subscribed};
use weightless_control::hello::{PROTOCOL_NEWEST, PROTOCOL_OLDEST};
use weightless_control::{Call, Event, EventMessage, Hello, Id, Lines, Reply, Request, RpcError, Subscribe, Welcome};

/// Clients served at once; each costs a task and a few messages. Further ones wait in the socket's queue.
const CLIENTS_MAX: usize = 256;
/// Requests of one client under way at once; further ones are not read.
const REQUESTS_MAX: usize = 16;
/// A client that says nothing and listens to nothing for this long is let go of, so that forgotten ones do not fill the
/// places.
const CLIENT_IDLE_MS: u64 = 300_000;
/// A client that does not take what it was sent for this long is let go of; a stopped one is back in time, mostly.
const SEND_MS: u64 = 30_000;
/// At the end, how long replies under way are waited for.
const DRAIN_MS: u64 = 2_000;

/// A socket that is listened on. It is gone with [`Server::close`].
#[derive(Debug)]
pub(crate) struct Server {
    socket: PathBuf,
    stop: watch::Sender<bool>,
    clients: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens at `socket`, mode 0600. The name appears only once somebody listens behind it, since a socket that refuses is
    /// taken for a dead process's and removed.
    pub(crate) fn open(socket: PathBuf, host: Arc<Host>) -> io::Result<Self> {
        let hidden = socket.with_extension("new");
        let _ = fs::remove_file(&hidden);
        let listener = UnixListener::bind(&hidden)?;
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600))?;
        fs::rename(&hidden, &socket)?;
        let (stop, stopped) = watch::channel(false);
        let clients = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(listen(listener, host, clients.clone(), stopped));
        Ok(Server { socket, stop, clients, task })
    }

    /// Clients now.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Takes the socket away and ends all connections, after the replies under way.
    pub(crate) async fn close(mut self) {
        remove(&self.socket);
        self.stop.send_replace(true);
        if timeout(Duration::from_millis(DRAIN_MS), &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        remove(&self.socket);
    }
}

fn remove(socket: &Path) {
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(socket = %socket.display(), %error, "the control socket stays");
        }
        _ => {}
    }
}

async fn listen(listener: UnixListener, host: Arc<Host>, count: Arc<AtomicUsize>, mut stop: watch::Receiver<bool>) {
    let uid = nix::unistd::geteuid().as_raw();
    let mut clients = JoinSet::new();
    let stopped = stop.clone();
    loop {
        tokio::select! {
            () = told(&mut stop) => break,
            Some(_) = clients.join_next() => {}
            accepted = listener.accept(), if clients.len() < CLIENTS_MAX => match accepted {
                Ok((stream, _)) if stream.peer_cred().is_ok_and(|peer| peer.uid() == uid) => {
                    clients.spawn(Connection::new(stream, host.clone(), count.clone()).serve(stopped.clone()));
                }
                Ok(_) => tracing::warn!("another user was refused at the control socket"),
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    // Out of descriptors: accepting again at once would spin.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

/// One more in a count, until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn one(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Resolves once the server is to stop. Its own function, since the guard that `wait_for` gives may not cross an await.
async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|&stop| stop).await;
}

/// One client, from its hello to its end.
struct Connection {
    stream: UnixStream,
    host: Arc<Host>,
    lines: Lines,
    clients: Arc<AtomicUsize>,
    /// There once it has said hello: it counts as a client from then on.
    greeted: Option<Counted>,
    replies: (mpsc::Sender<Reply>, mpsc::Receiver<Reply>),
    /// Requests whose replies are to come.
    under_way: usize,
    stream_of_events: Option<Stream>,
}

/// What a client listens to.
struct Stream {
    events: broadcast::Receiver<Arc<Event>>,
    lost: u64,
    stats: Option<Interval>,
    /// While it lives, figures are taken often.
    _watching: super::figures::Watching,
}

/// What a connection does next.
enum Next {
    Read(usize),
    Reply(Box<Reply>),
    Event(Arc<Event>),
    Lost(u64),
    Figures,
    End,
}

impl Connection {
    fn new(stream: UnixStream, host: Arc<Host>, clients: Arc<AtomicUsize>) -> Self {
        Connection {
            stream,
            host,
            lines: Lines::default(),
            clients,
            greeted: None,
            replies: mpsc::channel(REQUESTS_MAX),
            under_way: 0,
            stream_of_events: None,
        }
    }

    async fn serve(mut self, mut stop: watch::Receiver<bool>) {
        let mut piece = [0; 4 << 10];
        let mut is_gone = false;
        loop {
            // What was read comes before what is to be read.
            while self.under_way < REQUESTS_MAX {
                match self.lines.take() {
                    Ok(Some(line)) => match self.take(&line) {
                        // A client that was killed has said what it wanted, and that is done to its end.
                        Some(reply) if is_fatal(&reply) => {
                            self.send_reply(&reply).await;
                            return;
                        }
                        Some(reply) => is_gone |= !self.send_reply(&reply).await,
                        None => {}
                    },
                    Ok(None) => break,
                    Err(error) => {
                        let error = RpcError::new(RpcError::INVALID_REQUEST, error.to_string());
                        self.send_reply(&Reply::failure(None, error)).await;
                        return;
                    }
                }
            }
            if is_gone {
                return;
            }
            let is_on = match self.next(&mut piece, &mut stop).await {
                Next::Read(count) => {
                    self.lines.push(&piece[..count]);
                    true
                }
                Next::Reply(reply) => {
                    self.under_way -= 1;
                    self.send_reply(&reply).await
                }
                Next::Event(event) => self.send_event((*event).clone()).await,
                Next::Lost(count) => {
                    if let Some(stream) = &mut self.stream_of_events {
                        stream.lost += count;
                    }
                    true
                }
                Next::Figures => {
                    // Figures that somebody else was shown a moment ago do as well.
                    let age_max = self.stream_of_events.as_ref().and_then(|stream| stream.stats.as_ref());
                    let stats = self.host.stats(age_max.map_or(Duration::ZERO, |ticks| ticks.period() / 2));
                    self.send_event(Event::Stats { stats: Box::new((*stats).clone()) }).await
                }
                Next::End => false,
            };
            if !is_on {
                return;
            }
        }
    }

    async fn next(&mut self, piece: &mut [u8], stop: &mut watch::Receiver<bool>) -> Next {
        let Connection { stream, replies, under_way, stream_of_events, .. } = self;
        let may_idle = *under_way > 0 || stream_of_events.is_some();
        let may_read = *under_way < REQUESTS_MAX;
        let idle = async {
            match may_idle {
                true => std::future::pending().await,
                false => tokio::time::sleep(Duration::from_millis(CLIENT_IDLE_MS)).await,
            }
        };
        let (events, stats) = match stream_of_events {
            Some(stream) => (Some(&mut stream.events), stream.stats.as_mut()),
            None => (None, None),
        };
        tokio::select! {
            biased;
            () = told(stop), if *under_way == 0 => Next::End,
            Some(reply) = replies.1.recv(), if *under_way > 0 => Next::Reply(Box::new(reply)),
            read = stream.read(piece), if may_read => match read {
                Ok(count) if count > 0 => Next::Read(count),
                _ => Next::End,
            },
            event = next_event(events) => event,
            () = next_tick(stats) => Next::Figures,
            () = idle => Next::End,
        }
    }

    /// Takes a request in. What can be answered here and now is returned.
    fn take(&mut self, line: &[u8]) -> Option<Reply> {
        let Request { id, call } = match Request::parse(line) {
            Ok(request) => request,
            Err(malformed) => return Some(Reply::failure(malformed.id, malformed.error)),
        };
        match call {
            Call::Hello(hello) => {
                let reply = welcome(id, &hello);
                self.greeted = reply.outcome.is_ok().then(|| Counted::one(&self.clients));
                Some(reply)
            }
            _ if self.greeted.is_none() => {
                Some(Reply::failure(Some(id), RpcError::new(RpcError::VERSION, "hello comes first")))
            }
            Call::Subscribe(request) => {
                self.subscribe(&request);
                Some(Reply::success::<Subscribe>(id, &Subscribed {}))
            }
            call => {
                self.under_way += 1;
                let (host, replies) = (self.host.clone(), self.replies.0.clone());
                tokio::spawn(async move {
                    // A panic is answered too, or the connection would wait for this reply for ever.
                    let work = tokio::spawn({
                        let id = id.clone();
                        async move { answer(&host, id, call).await }
                    });
                    let reply = work.await.unwrap_or_else(|error| {
                        tracing::error!(%error, "a request failed");
                        let fault = weightless_control::Fault::new("internal", "the engine failed at this request");
                        Reply::failure(Some(id), fault.into())
                    });
                    // An error means that the client is gone.
                    let _ = replies.send(reply).await;
                });
                None
            }
        }
    }

    fn subscribe(&mut self, request: &Subscribe) {
        let stats = request.stats_ms.map(|ms| {
            let mut ticks = interval(Duration::from_millis(ms.max(STATS_MS_MIN)));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        let before = self.stream_of_events.take();
        self.stream_of_events = Some(Stream {
            lost: before.as_ref().map_or(0, |stream| stream.lost),
            events: before.map_or_else(|| self.host.events.listen(), |stream| stream.events),
            _watching: self.host.figures.watch(stats.is_some()),
            stats,
        });
    }

    /// `false`: the connection is over.
    async fn send_reply(&mut self, reply: &Reply) -> bool {
        self.send(&reply.line()).await && !is_fatal(reply)
    }

    async fn send_event(&mut self, event: Event) -> bool {
        let Some(stream) = &mut self.stream_of_events else { return true };
        let message = EventMessage { lost: std::mem::take(&mut stream.lost), event };
        self.send(&message.line()).await
    }

    async fn send(&mut self, line: &[u8]) -> bool {
        matches!(timeout(Duration::from_millis(SEND_MS), self.stream.write_all(line)).await, Ok(Ok(())))
    }
}

fn is_fatal(reply: &Reply) -> bool {
    reply.outcome.as_ref().is_err_and(RpcError::is_fatal)
}

async fn next_event(events: Option<&mut broadcast::Receiver<Arc<Event>>>) -> Next {
    match events {
        Some(events) => match events.recv().await {
            Ok(event) => Next::Event(event),
            Err(RecvError::Lagged(count)) => Next::Lost(count),
            Err(RecvError::Closed) => Next::End,
        },
        None => std::future::pending().await,
    }
}

async fn next_tick(stats: Option<&mut Interval>) {
    match stats {
        Some(ticks) => {
            ticks.tick().await;
        }
        None => std::future::pending().await,
    }
}

fn welcome(id: Id, hello: &Hello) -> Reply {
    match hello.settle(PROTOCOL_OLDEST, PROTOCOL_NEWEST) {
        Some(protocol) => Reply::success::<Hello>(
            id,
            &Welcome { protocol, version: env!("CARGO_PKG_VERSION").to_owned(), pid: std::process::id() },
        ),
        None => {
            let message = format!(
                "this engine speaks protocol {PROTOCOL_OLDEST} to {PROTOCOL_NEWEST}, the client {} to {}",
                hello.protocol_oldest, hello.protocol_newest
            );
            Reply::failure(Some(id), RpcError::new(RpcError::VERSION, message))
        }
    }
}
