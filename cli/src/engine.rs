//! The engine process: owns the mounts of its user, their memory, accounts and settings, and answers for them on a socket.
//!
//! | file | noun |
//! | --- | --- |
//! | `host` | [`Host`]: what the engine is made of and does when asked |
//! | `mounts`, `hosted`, `order`, `place` | which mounts there are; one that is there; one that is wanted; its folder |
//! | `hub_folder` | whether the Hub folder is on, and what is in use in it |
//! | `hubs` | who asks which Hub |
//! | `refresh` | whether a mounted branch has a newer commit |
//! | `events`, `figures`, `meter`, `metrics` | what is told to clients that listen; how much and how fast; the same for Prometheus |
//! | `questions`, `doctor`, `diagnostics` | what needs no mount |
//! | `control`, `answer` | the socket; from a request to its reply |
//! | `record`, `lock`, `ready`, `signals` | what stays on disk; being the only one; how the start went; how it ends |
//!
//! Life: lock taken → settings read → socket opened → announced → what was mounted before is mounted again → serving, until a
//! signal, a request, or a while with neither mounts nor clients → everything unmounted.

mod answer;
pub(crate) mod control;
mod diagnostics;
mod doctor;
mod events;
mod figures;
pub(crate) mod host;
mod hosted;
mod hub_folder;
mod hubs;
pub(crate) mod lock;
mod meter;
mod metrics;
mod mounts;
pub(crate) mod order;
pub(crate) mod place;
pub(crate) mod questions;
pub(crate) mod ready;
pub(crate) mod record;
mod refresh;
pub(crate) mod signals;

use crate::exit::{Outcome, fault, io_fault};
use crate::{env, paths, processes, wanted};
use control::Server;
use host::{Adopted, Host};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use order::Who;
use record::Record;
use signals::Signals;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;
use weightless_control::{AddMount, Fault, Mounted};
use weightless_core::accounts::{AccountBook, OsKeychain};
use weightless_core::engine::EngineConfig;
use weightless_core::reader::ReaderConfig;
use weightless_core::settings::{Resolved, SettingsFile};
use weightless_core::store::{self, HubCache, StoreConfig};
use weightless_core::transport::connections_max;
use weightless_core::{Error, ErrorKind};
use weightless_platform::{memory, room};

/// An engine without mounts and clients ends after this long: soon, since starting one takes a blink.
const IDLE_MS: u64 = 3_000;
/// How often the settings file is looked at for changes by hand; it is read only if it looks changed.
const SETTINGS_LOOK_MS: u64 = 2_000;
/// Descriptors below which an engine is short of them: a mount takes one for each event loop, a download one a connection.
const FILES_MIN: u64 = 256;
/// Descriptors that are asked for: a thousand mounts and as many connections. Not all there may be: helpers that the engine
/// starts inherit the limit, and some close every number up to it.
const FILES_MAX: u64 = 1 << 16;
/// A whole file of this size is worth a sync.
const STORE_DURABLE_BYTES: u64 = 16 << 20;
/// At the end, how long tasks that still run are waited for.
const RUNTIME_END_MS: u64 = 1_000;

/// What an engine is told by whoever starts it.
#[derive(Debug)]
pub(crate) struct Options {
    /// Where it listens.
    socket: PathBuf,
    /// What it leaves of its mounts.
    record_path: PathBuf,
    /// Where mounts wanted at login are kept.
    login_path: Option<PathBuf>,
    /// Where the Hub folder is kept.
    folder_path: Option<PathBuf>,
    /// The settings file.
    settings_path: PathBuf,
    /// Settings of the command line, by the names of their environment variables: they win over both.
    overrides: Vec<(&'static str, String)>,
    /// Its log file, where it has one.
    log: Option<PathBuf>,
    /// Its whole life is this mount; without one it serves whoever asks.
    only: Option<AddMount>,
    /// Nobody asks the Hub by default, whatever the environment holds.
    is_anonymous: bool,
    /// Nothing on this device is read or kept.
    is_without_local: bool,
}

impl Options {
    /// The engine of this user.
    pub(crate) fn for_user(log: PathBuf, overrides: Vec<(&'static str, String)>) -> Outcome<Self> {
        let dir = paths::runtime_dir()?;
        Ok(Options {
            socket: dir.join(paths::ENGINE_SOCKET),
            record_path: dir.join(paths::ENGINE_RECORD),
            login_path: Some(paths::state_dir()?.join("mounts.json")),
            folder_path: Some(paths::folder_file()?),
            settings_path: paths::settings_file()?,
            overrides,
            log: Some(log),
            only: None,
            is_anonymous: false,
            is_without_local: false,
        })
    }

    /// An engine for one mount, in a terminal.
    pub(crate) fn for_mount(only: AddMount, overrides: Vec<(&'static str, String)>) -> Outcome<Self> {
        let dir = paths::runtime_dir()?;
        let pid = std::process::id();
        Ok(Options {
            socket: dir.join(format!("{pid}.sock")),
            record_path: dir.join(format!("{pid}.json")),
            login_path: None,
            folder_path: None,
            settings_path: paths::settings_file()?,
            overrides,
            log: None,
            only: Some(only),
            is_anonymous: false,
            is_without_local: false,
        })
    }

    /// Nobody asks.
    #[cfg(feature = "demo")]
    pub(crate) fn anonymous(self) -> Self {
        Options { is_anonymous: true, ..self }
    }

    /// Everything comes from the network, and nothing is kept.
    pub(crate) fn without_local(self) -> Self {
        Options { is_without_local: true, ..self }
    }

    /// What the engine is made of.
    fn engine_config(&self, reader: ReaderConfig, resolved: &Resolved) -> Outcome<EngineConfig> {
        if self.is_without_local {
            return Ok(EngineConfig { connections_max: connections_max(&env), ..EngineConfig::without_local(reader) });
        }
        let store = StoreConfig {
            folder: paths::cache_dir()?,
            limits: resolved.store,
            queue_blocks_max: store::queue_blocks(resolved.budget_bytes),
            durable_bytes_min: STORE_DURABLE_BYTES,
            free_space: room::free_bytes,
        };
        Ok(EngineConfig {
            reader,
            store: Some(store),
            hub_cache: HubCache::find(&env),
            connections_max: connections_max(&env),
        })
    }

    fn who(&self) -> Who {
        if self.is_anonymous { Who::Nobody } else { Who::Default }
    }

    fn accounts(&self) -> Outcome<AccountBook> {
        let path = paths::state_dir()?.join("accounts.json");
        AccountBook::open(path, Arc::new(OsKeychain::new())).map_err(fault)
    }

    fn settings(&self) -> Outcome<SettingsFile> {
        let over = |name: &str| {
            let given = self.overrides.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
            given.or_else(|| env(name))
        };
        SettingsFile::load(self.settings_path.clone(), &over, wanted::machine()).map_err(fault)
    }
}

/// Runs an engine to its end. `announce` is called once it can be asked, with the mount that it is for, if it is for one, and
/// what there is to say of the start; if that fails, everything is undone.
pub(crate) fn run(options: &Options, announce: impl FnOnce(Option<Mounted>, Vec<String>) -> Outcome) -> Outcome {
    memory::give_large_buffers_back();
    leave_no_core();
    let few_files = raise_file_limit();
    let runtime = wanted::runtime()?;
    let outcome = runtime.block_on(live(options, &runtime, few_files, announce));
    runtime.shutdown_timeout(Duration::from_millis(RUNTIME_END_MS));
    outcome
}

/// The memory of an engine that crashes holds tokens, and content of private repos: it is written nowhere. Where the limit cannot be
/// set, it was lower before.
fn leave_no_core() {
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
}

/// Every mount and every connection takes descriptors. The usual soft limit of 1,024 is for programs that use `select`, and some
/// shells set a lower one; what the hard limit allows may be taken (getrlimit(2)). Says so where even that is little.
fn raise_file_limit() -> Option<String> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let wanted = hard.min(FILES_MAX);
    let raised = soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok();
    let limit = if raised { wanted } else { soft };
    (limit < FILES_MIN).then(|| {
        format!(
            "the system lets the engine open {limit} files at once, which is enough for few mounts only: ulimit -n, then \
             weightless engine restart"
        )
    })
}

async fn live(
    options: &Options,
    runtime: &Runtime,
    few_files: Option<String>,
    announce: impl FnOnce(Option<Mounted>, Vec<String>) -> Outcome,
) -> Outcome {
    let mut signals = Signals::listen().map_err(|error| io_fault("listening to signals", &error))?;
    let last = Record::read(&options.record_path);
    let record = Record::after(last.as_ref(), std::process::id(), unix_s(SystemTime::now()));
    let is_dying = record.is_dying();
    let host = Host::new(options, options.settings()?, record, runtime.handle().clone())?;
    host.adopt_folder();
    let adopted = adopt(&host, options, last.unwrap_or_default());
    let mounts = adopted.iter().map(|adopted| adopted.dir().to_owned());
    let kept: Vec<PathBuf> = mounts.chain(host.folder.dir()).collect();
    let mut notes = blocking(move || processes::clear_dead(&kept)).await??;
    notes.extend(few_files);
    let mounted = match &options.only {
        Some(only) => tokio::select! {
            mounted = host.add(only) => Some(mounted?),
            name = signals.next() => {
                host.close().await;
                return Err(Fault::new("interrupted", format!("stopped by {name}")));
            }
        },
        None => None,
    };
    let server = match Server::open(options.socket.clone(), host.clone()) {
        Ok(server) => server,
        Err(error) => {
            host.close().await;
            return Err(io_fault("the control socket", &error));
        }
    };
    host.keep();
    for note in &notes {
        tracing::warn!("{note}");
    }
    if let Err(fault) = announce(mounted, notes) {
        host.close().await;
        server.close().await;
        return Err(fault);
    }
    tokio::spawn(restore(host.clone(), adopted, is_dying));

    tokio::select! {
        name = signals.next() => tracing::info!("ending: {name}"),
        () = host.stop.notified() => tracing::info!("ending: asked to"),
        () = idle(&host, &server, options.only.is_some()) => tracing::info!("ending: nothing to do"),
        () = look_at_settings(&host) => {}
        () = host.figures.run(&host) => {}
        () = metrics::run(&host) => {}
        () = host.tell_of_store() => {}
    }
    host.close().await;
    server.close().await;
    Ok(())
}

/// What an engine before had that ended in no order, and what is wanted at login: listed before the first look at the list.
fn adopt(host: &Host, options: &Options, last: Record) -> Vec<Adopted> {
    let login = options.login_path.as_deref().and_then(Record::read).unwrap_or_default();
    last.mounts.iter().chain(&login.mounts).filter_map(|request| host.adopt(request)).collect()
}

/// Mounts it, the Hub folder first, since others may lie in it. After too many deaths in a row it is listed and not touched.
async fn restore(host: Arc<Host>, adopted: Vec<Adopted>, is_dying: bool) {
    if is_dying {
        let sentence = "the engine ended three times within a minute, so nothing is mounted by itself";
        let fault = Fault::new("internal", sentence).advise("weightless engine log may say why; then mount again.");
        host.leave_folder_failed(fault.clone());
        adopted.iter().for_each(|adopted| host.leave_failed(adopted, fault.clone()));
        return;
    }
    host.restore_folder().await;
    for adopted in adopted {
        tokio::spawn(host.clone().restore(adopted));
    }
}

/// Resolves once there has been nothing to do for a while. An engine for one mount ends with it.
async fn idle(host: &Host, server: &Server, is_for_one: bool) {
    let mut idle_ms = 0;
    let step_ms = 100;
    loop {
        tokio::time::sleep(Duration::from_millis(step_ms)).await;
        // One that is paused stays, or the next would know nothing of it.
        let is_needed = server.clients() > 0 || host.is_paused();
        let is_idle = host.mounts.is_empty() && !host.folder.is_on() && (is_for_one || !is_needed);
        idle_ms = if is_idle { idle_ms + step_ms } else { 0 };
        if is_for_one && is_idle || idle_ms >= IDLE_MS {
            return;
        }
    }
}

/// Takes over changes that somebody makes to the file by hand; never resolves.
async fn look_at_settings(host: &Arc<Host>) {
    loop {
        tokio::time::sleep(Duration::from_millis(SETTINGS_LOOK_MS)).await;
        let host = host.clone();
        let _ = tokio::task::spawn_blocking(move || host.reload_settings()).await;
    }
}

/// Runs what blocks for some milliseconds away from the runtime's own threads.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Outcome<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| fault(Error::new(ErrorKind::Internal, "the engine").because(error)))
}

fn unix_s(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
