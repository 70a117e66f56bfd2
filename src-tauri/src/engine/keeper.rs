//! The thread that has a connection to the engine or makes one. Sleeps unless something happens: the engine comes, goes or
//! says something, or the app asks.

use super::link::{Link, gone};
use super::{EngineState, place, start};
use crate::texts;
use serde_json::Value;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use weightless_control::events::Subscribe;
use weightless_control::settings::{GetSettings, SettingsReply};
use weightless_control::{EventMessage, Fault, Hello, Method, Status, StatusReply, Welcome};

/// How long an engine may take to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);
/// How long an answer may take: the longest of the engine's own limits, a mount on a slow network, and some.
const ANSWER_LIMIT: Duration = Duration::from_secs(180);
/// A connection that ends sooner is a failure, so that an engine that dies at once is not started over and over.
const STEADY_AFTER: Duration = Duration::from_secs(10);
/// Failed starts in a row before people are told; the first may be an engine that was just leaving.
const FAILURES_QUIET_MAX: u32 = 1;
/// Between tries, doubled from the first to the last.
const PAUSE_MS_MIN: u64 = 500;
/// See [`PAUSE_MS_MIN`].
const PAUSE_MS_MAX: u64 = 60_000;

/// What the keeper tells the app.
#[derive(Debug)]
pub(crate) enum News {
    /// How the app stands with the engine.
    State(EngineState),
    /// What is mounted, after each connection and whenever events were lost.
    Status(Box<StatusReply>),
    /// The settings, after each connection.
    Settings(Box<SettingsReply>),
    /// Something happened.
    Event(EventMessage),
}

type Tell = Arc<dyn Fn(News) + Send + Sync>;

/// The engine, as the rest of the app sees it.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    orders: Sender<Order>,
}

/// What wakes the keeper.
enum Order {
    /// The connection ended.
    Ended,
    /// Somebody wants an engine now.
    Retry,
}

struct Shared {
    tell: Tell,
    /// Held for a look or a change only.
    now: Mutex<Now>,
}

struct Now {
    state: EngineState,
    connection: Option<Connection>,
    stats_ms: Option<u64>,
    is_leaving: bool,
}

struct Connection {
    link: Arc<Link>,
    welcome: Welcome,
}

impl Engine {
    /// Starts the keeper; `tell` is called on its threads and must not wait.
    pub(crate) fn start(tell: impl Fn(News) + Send + Sync + 'static) -> std::io::Result<Self> {
        let now = Now { state: EngineState::Starting, connection: None, stats_ms: None, is_leaving: false };
        let shared = Arc::new(Shared { tell: Arc::new(tell), now: Mutex::new(now) });
        let (orders, wakes) = channel();
        let keeper = Keeper { shared: shared.clone(), orders: orders.clone(), wakes };
        thread::Builder::new().name("engine-keeper".into()).spawn(move || keeper.run())?;
        Ok(Engine { shared, orders })
    }

    /// How the app stands with it.
    pub(crate) fn state(&self) -> EngineState {
        self.shared.now().state.clone()
    }

    /// What it said about itself, while it is connected.
    pub(crate) fn welcome(&self) -> Option<Welcome> {
        self.shared.now().connection.as_ref().map(|connection| connection.welcome.clone())
    }

    /// Asks by name. An answer that does not come in time is a fault.
    pub(crate) async fn call(&self, method: &str, params: &Value) -> Result<Value, Fault> {
        let Some(link) = self.shared.link() else {
            return Err(match self.state() {
                EngineState::Failed { fault } => fault,
                _ => gone(),
            });
        };
        let (sender, receiver) = oneshot::channel();
        // An error means that whoever asked is gone.
        link.send(method, params, move |outcome| drop(sender.send(outcome)));
        match tokio::time::timeout(ANSWER_LIMIT, receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(gone()),
            Err(_) => Err(Fault::new("silent", texts::ENGINE_SILENT)),
        }
    }

    /// Asks with the protocol's own types.
    pub(crate) async fn ask<M: Method>(&self, params: &M) -> Result<M::Reply, Fault> {
        let params = serde_json::to_value(params).unwrap_or_default();
        let result = self.call(M::NAME, &params).await?;
        serde_json::from_value(result).map_err(|_| Fault::new("protocol", texts::ENGINE_STRANGE))
    }

    /// How often figures are wanted; the engine sends none without.
    pub(crate) fn watch(&self, stats_ms: Option<u64>) {
        let link = {
            let mut now = self.shared.now();
            if now.stats_ms == stats_ms {
                return;
            }
            now.stats_ms = stats_ms;
            now.connection.as_ref().map(|connection| connection.link.clone())
        };
        if let Some(link) = link {
            link.ask(&Subscribe { stats_ms }, |outcome| log("figures", outcome));
        }
    }

    /// Looks for an engine now instead of at the next try.
    pub(crate) fn retry(&self) {
        // An error means that the app is ending.
        let _ = self.orders.send(Order::Retry);
    }

    /// From now on an engine that goes is not started again.
    pub(crate) fn leave(&self) {
        self.shared.now().is_leaving = true;
    }

    /// Takes [`Engine::leave`] back.
    pub(crate) fn stay(&self) {
        self.shared.now().is_leaving = false;
        self.retry();
    }
}

impl Shared {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self) -> Option<Arc<Link>> {
        self.now().connection.as_ref().map(|connection| connection.link.clone())
    }

    fn set(&self, state: EngineState, connection: Option<Connection>) {
        {
            let mut now = self.now();
            now.connection = connection;
            if now.state == state {
                return;
            }
            now.state = state.clone();
        }
        (self.tell)(News::State(state));
    }
}

struct Keeper {
    shared: Arc<Shared>,
    orders: Sender<Order>,
    wakes: Receiver<Order>,
}

impl Keeper {
    fn run(self) {
        let mut failures = 0;
        loop {
            if self.shared.now().is_leaving {
                match self.wakes.recv() {
                    Ok(_) => continue,
                    Err(_) => return,
                }
            }
            let fault = match self.connect() {
                Ok(()) => {
                    let lasted = self.serve();
                    failures = if lasted < STEADY_AFTER { failures + 1 } else { 0 };
                    Fault::new("internal", texts::ENGINE_ENDS_AT_ONCE).advise(texts::ENGINE_LOG_ADVICE)
                }
                Err(fault) => {
                    failures += 1;
                    fault
                }
            };
            if failures > FAILURES_QUIET_MAX {
                tracing::warn!(code = fault.code, "no engine: {fault}");
                self.shared.set(EngineState::Failed { fault }, None);
            }
            if !self.rest(failures) {
                return;
            }
        }
    }

    /// Connects, starting an engine where none answers.
    fn connect(&self) -> Result<(), Fault> {
        let stream = match place::connect() {
            Ok(stream) => stream,
            Err(_) => {
                start::start()?;
                place::connect().map_err(|error| Fault::new("silent", format!("{}: {error}", texts::ENGINE_SILENT)))?
            }
        };
        let tell = self.shared.tell.clone();
        let of_events = self.shared.clone();
        let ended = self.orders.clone();
        let on_event = move |event: EventMessage| {
            if event.lost > 0 {
                of_events.ask_status();
            }
            tell(News::Event(event));
        };
        // An error means that the app is ending.
        let link = Link::open(stream, on_event, move || drop(ended.send(Order::Ended)))
            .map_err(|error| Fault::new("internal", error.to_string()))?;
        match hello(&link) {
            Ok(welcome) => {
                self.shared.set(EngineState::Connected, Some(Connection { link, welcome }));
                Ok(())
            }
            Err(fault) => {
                link.close();
                self.wait_for_end();
                Err(fault)
            }
        }
    }

    /// From the connection to its end. Says how long it lasted.
    fn serve(&self) -> Duration {
        let begin = Instant::now();
        if let Some(link) = self.shared.link() {
            let stats_ms = self.shared.now().stats_ms;
            link.ask(&Subscribe { stats_ms }, |outcome| log("events", outcome));
            self.shared.ask_status();
            let tell = self.shared.tell.clone();
            link.ask(&GetSettings {}, move |outcome| match outcome {
                Ok(settings) => tell(News::Settings(Box::new(settings))),
                Err(fault) => tracing::warn!(code = fault.code, "settings: {fault}"),
            });
        }
        self.wait_for_end();
        self.shared.set(EngineState::Lost, None);
        begin.elapsed()
    }

    fn wait_for_end(&self) {
        while !matches!(self.wakes.recv(), Ok(Order::Ended) | Err(_)) {}
    }

    /// Sleeps before the next try; `false` when the app is ending.
    fn rest(&self, failures: u32) -> bool {
        let pause_ms = match failures {
            0 => return true,
            _ => (PAUSE_MS_MIN << (failures - 1).min(16)).min(PAUSE_MS_MAX),
        };
        !matches!(self.wakes.recv_timeout(Duration::from_millis(pause_ms)), Err(RecvTimeoutError::Disconnected))
    }
}

impl Shared {
    fn ask_status(&self) {
        let Some(link) = self.link() else { return };
        let tell = self.tell.clone();
        link.ask(&Status {}, move |outcome| match outcome {
            Ok(status) => tell(News::Status(Box::new(status))),
            Err(fault) => tracing::warn!(code = fault.code, "status: {fault}"),
        });
    }
}

/// Settles the protocol; waits.
fn hello(link: &Link) -> Result<Welcome, Fault> {
    let (sender, receiver) = channel();
    let hello = Hello::new(format!("weightless-desktop {}", env!("CARGO_PKG_VERSION")));
    link.ask(&hello, move |outcome| drop(sender.send(outcome)));
    receiver.recv_timeout(HELLO_LIMIT).unwrap_or_else(|_| Err(Fault::new("silent", texts::ENGINE_SILENT)))
}

fn log<T>(what: &str, outcome: Result<T, Fault>) {
    if let Err(fault) = outcome {
        tracing::warn!(code = fault.code, "{what}: {fault}");
    }
}
