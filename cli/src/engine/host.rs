//! What the engine is made of, and what it does when it is asked: one [`Host`] a process. Knows no socket and no line of the
//! protocol, only its types.

use super::events::Events;
use super::figures::Figures;
use super::hosted::Hosted;
use super::hub_folder::FolderSwitch;
use super::hubs::Hubs;
use super::mounts::{Claim, Mounts, SlotId};
use super::order::Order;
use super::place::Place;
use super::record::Record;
use super::{Options, blocking, refresh, unix_s};
use crate::exit::{Outcome, fault, io_fault};
use crate::{log, output};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use url::Url;
use weightless_control::mounts::WEIGHT_MAX;
use weightless_control::settings::{Problem, SettingsReply};
use weightless_control::stats::Stats;
use weightless_control::upkeep::{Done, FREED_MAX, Free, Freed, FreedFile, Pause, Stop};
use weightless_control::{
    AddMount, EngineStatus, Event, Fault, MountStatus, Mounted, SetMount, StatusReply, StoreStatus, Unmount,
    UnmountManner, Unmounted, UpdateMount,
};
use weightless_core::engine::Engine;
use weightless_core::folder::HubFolder;
use weightless_core::hub::Hub;
use weightless_core::mount::Mount;
use weightless_core::reader::ReaderConfig;
use weightless_core::repo::RepoSpec;
use weightless_core::settings::{Resolved, SettingsFile};
use weightless_core::store::{StoreStats, queue_blocks};
use weightless_core::{Error, ErrorKind};
use weightless_platform::mounts;

/// How long a mount may take to be made: the Hub's answers with their own retries, and the kernel's.
const START_MS_MAX: u64 = 60_000;
/// First pause before a mount that is wanted and failed is tried again; doubles up to the second.
const RETRY_MS_MIN: u64 = 5_000;
/// See [`RETRY_MS_MIN`].
const RETRY_MS_MAX: u64 = 300_000;

/// A mount that was taken over and is not made yet.
#[derive(Debug)]
pub(crate) struct Adopted {
    id: SlotId,
    order: Order,
    cancel: Arc<Notify>,
}

impl Adopted {
    /// Where it was mounted, and is to be again.
    pub(crate) fn dir(&self) -> &Path {
        &self.order.dir
    }
}

/// What the engine leaves on disk, and what of it is there already.
#[derive(Debug)]
struct Kept {
    record: Record,
    /// Folders that engines before have made, and that no mount has taken over yet.
    left: Vec<PathBuf>,
    written: Option<Record>,
    /// What is wanted at login.
    login_written: Vec<AddMount>,
}

/// The engine of a process.
#[derive(Debug)]
pub(crate) struct Host {
    pub(super) engine: Engine,
    pub(super) hubs: Hubs,
    pub(super) mounts: Mounts,
    pub(super) folder: FolderSwitch,
    pub(super) events: Arc<Events>,
    pub(super) figures: Figures,
    /// Held for a look or a change, and for the write of a small file; std because never across a wait.
    settings: Mutex<SettingsFile>,
    /// Counts their changes.
    settings_changed: watch::Sender<u64>,
    /// What is written when mounts come and go; closed once the engine ends, so that its last unmounts are not. Held for a look,
    /// and for the write of a small file.
    record: Mutex<Kept>,
    is_closed: AtomicBool,
    record_path: PathBuf,
    /// Where mounts that are wanted at login are kept; none for an engine that is nobody's but a terminal's.
    login_path: Option<PathBuf>,
    started: SystemTime,
    log: String,
    /// Whether all network is paused.
    paused: watch::Sender<bool>,
    pub(super) stop: Notify,
    keeps_mounts: AtomicBool,
}

impl Host {
    /// Makes an engine that mounts nothing yet.
    pub(crate) fn new(
        options: &Options,
        settings: SettingsFile,
        record: Record,
        runtime: Handle,
    ) -> Outcome<Arc<Self>> {
        let resolved = settings.resolved();
        log::set_filter(&resolved.log_filter());
        let events = Arc::new(Events::new());
        let hubs = Hubs::new(options.accounts()?, options.who(), events.clone());
        hubs.set_paused(record.is_paused);
        // A configuration that cannot be is told now and not at the first mount.
        hubs.net(&resolved, None)?;
        let config = options.engine_config(reader_config(&resolved), &resolved)?;
        let engine = Engine::new(config, runtime).map_err(fault)?;
        engine.set_bandwidth_cap(resolved.bandwidth_cap_bytes_per_s);
        Ok(Arc::new(Host {
            engine,
            hubs,
            mounts: Mounts::default(),
            folder: FolderSwitch::new(options.folder_path.clone()),
            events,
            figures: Figures::default(),
            settings: Mutex::new(settings),
            settings_changed: watch::Sender::new(0),
            paused: watch::Sender::new(record.is_paused),
            record: Mutex::new(Kept {
                left: record.made.clone(),
                record,
                written: None,
                login_written: options.login_path.as_deref().and_then(Record::read).unwrap_or_default().mounts,
            }),
            is_closed: AtomicBool::new(false),
            record_path: options.record_path.clone(),
            login_path: options.login_path.clone(),
            started: SystemTime::now(),
            log: options.log.as_ref().map(|log| log.to_string_lossy().into_owned()).unwrap_or_default(),
            stop: Notify::new(),
            keeps_mounts: AtomicBool::new(false),
        }))
    }

    /// What is mounted.
    pub(crate) fn status(&self) -> StatusReply {
        let stats = self.engine.reader().stats();
        // Each lock for itself.
        let (budget_bytes, faults) = (self.budget_bytes(), self.faults());
        StatusReply {
            engine: EngineStatus {
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started_unix_s: unix_s(self.started),
                budget_bytes,
                held_bytes: stats.map_or(0, |stats| stats.charged_bytes),
                is_paused: self.is_paused(),
                log: self.log.clone(),
                faults,
                store: self.engine.store().map(|store| Box::new(store_status(store.stats()))),
            },
            folder: self.folder.status(),
            mounts: self.mounts.statuses(),
        }
    }

    /// What is wrong beyond a single mount.
    fn faults(&self) -> Vec<Fault> {
        let mut faults = self.events.standing();
        let problems = self.settings().problems().to_vec();
        if !problems.is_empty() {
            faults.push(settings_fault(problems).advise("weightless config shows what holds."));
        }
        let store = self.engine.store().and_then(|store| store.stats().trouble);
        faults.extend(store.map(fault));
        faults
    }

    /// Mounts, or finds that it is mounted.
    pub(crate) async fn add(self: &Arc<Self>, request: &AddMount) -> Outcome<Mounted> {
        let order = self.order(request)?;
        let (id, cancel) = match self.mounts.claim(&order).await? {
            Claim::Mine(id, cancel) => (id, cancel),
            Claim::There(hosted) => {
                let is_new = hosted.keep();
                if order.at_login {
                    hosted.set_at_login(true);
                }
                if order.follow {
                    hosted.set_follow(true);
                }
                if is_new || order.at_login || order.follow {
                    self.changed(&hosted);
                }
                let notes = if is_new { vec![kept_in_folder(&hosted)] } else { Vec::new() };
                return Ok(Mounted { mount: hosted.status(), is_old: !is_new, notes });
            }
        };
        match self.start(id, order.clone(), &cancel).await {
            Ok((hosted, notes)) => Ok(Mounted { mount: hosted.status(), is_old: false, notes }),
            Err(fault) => {
                if self.mounts.release(id) {
                    self.events.tell(Event::MountGone { dir: order.dir.to_string_lossy().into_owned() });
                }
                // One that died may have been there, which nobody wants any more.
                self.clear(order.dir).await;
                Err(fault)
            }
        }
    }

    /// Takes over a mount of an engine before this one, or one that is wanted at login: it is listed from now on. `None` if it
    /// makes no sense any more, or its place is taken.
    pub(crate) fn adopt(&self, request: &AddMount) -> Option<Adopted> {
        let order = self.order(request).ok()?;
        match self.mounts.try_claim(&order) {
            Ok(Some(Claim::Mine(id, cancel))) => Some(Adopted { id, order, cancel }),
            _ => None,
        }
    }

    /// Mounts what was adopted; keeps trying while it is wanted. Until then a mount that died stays where it is, and whoever looks
    /// gets an error: an empty folder would be taken for the repo.
    pub(crate) async fn restore(self: Arc<Self>, Adopted { id, order, cancel }: Adopted) {
        let mut pause_ms = RETRY_MS_MIN;
        while let Err(fault) = self.start(id, order.clone(), &cancel).await {
            let dir = order.dir.to_string_lossy().into_owned();
            tracing::warn!(dir, code = fault.code, "{fault}");
            self.events.notice(Some(&dir), &fault);
            self.fail(id, fault);
            let mut paused = self.paused.subscribe();
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(pause_ms)) => pause_ms = (pause_ms * 2).min(RETRY_MS_MAX),
                Ok(()) = paused.changed(), if self.is_paused() => {}
            }
            if !self.mounts.again(id, &cancel) {
                return;
            }
        }
    }

    /// Lists what was adopted without trying it.
    pub(crate) fn leave_failed(&self, adopted: &Adopted, fault: Fault) {
        self.fail(adopted.id, fault);
    }

    fn fail(&self, id: SlotId, fault: Fault) {
        self.mounts.failed(id, fault);
        self.keep();
    }

    fn order(&self, request: &AddMount) -> Outcome<Order> {
        let resolved = self.settings().resolved();
        let endpoint = self.hubs.net(&resolved, None)?.endpoint().clone();
        let hub_folder = self.folder.dir();
        self.hubs.order(Order::read(request, &endpoint, &resolved.mount_folder, hub_folder.as_deref())?)
    }

    /// From a claimed place to a mount that is listed.
    async fn start(self: &Arc<Self>, id: SlotId, order: Order, cancel: &Notify) -> Outcome<(Arc<Hosted>, Vec<String>)> {
        let title = order.title();
        self.tell_mount(&order.status(weightless_control::MountState::Starting));
        let made = tokio::select! {
            made = timeout(Duration::from_millis(START_MS_MAX), self.make(order)) => made,
            () = cancel.notified() => return Err(Fault::new("interrupted", format!("{title}: called off"))),
        };
        let (hosted, hub, notes) = made.unwrap_or_else(|_| {
            Err(Fault::new("deadline", format!("{title}: not mounted within {} s", START_MS_MAX / 1000)))
        })?;
        let hosted = Arc::new(hosted);
        if !self.mounts.ready(id, &hosted) {
            hosted.unmount(UnmountManner::Force).await?;
            return Err(Fault::new("interrupted", format!("{title}: called off")));
        }
        tracing::info!(mount = title, commit = &*hosted.mount().commit(), dir = hosted.dir(), "mounted");
        tokio::spawn(self.clone().watch(id, hosted.clone()));
        tokio::spawn(refresh::run(self.clone(), hosted.clone(), hub));
        self.events.forget(&hosted.dir());
        self.changed(&hosted);
        Ok((hosted, notes))
    }

    /// The Hub first, then the folder: while the Hub is asked there is none that could be taken for the repo.
    async fn make(&self, order: Order) -> Outcome<(Hosted, Arc<Hub>, Vec<String>)> {
        let resolved = self.resolved();
        self.folder.settled().await;
        let in_folder = self.in_folder(&order)?;
        let hub = self.hubs.hub(&self.engine, &resolved, &order).await?;
        let mount = self.open(&hub, &order, in_folder.as_ref()).await.map_err(fault)?;
        if self.is_paused() {
            mount.set_paused(true);
        }
        if let Some((folder, path)) = in_folder {
            let hosted = Hosted::in_folder(order, mount, folder, path, true);
            let note = kept_in_folder(&hosted);
            return Ok((hosted, hub, vec![note]));
        }
        let loops = order.event_loops.map_or(resolved.event_loops, usize::from);
        let place = self.prepare(&order.dir)?;
        let (hosted, notes) = Hosted::start(order, mount, place, loops).await?;
        Ok((hosted, hub, notes))
    }

    /// Asks the Hub for what is to be mounted. Waits as long as the Hub wants, if there is time for that.
    async fn open(
        &self,
        hub: &Arc<Hub>,
        order: &Order,
        in_folder: Option<&(Arc<HubFolder>, String)>,
    ) -> Result<Arc<Mount>, Error> {
        let begin = Instant::now();
        loop {
            let opened = match in_folder {
                Some((folder, path)) => folder.keep(path, order.spec.clone(), hub).await,
                None => self.engine.mount(hub, order.spec.clone()).await,
            };
            let error = match opened {
                Ok(mount) => return Ok(mount),
                Err(error) => error,
            };
            let wait = error.wait_asked().filter(|_| error.kind() == ErrorKind::RateLimited);
            let Some(wait) = wait.filter(|wait| begin.elapsed() + *wait < Duration::from_millis(START_MS_MAX)) else {
                return Err(error);
            };
            self.events.notice(Some(&order.dir.to_string_lossy()), &fault(error));
            tokio::time::sleep(wait).await;
        }
    }

    /// The folder for a mount, made where it is missing.
    pub(super) fn prepare(&self, dir: &Path) -> Outcome<Place> {
        Place::prepare(dir, &mut self.record().left)
    }

    /// Takes away what an engine before has left at a place that nobody wants mounted any more: a dead mount, and folders that
    /// were made for it.
    async fn clear(&self, dir: PathBuf) {
        let at = dir.clone();
        match blocking(move || mounts::clear_dead(&at)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(?error, "a dead mount stays"),
            Err(fault) => tracing::warn!("{fault}"),
        }
        drop(Place::inherit(&dir, &mut self.record().left));
        self.keep();
    }

    /// Waits for the end of a mount, whoever ends it.
    async fn watch(self: Arc<Self>, id: SlotId, hosted: Arc<Hosted>) {
        hosted.ended().await;
        hosted.leave();
        let dir = hosted.dir();
        tracing::info!(dir, "unmounted");
        if self.mounts.release(id) {
            self.events.forget(&dir);
            self.events.tell(Event::MountGone { dir });
            self.keep();
        }
    }

    /// Unmounts.
    pub(crate) async fn remove(&self, request: Unmount) -> Outcome<Unmounted> {
        let Unmount { dir, manner } = request;
        if let Some(removed) = self.remove_folder(&dir, manner).await {
            return removed;
        }
        if self.mounts.give_up(&dir) {
            self.events.forget(&dir);
            self.events.tell(Event::MountGone { dir: dir.clone() });
            self.clear(dir.clone().into()).await;
            return Ok(Unmounted { dir });
        }
        let (id, hosted) = self.mounts.at(&dir)?;
        hosted.unmount(manner).await?;
        // One that was taken away lazily serves who has files open, and is listed until it ends.
        if (manner == UnmountManner::Refuse || hosted.is_in_folder()) && self.mounts.release(id) {
            self.events.forget(&dir);
            self.events.tell(Event::MountGone { dir: dir.clone() });
        }
        self.keep();
        Ok(Unmounted { dir })
    }

    /// Moves a mount to the commit that its revision stands for now.
    pub(crate) async fn update(&self, request: &UpdateMount) -> Outcome<MountStatus> {
        let (_, hosted) = self.mounts.at(&request.dir)?;
        let order = hosted.order();
        let hub = self.hubs.hub(&self.engine, &self.resolved(), &order).await?;
        if self.engine.update(&hub, hosted.mount(), order.spec.path.as_deref()).await.map_err(fault)? {
            tracing::info!(dir = hosted.dir(), commit = &*hosted.mount().commit(), "moved to a newer commit");
        }
        hosted.set_newest(&hosted.mount().commit());
        self.tell_mount(&hosted.status());
        Ok(hosted.status())
    }

    /// Changes a mount.
    pub(crate) fn set(&self, request: &SetMount) -> Outcome<MountStatus> {
        if request.weight.is_some_and(|weight| !(1..=WEIGHT_MAX).contains(&weight)) {
            return Err(Fault::new("usage", format!("a mount's share is 1 to {WEIGHT_MAX}")));
        }
        let (_, hosted) = self.mounts.at(&request.dir)?;
        if let Some(at_login) = request.at_login {
            hosted.set_at_login(at_login);
        }
        if let Some(follow) = request.follow {
            hosted.set_follow(follow);
        }
        if let Some(paused) = request.paused {
            hosted.set_paused(paused, self.is_paused());
        }
        if let Some(weight) = request.weight {
            hosted.set_weight(weight);
        }
        self.changed(&hosted);
        Ok(hosted.status())
    }

    /// Whether all network is paused.
    pub(crate) fn is_paused(&self) -> bool {
        *self.paused.borrow()
    }

    /// The revision of a mount stands for `commit` now: told if that is news, and shown if the mount follows.
    pub(super) async fn found(&self, hosted: &Hosted, commit: &str) {
        if hosted.follows() && commit != &*hosted.mount().commit() && !hosted.is_in_folder() {
            match self.update(&UpdateMount { dir: hosted.dir() }).await {
                Ok(_) => return,
                // Told below like any other; tried again with the next question.
                Err(fault) => tracing::warn!(dir = hosted.dir(), %fault, "the newer commit cannot be shown yet"),
            }
        }
        if hosted.set_newest(commit) {
            tracing::info!(dir = hosted.dir(), commit, "what the mount's revision stands for");
            self.tell_mount(&hosted.status());
        }
    }

    /// Pauses all network, or goes on: neither content nor anything else is asked of any Hub.
    pub(crate) fn pause(&self, request: &Pause) -> Done {
        if self.paused.send_replace(request.paused) != request.paused {
            tracing::info!(paused = request.paused, "all network");
            self.hubs.set_paused(request.paused);
            self.keep();
            for hosted in self.mounts.hosted() {
                hosted.set_all_paused(request.paused);
            }
            self.events.tell(Event::Paused { paused: request.paused });
        }
        Done {}
    }

    /// The settings.
    pub(crate) fn settings_reply(&self) -> SettingsReply {
        self.settings().reply()
    }

    /// Changes settings, all or none, and lets them take effect.
    pub(crate) fn set_settings(&self, changes: &serde_json::Map<String, serde_json::Value>) -> Outcome<SettingsReply> {
        let mut settings = self.settings();
        settings.set(changes).map_err(|problems| settings_fault(problems).advise("Nothing was changed."))?;
        let reply = settings.reply();
        drop(settings);
        self.apply(&reply)?;
        Ok(reply)
    }

    /// Takes over what somebody wrote into the settings file. What cannot be read is told to all, and changes nothing.
    pub(crate) fn reload_settings(&self) {
        let mut settings = self.settings();
        if !settings.looks_changed() {
            return;
        }
        let changed = settings.reload();
        let reply = settings.reply();
        drop(settings);
        match changed {
            Ok(true) => {
                tracing::info!("the settings file has changed");
                if let Err(fault) = self.apply(&reply) {
                    self.events.notice(None, &fault);
                }
            }
            Ok(false) => {}
            Err(error) => {
                let fault = Fault::new("settings_invalid", format!("{error}; what the file said before holds"));
                tracing::warn!("{fault}");
                self.events.tell(Event::Notice { dir: None, fault: fault.advise(error.advice()) });
                self.events.tell(Event::Settings { settings: Box::new(reply) });
            }
        }
    }

    fn apply(&self, reply: &SettingsReply) -> Outcome {
        let resolved = self.settings().resolved();
        log::set_filter(&resolved.log_filter());
        self.engine.reader().set_limits(reader_config(&resolved).limits).map_err(fault)?;
        self.engine.set_bandwidth_cap(resolved.bandwidth_cap_bytes_per_s);
        if let Some(store) = self.engine.store() {
            store.set_limits(resolved.store);
            store.set_queue(queue_blocks(resolved.budget_bytes));
        }
        self.hubs.renew(&resolved)?;
        self.settings_changed.send_modify(|changes| *changes += 1);
        self.events.tell(Event::Settings { settings: Box::new(reply.clone()) });
        Ok(())
    }

    /// Frees what is kept on this device.
    pub(crate) async fn free(&self, request: Free) -> Outcome<Freed> {
        let repo = match &request.repo {
            Some(repo) => Some(RepoSpec::parse(repo, &self.endpoint()?).map_err(fault)?.repo.to_string()),
            None => None,
        };
        let Some(store) = self.engine.store().cloned() else { return Ok(Freed::default()) };
        let freed = blocking(move || store.free(repo.as_deref(), request.dry_run)).await?;
        Ok(Freed {
            bytes: freed.iter().map(|file| file.bytes).sum(),
            files: freed.len() as u64,
            first: freed
                .into_iter()
                .take(FREED_MAX)
                .map(|file| FreedFile { repo: file.repo, path: file.path, bytes: file.bytes })
                .collect(),
        })
    }

    /// Tells everybody when nothing can be kept, or when what was kept was wrong; never resolves.
    pub(crate) async fn tell_of_store(&self) {
        let Some(mut news) = self.engine.store().map(|store| store.news()) else { return std::future::pending().await };
        loop {
            match news.recv().await {
                // Each cause is told once by the store itself, until it is over.
                Ok(error) => self.events.tell(Event::Notice { dir: None, fault: fault(error) }),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }

    /// Ends the engine, if nobody uses it or if it must be.
    pub(crate) fn ask_to_stop(&self, request: &Stop) -> Outcome<Done> {
        let open: u64 = self.mounts.statuses().iter().map(|mount| mount.open_files).sum();
        if open > 0 && !request.force {
            let are = if open == 1 { "is" } else { "are" };
            return Err(Fault::new("mount_point_busy", format!("{} {are} open", output::files(open)))
                .advise("Close what uses them, or say that it must end all the same: --force."));
        }
        self.keeps_mounts.store(request.keep_mounts, Ordering::Relaxed);
        self.stop.notify_one();
        Ok(Done {})
    }

    /// Ends all mounts. What is to come back stays in the record.
    pub(crate) async fn close(&self) {
        let keeps_mounts = self.keeps_mounts.load(Ordering::Relaxed);
        if keeps_mounts {
            self.keep();
        }
        // From here on nothing is written: that mounts go now does not mean that nobody wants them.
        self.is_closed.store(true, Ordering::Release);
        let there = self.mounts.close().into_iter();
        let there = there.filter(|hosted| !hosted.is_stopping() && !hosted.is_in_folder());
        if keeps_mounts {
            there.for_each(|hosted| hosted.abandon());
            self.abandon_folder();
            self.engine.shut_down();
            return;
        }
        let ending: Vec<_> = there.map(|hosted| tokio::spawn(async move { hosted.end().await })).collect();
        for end in ending {
            let _ = end.await;
        }
        self.close_folder().await;
        self.engine.shut_down();
        super::record::remove(&self.record_path);
        let mut kept = self.record();
        while let Some(dir) = kept.left.last().cloned() {
            drop(Place::inherit(&dir, &mut kept.left));
        }
    }

    /// The figures of this moment, or those of a moment that is not longer ago than `age_max`.
    pub(crate) fn stats(&self, age_max: Duration) -> Arc<Stats> {
        self.figures.stats(self, age_max)
    }

    /// Memory for file content.
    pub(super) fn budget_bytes(&self) -> u64 {
        self.settings().resolved().budget_bytes
    }

    /// The settings as they hold now.
    pub(super) fn resolved(&self) -> Arc<Resolved> {
        self.settings().resolved()
    }

    /// Tells when the settings have changed.
    pub(super) fn settings_changes(&self) -> watch::Receiver<u64> {
        self.settings_changed.subscribe()
    }

    /// The Hub of the settings, asked as the default account; for questions that need no mount.
    pub(super) async fn default_hub(&self, endpoint: Option<&str>) -> Outcome<Arc<Hub>> {
        let resolved = self.resolved();
        self.hubs.default_hub(&self.engine, &resolved, endpoint).await
    }

    /// The address of the Hub of the settings.
    pub(super) fn endpoint(&self) -> Outcome<Url> {
        Ok(self.hubs.net(&self.resolved(), None)?.endpoint().clone())
    }

    /// A mount has changed: everybody is told, and the disk.
    fn changed(&self, hosted: &Hosted) {
        self.tell_mount(&hosted.status());
        self.keep();
    }

    /// Whether the engine is ending: what goes now is not unwanted.
    pub(super) fn is_closing(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(super) fn tell_mount(&self, status: &MountStatus) {
        self.events.tell(Event::Mount { mount: Box::new(status.clone()) });
    }

    /// Writes down what is mounted, where that is not what the disk says already.
    pub(super) fn keep(&self) {
        let mut kept = self.record();
        if self.is_closing() {
            return;
        }
        kept.record.mounts = self.mounts.wanted(false);
        kept.record.folder = self.folder.dir().map(|dir| dir.to_string_lossy().into_owned());
        kept.record.made = self.mounts.made();
        let left = kept.left.clone();
        kept.record.made.extend(left.into_iter().chain(self.folder.made()));
        kept.record.is_paused = self.is_paused();
        let mut written = Ok(());
        if kept.written.as_ref() != Some(&kept.record) {
            written =
                kept.record.write(&self.record_path).map_err(|error| io_fault(self.record_path.display(), &error));
            kept.written = written.is_ok().then(|| kept.record.clone());
        }
        let login = self.mounts.wanted(true);
        let mut login_written = Ok(());
        if let Some(path) = self.login_path.as_ref().filter(|_| login != kept.login_written) {
            let record = Record { mounts: login.clone(), ..Record::default() };
            login_written = record.write(path).map_err(|error| io_fault(path.display(), &error));
            if login_written.is_ok() {
                kept.login_written = login;
            }
        }
        drop(kept);
        for fault in [written, login_written].into_iter().filter_map(Result::err) {
            tracing::warn!("{fault}");
            self.events.notice(None, &fault);
        }
        self.keep_folder();
    }

    fn record(&self) -> MutexGuard<'_, Kept> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> MutexGuard<'_, SettingsFile> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says where a mount landed.
fn kept_in_folder(hosted: &Hosted) -> String {
    format!(
        "{} is in the Hub folder, so it is there under its name; it stays listed until it is unmounted",
        hosted.order().title()
    )
}

/// All that is wrong with settings, as one sentence and one by one.
fn settings_fault(problems: Vec<Problem>) -> Fault {
    let sentences: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.setting, problem.sentence)).collect();
    let mut fault = Fault::new("settings_invalid", sentences.join("; "));
    fault.problems = problems;
    fault
}

fn store_status(stats: StoreStats) -> StoreStatus {
    StoreStatus {
        dir: stats.folder.to_string_lossy().into_owned(),
        used_bytes: stats.used_bytes,
        max_bytes: stats.limits.max_bytes,
        keep_free_bytes: stats.limits.keep_free_bytes,
        fault: stats.trouble.map(fault),
    }
}

/// What the reader is told.
fn reader_config(resolved: &Resolved) -> ReaderConfig {
    let mut config = ReaderConfig::default();
    config.limits.budget_bytes = resolved.budget_bytes;
    config.limits.stall_ms = resolved.stall_ms;
    // Two engines behind one router do not try again together.
    config.limits.jitter = RandomState::new().hash_one(0) | 1;
    config
}
