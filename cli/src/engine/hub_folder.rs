//! The Hub folder of this engine: whether it is on and where, what is in use in it, and what of that stays on disk. A repo that is
//! in use is listed among the mounts, as one that nobody keeps.

use super::host::Host;
use super::hosted::{Hosted, detach};
use super::order::{Order, Who};
use super::place::Place;
use super::{blocking, record, unix_s};
use crate::exit::{Outcome, fault, fault_of, io_fault};
use crate::{output, paths, wanted};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;
use url::Url;
use weightless_control::folder::FolderProblem;
use weightless_control::{Event, Fault, FolderReply, FolderStatus, MountState, SetFolder, UnmountManner, Unmounted};
use weightless_core::folder::{FolderConfig, FolderEvent, HubFolder, Problem, Recent, Wanted};
use weightless_core::mount::Mount;
use weightless_core::repo::RepoSpec;
use weightless_core::{Error, ErrorKind};
use weightless_platform::mounts::MountSource;
use weightless_platform::{MountOptions, OsMount, driver};

/// Whether there is a Hub folder, and which.
#[derive(Debug, Default)]
pub(crate) struct FolderSwitch {
    /// Held while it is turned on or off, so that two clients do not.
    turning: tokio::sync::Mutex<()>,
    /// Held for a look or a change; std because of that.
    on: Mutex<Option<On>>,
    /// Wakes who waits for it to be mounted.
    changed: Notify,
    /// Where what stays of it is kept; none for an engine that is nobody's but a terminal's.
    path: Option<PathBuf>,
}

/// A Hub folder that is wanted.
#[derive(Debug)]
struct On {
    order: FolderOrder,
    /// What was used before it was mounted, newest first.
    recent: Vec<Recent>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not mounted yet; already there for whom the kernel asks first.
    Starting(Option<Arc<HubFolder>>),
    Ready(Arc<Live>),
    Failed(Fault),
}

/// A Hub folder that is mounted.
#[derive(Debug)]
struct Live {
    volume: Arc<HubFolder>,
    os: OsMount<HubFolder>,
    /// Taken as soon as nothing is mounted there.
    place: Mutex<Option<Place>>,
}

/// A Hub folder that is wanted, and who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FolderOrder {
    dir: PathBuf,
    endpoint: String,
    who: Who,
}

/// What stays on disk: never a token.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    dir: String,
    endpoint: Option<String>,
    account: Option<String>,
    token_file: Option<String>,
    recent: Vec<KeptRepo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeptRepo {
    path: String,
    #[serde(default)]
    modified_unix_s: u64,
}

impl FolderSwitch {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        FolderSwitch { path, ..FolderSwitch::default() }
    }

    /// Whether there is something to serve, or to come.
    pub(crate) fn is_on(&self) -> bool {
        self.on().is_some()
    }

    /// Where it is, or is to be.
    pub(crate) fn dir(&self) -> Option<PathBuf> {
        self.on().as_ref().map(|on| on.order.dir.clone())
    }

    /// The folders that were made for it.
    pub(crate) fn made(&self) -> Vec<PathBuf> {
        let Some(live) = self.live() else { return Vec::new() };
        let place = live.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map(|place| place.made().to_vec()).unwrap_or_default()
    }

    /// What is to be told of it.
    pub(crate) fn status(&self) -> Option<FolderStatus> {
        let on = self.on();
        let On { order, state, .. } = on.as_ref()?;
        let (shown, failed) = match state {
            State::Starting(_) => (MountState::Starting, None),
            State::Ready(_) => (MountState::Ready, None),
            State::Failed(fault) => (MountState::Failed, Some(fault.clone())),
        };
        let volume = state.volume();
        let recent = volume.map(|volume| volume.recent()).unwrap_or_default();
        let problems = volume.map(|volume| volume.problems()).unwrap_or_default();
        Some(FolderStatus {
            endpoint: order.endpoint.clone(),
            account: match &order.who {
                Who::Account(name) => Some(name.clone()),
                _ => None,
            },
            recent: recent.into_iter().map(|recent| recent.path).collect(),
            problems: problems
                .into_iter()
                .map(|Problem { path, error }| FolderProblem { path, fault: fault(error) })
                .collect(),
            fault: failed,
            ..FolderStatus::new(order.dir.to_string_lossy(), shown)
        })
    }

    /// Waits until it is mounted, or is not to be.
    pub(crate) async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.on().as_ref().is_some_and(|on| matches!(on.state, State::Starting(_))) {
                return;
            }
            changed.await;
        }
    }

    fn set(&self, on: Option<On>) {
        *self.on() = on;
        self.changed.notify_waiters();
    }

    fn live(&self) -> Option<Arc<Live>> {
        match &self.on().as_ref()?.state {
            State::Ready(live) => Some(live.clone()),
            _ => None,
        }
    }

    fn on(&self) -> MutexGuard<'_, Option<On>> {
        self.on.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn volume(&self) -> Option<&Arc<HubFolder>> {
        match self {
            State::Starting(volume) => volume.as_ref(),
            State::Ready(live) => Some(&live.volume),
            State::Failed(_) => None,
        }
    }
}

impl FolderOrder {
    /// Reads a request; `dir`, `endpoint` and `who` stand in where it names none.
    fn read(request: &SetFolder, dir: &Path, endpoint: &Url, who: &Who) -> Outcome<Self> {
        let named = request.endpoint.as_deref().map(wanted::endpoint_url).transpose()?;
        let dir = match &request.dir {
            Some(dir) if !Path::new(dir).is_absolute() => {
                return Err(fault_of(ErrorKind::MountPointInvalid, dir.as_str()).advise("Name an absolute path."));
            }
            Some(dir) => PathBuf::from(dir),
            None => dir.to_owned(),
        };
        let asker = Who::read(request.token.as_deref(), request.token_file.as_deref(), request.account.as_deref())?;
        Ok(FolderOrder {
            dir: paths::absolute(&dir)?,
            endpoint: wanted::without_slash(named.as_ref().unwrap_or(endpoint)).to_owned(),
            who: if asker == Who::Default { who.clone() } else { asker },
        })
    }

    fn kept(&self, recent: Vec<Recent>) -> Kept {
        let (account, token_file) = match &self.who {
            Who::Account(name) => (Some(name.clone()), None),
            Who::File(path) => (None, Some(path.to_string_lossy().into_owned())),
            _ => (None, None),
        };
        Kept {
            dir: self.dir.to_string_lossy().into_owned(),
            endpoint: Some(self.endpoint.clone()),
            account,
            token_file,
            recent: recent
                .into_iter()
                .map(|Recent { path, modified }| KeptRepo { path, modified_unix_s: unix_s(modified) })
                .collect(),
        }
    }
}

impl Kept {
    fn request(&self) -> SetFolder {
        SetFolder {
            on: true,
            dir: Some(self.dir.clone()),
            endpoint: self.endpoint.clone(),
            account: self.account.clone(),
            token_file: self.token_file.clone(),
            ..SetFolder::default()
        }
    }

    fn recent(self) -> Vec<Recent> {
        let time = |unix_s| UNIX_EPOCH + Duration::from_secs(unix_s);
        self.recent
            .into_iter()
            .map(|KeptRepo { path, modified_unix_s }| Recent { path, modified: time(modified_unix_s) })
            .collect()
    }
}

impl Host {
    /// What there is to know of the Hub folder.
    pub(crate) fn folder_reply(&self, notes: Vec<String>) -> FolderReply {
        FolderReply { folder: self.folder.status(), notes }
    }

    /// Turns the Hub folder on, moves it, or turns it off.
    pub(crate) async fn set_folder(self: &Arc<Self>, request: &SetFolder) -> Outcome<FolderReply> {
        let _turning = self.folder.turning.lock().await;
        if self.folder.path.is_none() {
            return Err(Fault::new("usage", "this engine is for one mount only"));
        }
        if !request.on {
            self.turn_folder_off(request.manner).await?;
            return Ok(self.folder_reply(Vec::new()));
        }
        let resolved = self.resolved();
        let now = self.folder.on().as_ref().map(|on| (on.order.clone(), on.recent.clone()));
        let (now, mut recent) = now.map_or((None, Vec::new()), |(order, recent)| (Some(order), recent));
        let dir = now.as_ref().map_or_else(|| resolved.mount_folder.clone(), |on| on.dir.clone());
        let order = FolderOrder::read(request, &dir, &self.endpoint()?, self.hubs.default_who())?;
        if let Some(live) = self.folder.live() {
            if now.as_ref() == Some(&order) {
                return Ok(self.folder_reply(Vec::new()));
            }
            recent = live.volume.recent();
            self.turn_folder_off(request.manner).await?;
        }
        match self.turn_folder_on(order, recent).await {
            Ok(notes) => Ok(self.folder_reply(notes)),
            Err(fault) => {
                self.forget_folder();
                Err(fault)
            }
        }
    }

    /// Takes over the Hub folder of an engine before this one: it is listed from now on.
    pub(crate) fn adopt_folder(&self) {
        let Some(kept) = self.folder.path.as_deref().and_then(record::read::<Kept>) else { return };
        let read = self
            .endpoint()
            .and_then(|hub| FolderOrder::read(&kept.request(), Path::new("/"), &hub, self.hubs.default_who()));
        match read {
            Ok(order) => self.folder.set(Some(On { order, recent: kept.recent(), state: State::Starting(None) })),
            Err(fault) => tracing::warn!(code = fault.code, "the Hub folder does not come back: {fault}"),
        }
    }

    /// Mounts what was adopted, or says why not.
    pub(crate) async fn restore_folder(self: &Arc<Self>) {
        let _turning = self.folder.turning.lock().await;
        let adopted = match self.folder.on().as_ref() {
            Some(On { order, recent, state: State::Starting(None) }) => (order.clone(), recent.clone()),
            // A client was quicker, or there is none.
            _ => return,
        };
        let (order, recent) = adopted;
        if let Err(fault) = self.turn_folder_on(order, recent).await {
            self.leave_folder_failed(fault);
        }
    }

    /// Lists the Hub folder without trying it.
    pub(crate) fn leave_folder_failed(&self, fault: Fault) {
        let Some(on) = self.folder.on().take() else { return };
        tracing::warn!(code = fault.code, "the Hub folder: {fault}");
        self.folder.set(Some(On { state: State::Failed(fault.clone()), ..on }));
        self.events.notice(None, &fault);
        self.tell_folder();
    }

    async fn turn_folder_on(self: &Arc<Self>, order: FolderOrder, recent: Vec<Recent>) -> Outcome<Vec<String>> {
        // The folder would be no empty one.
        let in_the_way =
            self.mounts.hosted().into_iter().find(|hosted| Path::new(&hosted.dir()).starts_with(&order.dir));
        if let Some(hosted) = in_the_way {
            let dir = order.dir.display();
            return Err(fault_of(ErrorKind::MountPointBusy, dir.to_string()).advise(format!(
                "{} is mounted in it: weightless unmount {}. The Hub folder shows it at the same place.",
                hosted.order().title(),
                hosted.dir()
            )));
        }
        let place = self.prepare(&order.dir)?;
        let volume = self.engine.folder(self.folder_config(&order, recent.clone()));
        // The kernel may ask before we hear that it is mounted.
        let starting = State::Starting(Some(volume.clone()));
        self.folder.set(Some(On { order: order.clone(), recent: recent.clone(), state: starting }));
        let started = {
            let (volume, dir) = (volume.clone(), order.dir.clone());
            let options = MountOptions { threads: self.resolved().event_loops, ..MountOptions::default() };
            blocking(move || {
                driver::check().and_then(|()| OsMount::start(volume, &MountSource::HubFolder, &dir, &options))
            })
            .await
        };
        let os = started?.map_err(fault)?;
        let cleared = (os.cleared() > 0).then(|| format!("cleared a dead mount at {}", order.dir.display()));
        tracing::info!(dir = %order.dir.display(), "the Hub folder is on");
        let live = Arc::new(Live { volume, os, place: Mutex::new(Some(place)) });
        self.folder.set(Some(On { order, recent, state: State::Ready(live.clone()) }));
        tokio::spawn(self.clone().watch_folder(live));
        self.keep();
        self.keep_folder();
        self.tell_folder();
        Ok(cleared.into_iter().collect())
    }

    fn folder_config(self: &Arc<Self>, order: &FolderOrder, recent: Vec<Recent>) -> FolderConfig {
        let FolderOrder { endpoint, who, .. } = order.clone();
        let (asked, told) = (Arc::downgrade(self), Arc::downgrade(self));
        let hub = move || {
            let (host, endpoint, who) = (asked.clone(), endpoint.clone(), who.clone());
            let hub = async move {
                let host = host.upgrade().ok_or_else(|| Error::new(ErrorKind::Closed, "the Hub folder"))?;
                host.hubs.get(&host.engine, &host.resolved(), &endpoint, &who).await
            };
            Box::pin(hub) as _
        };
        let config = FolderConfig::new(Box::new(hub), Box::new(move |event| folder_event(&told, event)));
        FolderConfig { recent, since: SystemTime::now(), ..config }
    }

    /// Waits for the end of the Hub folder, whoever ends it.
    async fn watch_folder(self: Arc<Self>, live: Arc<Live>) {
        live.os.ended().await;
        live.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_it = self.folder.live().is_some_and(|now| Arc::ptr_eq(&now, &live));
        if is_it && !self.is_closing() {
            tracing::info!("the Hub folder was unmounted");
            self.forget_folder();
        }
    }

    async fn turn_folder_off(&self, manner: UnmountManner) -> Outcome {
        let Some(live) = self.folder.live() else {
            self.forget_folder();
            return Ok(());
        };
        match manner {
            UnmountManner::Refuse => live.os.unmount().await.map_err(fault)?,
            UnmountManner::Lazily => detach(live.os.at()).await?,
            UnmountManner::Force => live.os.unmount_lazily().await.map_err(fault)?,
        }
        live.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.forget_folder();
        Ok(())
    }

    /// There is no Hub folder any more, and nothing in it.
    fn forget_folder(&self) {
        self.folder.set(None);
        for hosted in self.mounts.hosted().into_iter().filter(|hosted| hosted.is_in_folder()) {
            self.take_out(&hosted.dir());
        }
        if let Some(path) = &self.folder.path {
            record::remove(path);
        }
        self.keep();
        self.tell_folder();
    }

    /// Unmounts the Hub folder at the end of the engine; the next one brings it back.
    pub(crate) async fn close_folder(&self) {
        let Some(live) = self.folder.live() else { return };
        let Err(error) = live.os.unmount().await else { return };
        let busy = fault(error);
        output::note(format_args!("{busy}"));
        for holder in &busy.holders {
            output::note(format_args!("  {holder}"));
        }
        if let Err(error) = live.os.unmount_lazily().await {
            tracing::error!(?error, "the Hub folder stays");
        }
    }

    /// Leaves the Hub folder to the next engine, as [`Hosted::abandon`] does a mount. Only for a process that is about to end.
    pub(crate) fn abandon_folder(&self) {
        std::mem::forget(self.folder.live());
    }

    /// `dir` is the Hub folder: it is turned off.
    pub(crate) async fn remove_folder(&self, dir: &str, manner: UnmountManner) -> Option<Outcome<Unmounted>> {
        self.folder.dir().filter(|at| at == Path::new(dir))?;
        let _turning = self.folder.turning.lock().await;
        Some(self.turn_folder_off(manner).await.map(|()| Unmounted { dir: dir.to_owned() }))
    }

    /// The place of an order in the Hub folder, if it lies there.
    pub(crate) fn in_folder(&self, order: &Order) -> Outcome<Option<(Arc<HubFolder>, String)>> {
        let on = self.folder.on();
        let Some(On { order: folder, state, .. }) = on.as_ref() else { return Ok(None) };
        let Ok(rest) = order.dir.strip_prefix(&folder.dir) else { return Ok(None) };
        let at = folder.dir.display();
        let live = match state {
            State::Ready(live) => live,
            State::Failed(_) => return Ok(None),
            State::Starting(_) => {
                return Err(fault_of(ErrorKind::MountPointBusy, at.to_string())
                    .advise("The Hub folder is being mounted there at this moment; try again."));
            }
        };
        let path = paths::place(&order.spec);
        if rest == Path::new(&path) {
            return Ok(Some((live.volume.clone(), path)));
        }
        let invalid = fault_of(ErrorKind::MountPointInvalid, order.dir.display().to_string());
        Err(invalid.advise(format!("The Hub folder is there, in which this repo is at {at}/{path}.")))
    }

    /// A repo of the Hub folder is in use: it is listed among the mounts.
    fn take_in(&self, path: &str, Wanted { repo, revision }: Wanted, mount: Arc<Mount>) {
        let found = self.folder.on().as_ref().and_then(|on| Some((on.order.clone(), on.state.volume()?.clone())));
        let Some((FolderOrder { dir, endpoint, who }, volume)) = found else { return };
        let spec = RepoSpec { repo, revision, path: None };
        let order =
            Order { spec, endpoint, who, dir: dir.join(path), at_login: false, follow: false, event_loops: None };
        let hosted = Arc::new(Hosted::in_folder(order, mount, volume, path.to_owned(), false));
        if self.mounts.take_in(&hosted) {
            // Whatever it was set to when it was in use before.
            hosted.set_all_paused(self.is_paused());
            hosted.set_weight(1);
            self.tell_mount(&hosted.status());
        }
    }

    /// A repo of the Hub folder is not in use any more.
    fn take_out(&self, dir: &str) {
        if let Some(hosted) = self.mounts.take_out(dir) {
            hosted.leave();
            self.events.forget(dir);
            self.events.tell(Event::MountGone { dir: dir.to_owned() });
        }
    }

    /// Writes down what was used in the Hub folder.
    pub(super) fn keep_folder(&self) {
        let Some(path) = &self.folder.path else { return };
        let kept = {
            let on = self.folder.on();
            let Some(On { order, state, .. }) = on.as_ref() else { return };
            let Some(volume) = state.volume() else { return };
            order.kept(volume.recent())
        };
        if let Err(error) = record::write(path, &kept) {
            let fault = io_fault(path.display(), &error);
            tracing::warn!("{fault}");
            self.events.notice(None, &fault);
        }
    }

    fn tell_folder(&self) {
        self.events.tell(Event::Folder { folder: self.folder.status().map(Box::new) });
    }
}

/// Takes over what happens in the folder. Called by whoever looks into it, so the disk is left to another thread.
fn folder_event(host: &Weak<Host>, event: FolderEvent) {
    let Some(host) = host.upgrade() else { return };
    match event {
        FolderEvent::InUse { path, wanted, mount } => {
            let runtime = mount.runtime().clone();
            host.take_in(&path, wanted, mount);
            runtime.spawn_blocking(move || host.keep_folder());
        }
        FolderEvent::LetGo { path } => {
            if let Some(dir) = host.folder.dir() {
                host.take_out(&dir.join(path).to_string_lossy());
            }
        }
        FolderEvent::Problem(Problem { path, error }) => {
            // A name that is not there is a program's guess, mostly; `status` has it.
            let is_guess = matches!(error.kind(), ErrorKind::RepoNotFound | ErrorKind::RevisionNotFound);
            if let Some(dir) = host.folder.dir().filter(|_| !is_guess) {
                host.events.notice(Some(&dir.join(path).to_string_lossy()), &fault(error));
            }
        }
    }
}
