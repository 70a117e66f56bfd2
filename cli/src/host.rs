//! The process that owns a mount: starts it, answers for it on a control socket, ends it. One mount a process for now; what
//! clients see of it (the protocol) allows for many.
//!
//! Life: folder prepared and dead mounts cleared → Hub asked → kernel mounted → socket opened → announced → serving until a
//! signal, an `unmount` request, or an unmount from outside. Whatever fails on the way undoes what came before it.

pub(crate) mod control;
mod place;
pub(crate) mod ready;
mod signals;

use crate::args::ReaderArgs;
use crate::exit::{Outcome, fault, io_fault};
use crate::output;
use crate::record::Record;
use crate::wanted::{self, Wanted, Who};
use crate::{paths, processes};
use control::{Owner, Server};
use place::Place;
use ready::Started;
use signals::Signals;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;
use weightless_control::{
    EngineStatus, Fault, MountState, MountStatus, StatusReply, Unmount, UnmountManner, Unmounted,
};
use weightless_core::engine::Engine;
use weightless_core::mount::Mount;
use weightless_core::repo::RepoSpec;
use weightless_core::{Error, ErrorKind};
use weightless_platform::{MountOptions, OsMount, driver, mounts};

/// At the end, how long tasks that still run are waited for.
const RUNTIME_END_MS: u64 = 1_000;

/// What is to be mounted where. Every path is absolute.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) wanted: Wanted,
    pub(crate) dir: PathBuf,
    pub(crate) who: Who,
    pub(crate) reader: ReaderArgs,
}

/// Hosts a mount until it ends. `announce` is called once it is ready; if that fails, the mount is undone.
pub(crate) fn run(order: Order, announce: impl FnOnce(Started) -> Outcome) -> Outcome {
    let runtime = wanted::runtime()?;
    let outcome = runtime.block_on(host(order, &runtime, announce));
    runtime.shutdown_timeout(Duration::from_millis(RUNTIME_END_MS));
    outcome
}

async fn host(order: Order, runtime: &Runtime, announce: impl FnOnce(Started) -> Outcome) -> Outcome {
    let mut signals = Signals::listen().map_err(|error| io_fault("listening to signals", &error))?;
    driver::check().map_err(fault)?;
    let mut notes = blocking(processes::clear_dead).await??;
    let place = Place::prepare(&order.dir)?;

    let hub = wanted::hub(order.wanted.net.clone(), &order.who)?;
    let engine = wanted::engine(&order.reader, runtime.handle().clone())?;
    let mount = tokio::select! {
        mount = engine.mount(&hub, order.wanted.spec.clone()) => mount.map_err(fault)?,
        name = signals.next() => return Err(Fault::new("interrupted", format!("stopped by {name}"))),
    };
    tracing::info!(repo = %mount.repo(), revision = mount.revision(), commit = mount.commit(), dir = %order.dir.display(), "mounting");
    let options = MountOptions {
        threads: order.reader.event_loops.map_or(MountOptions::default().threads, usize::from),
        ..MountOptions::default()
    };
    let os = {
        let (mount, dir) = (mount.clone(), place.dir().to_owned());
        blocking(move || OsMount::start(mount, &dir, &options)).await?.map_err(fault)?
    };
    notes.extend((os.cleared() > 0).then(|| format!("cleared a dead mount at {}", order.dir.display())));
    let hosted = Arc::new(Hosted {
        spec: order.wanted.spec,
        endpoint: wanted::endpoint(&order.wanted.net).to_owned(),
        engine,
        mount,
        os,
        budget_bytes: wanted::budget_bytes(&order.reader),
        mounted_at: SystemTime::now(),
        stopping: AtomicBool::new(false),
        place: Mutex::new(Some(place)),
    });
    let outcome = serve(&hosted, &mut signals, notes, announce).await;
    hosted.engine.shut_down();
    outcome
}

/// From mounted to unmounted.
async fn serve(
    hosted: &Arc<Hosted>,
    signals: &mut Signals,
    notes: Vec<String>,
    announce: impl FnOnce(Started) -> Outcome,
) -> Outcome {
    let opened = open(hosted);
    let announced = opened.and_then(|opened| {
        let started = Started { mount: hosted.mount_status(), notes };
        announce(started).map(|()| opened)
    });
    let (server, record) = match announced {
        Ok(opened) => opened,
        Err(fault) => {
            hosted.end("it could not be announced").await;
            return Err(fault);
        }
    };
    tokio::select! {
        name = signals.next() => hosted.end(name).await,
        () = hosted.os.ended() => tracing::info!("unmounted"),
    }
    server.close().await;
    drop(record);
    Ok(())
}

/// Makes the mount known: its socket and its record.
fn open(hosted: &Arc<Hosted>) -> Outcome<(Server, Record)> {
    let dir = paths::runtime_dir()?;
    let record =
        Record::write(&dir, &hosted.mount_status()).map_err(|error| io_fault("the record of the mount", &error))?;
    let socket = dir.join(format!("{}.sock", std::process::id()));
    let server = Server::open(socket, hosted.clone()).map_err(|error| io_fault("the control socket", &error))?;
    Ok((server, record))
}

/// Runs what blocks for some milliseconds away from the runtime's own threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Outcome<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| fault(Error::new(ErrorKind::Internal, "starting the mount").because(error)))
}

/// The mount of this process.
#[derive(Debug)]
struct Hosted {
    spec: RepoSpec,
    endpoint: String,
    engine: Engine,
    mount: Arc<Mount>,
    os: OsMount,
    budget_bytes: u64,
    mounted_at: SystemTime,
    stopping: AtomicBool,
    /// Taken, and with it the folders that were made removed, as soon as nothing is mounted there; std because it is held
    /// for that only.
    place: Mutex<Option<Place>>,
}

impl Hosted {
    fn mount_status(&self) -> MountStatus {
        let counters = self.mount.counters();
        let state = if self.stopping.load(Ordering::Acquire) { MountState::Stopping } else { MountState::Ready };
        MountStatus {
            commit: self.mount.commit().to_owned(),
            subfolder: self.spec.path.clone().unwrap_or_default(),
            endpoint: self.endpoint.clone(),
            pid: Some(std::process::id()),
            mounted_unix_s: unix_s(self.mounted_at),
            bytes_delivered: counters.delivered_bytes.load(Ordering::Relaxed),
            bytes_fetched: counters.fetched_bytes.load(Ordering::Relaxed),
            open_files: self.mount.open_files() as u64,
            ..MountStatus::new(
                self.mount.repo().to_string(),
                self.mount.revision(),
                self.os.at().to_string_lossy(),
                state,
            )
        }
    }

    /// Takes the mount out of the tree, also if it is in use: the process is about to end. Who holds it is said.
    async fn end(&self, why: &str) {
        tracing::info!(why, "unmounting");
        self.stopping.store(true, Ordering::Release);
        if let Err(error) = self.os.unmount().await {
            let fault = fault(error);
            output::note(format_args!("{fault}"));
            for holder in &fault.holders {
                output::note(format_args!("  {holder}"));
            }
            output::note("It is taken away all the same; what still has files open gets errors.");
            if let Err(error) = self.os.unmount_lazily().await {
                tracing::error!(?error, "the mount stays");
            }
        }
        self.leave();
    }

    /// Takes the folder away and goes on serving who has files open; the kernel ends the mount when the last one closes.
    async fn detach(&self) -> Outcome<Result<(), Error>> {
        let at = self.os.at().to_owned();
        blocking(move || match mounts::find(&at)? {
            Some(entry) => mounts::unmount(&entry, mounts::Unmount::Lazy),
            None => Ok(()),
        })
        .await
    }

    fn leave(&self) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Owner for Hosted {
    fn status(&self) -> StatusReply {
        let held_bytes = self.engine.reader().stats().map_or(0, |stats| stats.charged_bytes);
        StatusReply {
            engine: EngineStatus {
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started_unix_s: unix_s(self.mounted_at),
                budget_bytes: self.budget_bytes,
                held_bytes,
                is_paused: false,
                log: String::new(),
            },
            mounts: vec![self.mount_status()],
        }
    }

    async fn unmount(&self, request: Unmount) -> Result<Unmounted, Fault> {
        let dir = self.os.at().to_string_lossy().into_owned();
        if request.dir != dir {
            return Err(Fault::new("not_mounted", format!("{}: this process has no mount there", request.dir)));
        }
        self.stopping.store(true, Ordering::Release);
        let unmounted = match request.manner {
            UnmountManner::Refuse => self.os.unmount().await,
            UnmountManner::Lazily => self.detach().await?,
            UnmountManner::Force => self.os.unmount_lazily().await,
        };
        match unmounted {
            Ok(()) => {
                tracing::info!(manner = ?request.manner, "unmounted on request");
                self.leave();
                Ok(Unmounted { dir })
            }
            Err(error) => {
                self.stopping.store(false, Ordering::Release);
                Err(fault(error))
            }
        }
    }
}

fn unix_s(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
