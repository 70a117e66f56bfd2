//! The Hub folder: every repo of the Hub under its name, without being mounted. A name is asked for when somebody looks it up,
//! once; listing shows what was used and asks nobody; what is not used for a while is let go of.
//!
//! | module | subject |
//! | --- | --- |
//! | `names` | what a name means; pure |
//! | `state` | what is known, under which ids |
//! | `answers` | what the Hub said of names that lead nowhere |
//! | `pace` | how often it is asked |
//!
//! A repo in it is a [`Mount`] like any other: one commit, the engine's one reader. Between the kernel and a read stands
//! nothing but that reader; opening and looking up pass one short lock.
//!
//! **Locking.** All that changes is in one `State` behind one std mutex, held for map work, never across an await. Under it
//! a mount may be asked how many files it has open; mounts are dropped, and people told, after it is released.

mod answers;
mod names;
mod pace;
mod state;
#[cfg(test)]
pub(crate) use names::fuzz;

#[cfg(test)]
mod tests;

pub use answers::Problem;
pub use names::{Wanted, encode, path};
pub use state::Recent;

use crate::engine::Maker;
use crate::hub::{Commit, Hub};
use crate::mount::Mount;
use crate::reader::{OpenFile, Reply};
use crate::repo::RepoSpec;
use crate::tree::{Directory, Node, NodeId, Totals};
use crate::volume::{DropName, Dropped, Lasting, Volume};
use crate::{Error, ErrorKind, Result};
use futures_util::future::BoxFuture;
use names::Meaning;
use state::{Asking, Child, Slot, State, is_first, slot_of};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How long a repo that nobody uses stays (*ours*): a coffee, and the next cell of a notebook finds its tree still there.
const IDLE_MS: u64 = 10 * 60_000;
/// Between two looks for what is not used any more.
const SWEEP_MS: u64 = 60_000;
/// How long unmounting waits for the kernel to forget a name.
const DROP_MS: u64 = 1_000;

/// The Hub that is asked, and as whom: asked for anew for each name, since people log in meanwhile.
pub type HubOf = Box<dyn Fn() -> BoxFuture<'static, Result<Arc<Hub>>> + Send + Sync>;

/// What happens in the folder.
#[derive(Debug, Clone)]
pub enum FolderEvent {
    /// Somebody uses a repo that was not in use.
    InUse {
        /// Its name, from the folder's root on.
        path: String,
        /// What that name means.
        wanted: Wanted,
        /// What it shows.
        mount: Arc<Mount>,
    },
    /// A repo has not been used for a while.
    LetGo {
        /// Its name.
        path: String,
    },
    /// A name led nowhere, for a reason that people should know.
    Problem(Problem),
}

/// Told what happens. Called outside every lock, from any thread; must not block.
pub type Told = Box<dyn Fn(FolderEvent) + Send + Sync>;

/// What the folder is told once.
pub struct FolderConfig {
    /// The Hub.
    pub hub: HubOf,
    /// Told what happens.
    pub told: Told,
    /// What was used before, newest first.
    pub recent: Vec<Recent>,
    /// What folders of its own show as their time.
    pub since: SystemTime,
    /// How long a repo that nobody uses stays.
    pub idle: Duration,
}

impl FolderConfig {
    /// A folder in which nothing was used yet.
    pub fn new(hub: HubOf, told: Told) -> Self {
        let idle = Duration::from_millis(IDLE_MS);
        FolderConfig { hub, told, recent: Vec::new(), since: SystemTime::UNIX_EPOCH, idle }
    }
}

/// All of the Hub, as a volume.
pub struct HubFolder {
    config: FolderConfig,
    maker: Maker,
    /// See the module's words on locking.
    state: Mutex<State>,
    /// The Hub that was asked last: what it said holds for its view. Std: held for a copy or a swap.
    asked: Mutex<Option<Arc<Hub>>>,
    /// Makes the kernel forget a name. Std: held for a copy or a swap.
    drop_name: Mutex<Option<Arc<DropName>>>,
    closing: AtomicBool,
}

impl fmt::Debug for HubFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubFolder").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Where looking a name up stands.
enum Step {
    Found(Node),
    Ask(Arc<Asking>),
}

impl HubFolder {
    pub(crate) fn new(maker: Maker, mut config: FolderConfig) -> Arc<Self> {
        let state = Mutex::new(State::new(std::mem::take(&mut config.recent)));
        let runtime = maker.runtime.clone();
        let this = Arc::new(HubFolder {
            config,
            maker,
            state,
            asked: Mutex::default(),
            drop_name: Mutex::default(),
            closing: AtomicBool::new(false),
        });
        runtime.spawn(keep_sweeping(Arc::downgrade(&this)));
        this
    }

    /// What was used, newest first.
    pub fn recent(&self) -> Vec<Recent> {
        self.state().recent()
    }

    /// Names that led nowhere lately, newest first, with the reason.
    pub fn problems(&self) -> Vec<Problem> {
        self.state().answers.problems(Instant::now())
    }

    /// Mounts a repo in the folder, at `path`, as `hub` sees it: it is listed and not let go of until [`HubFolder::let_go`].
    ///
    /// # Errors
    /// What the Hub says of it; [`ErrorKind::MountPointInvalid`] where no repo can be at `path`.
    pub async fn keep(&self, path: &str, spec: RepoSpec, hub: &Arc<Hub>) -> Result<Arc<Mount>> {
        let wanted = Wanted { repo: spec.repo.clone(), revision: spec.revision.clone() };
        let revision = spec.revision.as_deref().unwrap_or("main").to_owned();
        // Asked for before there is anything under the name, which a failure would leave behind.
        let commit = hub.commit(&spec.repo, &revision).await?;
        hub.check_access(&commit).await?;
        let (slot, shown) = {
            let mut state = self.state();
            let slot = state.repo_at(path, Some(&wanted), commit.modified, Instant::now());
            slot.and_then(|slot| Some((slot, state.slot(slot)?.shown.clone())))
                .ok_or_else(|| Error::new(ErrorKind::MountPointInvalid, path))?
        };
        let commit = shown.commit.get_or_init(move || async move { commit }).await.clone();
        let show = self.maker.show(hub, commit.clone(), revision, spec.path.as_deref(), shown.first);
        let mount = shown.mount.get_or_try_init(|| show).await?.clone();
        let dropped = {
            let mut state = self.state();
            state.answers.forget(path);
            // A subfolder's name leads nowhere by itself, which the kernel may have been told before.
            let dropped = spec.path.as_ref().and_then(|_| state.dropped(slot));
            if dropped.is_none() {
                state.begin_use(slot, &commit, Instant::now());
            }
            state.keep(slot);
            dropped
        };
        self.drop_names(dropped.into_iter().collect());
        Ok(mount)
    }

    /// The repo at `path` is not to be let go of by itself from now on, if it is there.
    pub fn keep_what_is(&self, path: &str) {
        let mut state = self.state();
        if let Some(slot) = state.repo_at(path, None, self.config.since, Instant::now()) {
            state.keep(slot);
        }
    }

    /// Lets go of the repo at `path`: it is not listed any more, and its name is looked up anew. Who has files open reads on.
    pub async fn let_go(&self, path: &str) {
        let dropped = self.state().let_go(path);
        if let Some(dropping) = self.drop_names(dropped.into_iter().collect()) {
            // Whoever comes after us is to find the name gone; a kernel that is busy does not hold us up.
            let _ = tokio::time::timeout(Duration::from_millis(DROP_MS), dropping).await;
        }
        self.sweep(Instant::now());
    }

    /// Lets go of what nobody has used for a while, as of `now`.
    pub fn sweep(&self, now: Instant) {
        let swept = self.state().sweep(now, self.config.idle);
        for path in swept.let_go {
            tracing::debug!(path, "let go of");
            (self.config.told)(FolderEvent::LetGo { path });
        }
        self.drop_names(swept.dropped);
    }

    /// On a thread that may block; one after the other.
    fn drop_names(&self, dropped: Vec<Dropped>) -> Option<JoinHandle<()>> {
        let drop_name = self.drop_name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let drop_name = drop_name.filter(|_| !dropped.is_empty())?;
        Some(self.maker.runtime.spawn_blocking(move || dropped.iter().for_each(|dropped| drop_name(dropped))))
    }

    async fn find(self: Arc<Self>, parent: NodeId, name: Box<str>) -> Result<Node> {
        match slot_of(parent) {
            0 => match self.step(parent.0 as u32, &name)? {
                Step::Found(node) => Ok(node),
                Step::Ask(asking) => self.settle(&asking).await,
            },
            slot => self.mount_of(slot).await?.lookup(parent, name).await,
        }
    }

    /// What can be said of a name without asking anybody.
    fn step(&self, dir: u32, name: &str) -> Result<Step> {
        let now = Instant::now();
        let view = self.asked.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|hub| hub.view());
        let mut state = self.state();
        if let Some(child) = state.child(dir, name) {
            if let Child::Slot(slot) = child {
                state.touch(slot, now);
            }
            return state.child_node(child).map(Step::Found).ok_or_else(stale);
        }
        let place = state.place(dir).ok_or_else(stale)?.clone();
        let path = state.path(dir, name);
        let absent = || Error::new(ErrorKind::EntryNotFound, path.as_str());
        let (wanted, or_account) = match names::meaning(&place, name).ok_or_else(absent)? {
            Meaning::Place(place) => return self.account(&mut state, dir, name, place).map(Step::Found),
            Meaning::Account(place, None) => return self.account(&mut state, dir, name, place).map(Step::Found),
            Meaning::Account(place, Some(wanted)) => (wanted, Some(place)),
            Meaning::Repo(wanted) => (wanted, None),
        };
        // Listed, so it is there, and nobody is asked until somebody goes in.
        if let Some(recent) = state.recent().into_iter().find(|recent| recent.path == path) {
            let slot = state.repo(dir, name, &wanted, recent.modified, now).ok_or_else(stale)?;
            return state.child_node(Child::Slot(slot)).map(Step::Found).ok_or_else(stale);
        }
        // An account of which something is listed is known.
        let prefix = format!("{path}/");
        let known = or_account.clone().filter(|_| state.recent().iter().any(|recent| recent.path.starts_with(&prefix)));
        if let Some(place) = known {
            return self.account(&mut state, dir, name, place).map(Step::Found);
        }
        match (view.and_then(|view| state.answers.get(now, &path, view)), or_account) {
            (Some(error), Some(place)) if leads_to_account(error.kind()) => {
                self.account(&mut state, dir, name, place).map(Step::Found)
            }
            (Some(error), _) => Err(error),
            (None, or_account) => {
                let commit = tokio::sync::OnceCell::new();
                Ok(Step::Ask(state.ask(Asking { dir, name: name.into(), path, wanted, or_account, commit })))
            }
        }
    }

    fn account(&self, state: &mut State, dir: u32, name: &str, place: names::Place) -> Result<Node> {
        let dir = state.dir(dir, name, place).ok_or_else(stale)?;
        state.child_node(Child::Dir(dir)).ok_or_else(stale)
    }

    /// Waits for the Hub's word on a name.
    async fn settle(&self, asking: &Asking) -> Result<Node> {
        let Asking { dir, name, path, wanted, or_account, commit } = asking;
        let answer = commit.get_or_try_init(|| self.ask(path, wanted)).await;
        let now = Instant::now();
        match answer {
            Ok(commit) => {
                let mut state = self.state();
                state.answers.forget(path);
                let slot = state.repo(*dir, name, wanted, commit.modified, now).ok_or_else(stale)?;
                let slot_of_now = state.slot(slot).ok_or_else(stale)?;
                // Whoever was quicker has set it.
                let _ = slot_of_now.shown.commit.set(commit.clone());
                state.child_node(Child::Slot(slot)).ok_or_else(stale)
            }
            Err(error) => match or_account {
                Some(place) if leads_to_account(error.kind()) => {
                    self.account(&mut self.state(), *dir, name, place.clone())
                }
                _ => {
                    self.list_problem(path, &error);
                    Err(error)
                }
            },
        }
    }

    /// Asks for the commit that a name stands for, and whether it may be read.
    async fn ask(&self, path: &str, wanted: &Wanted) -> Result<Commit> {
        let hub = self.hub().await?;
        let view = hub.view();
        let (known, place) = {
            let mut state = self.state();
            let now = Instant::now();
            let known = state.answers.get(now, path, view);
            let place = if known.is_none() { state.pace.take(now) } else { Ok(Duration::ZERO) };
            (known, place)
        };
        if let Some(error) = known {
            return Err(error);
        }
        match place {
            Ok(wait) => tokio::time::sleep(wait).await,
            Err(wait) => return Err(Error::new(ErrorKind::RateLimited, path).wait(wait)),
        }
        let revision = wanted.revision.as_deref().unwrap_or("main");
        let asked = async {
            let commit = hub.commit(&wanted.repo, revision).await?;
            // A gated repo shows its names to everybody; whoever may not read it learns so now and not file by file.
            hub.check_access(&commit).await?;
            Ok(commit)
        };
        asked.await.inspect_err(|error| self.keep_answer(path, &hub, error))
    }

    fn keep_answer(&self, path: &str, hub: &Hub, error: &Error) {
        let now = Instant::now();
        let mut state = self.state();
        state.answers.keep(now, path, hub.view(), error);
        if error.kind() == ErrorKind::RateLimited {
            state.pace.close(now + error.wait_asked().unwrap_or_default());
        }
    }

    async fn hub(&self) -> Result<Arc<Hub>> {
        let hub = (self.config.hub)().await?;
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(hub.clone());
        Ok(hub)
    }

    /// The mount of a repo whose root is known; its tree is asked for if nobody has needed it yet.
    async fn mount_of(&self, number: u32) -> Result<Arc<Mount>> {
        let (shown, path, wanted, in_use) = {
            let mut state = self.state();
            let slot = state.touch(number, Instant::now()).ok_or_else(stale)?;
            (slot.shown.clone(), slot.path.clone(), slot.wanted.clone(), slot.in_use())
        };
        if let (true, Some(mount)) = (in_use, shown.mount.get()) {
            return Ok(mount.clone());
        }
        let show = || async {
            let commit = shown.commit.get_or_try_init(|| self.ask(&path, &wanted)).await?.clone();
            let hub = self.hub().await?;
            if let Some(error) = self.state().answers.get(Instant::now(), &path, hub.view()) {
                return Err(error);
            }
            let revision = wanted.revision.clone().unwrap_or_else(|| "main".to_owned());
            let shown = self.maker.show(&hub, commit, revision, None, shown.first).await;
            shown.inspect_err(|error| self.keep_answer(&path, &hub, error))
        };
        match shown.mount.get_or_try_init(show).await {
            Ok(mount) => {
                self.begin_use(number, &path, &wanted, mount);
                Ok(mount.clone())
            }
            Err(error) => {
                if matches!(error.kind(), ErrorKind::RepoNotFound | ErrorKind::RevisionNotFound) {
                    self.state().forget_recent(&path);
                }
                self.list_problem(&path, &error);
                Err(error)
            }
        }
    }

    /// The mount of a repo of which a node is known, so that it has one.
    fn ready(&self, number: u32) -> Result<Arc<Mount>> {
        let (mount, path, wanted, in_use) = {
            let mut state = self.state();
            let slot = state.touch(number, Instant::now()).ok_or_else(stale)?;
            let mount = slot.shown.mount.get().ok_or_else(stale)?.clone();
            (mount, slot.path.clone(), slot.wanted.clone(), slot.in_use())
        };
        if !in_use {
            self.begin_use(number, &path, &wanted, &mount);
        }
        Ok(mount)
    }

    fn begin_use(&self, number: u32, path: &str, wanted: &Wanted, mount: &Arc<Mount>) {
        let begins = {
            let mut state = self.state();
            state.answers.forget(path);
            let commit = state.slot(number).and_then(|slot| slot.shown.commit.get()).cloned();
            commit.is_some_and(|commit| state.begin_use(number, &commit, Instant::now()))
        };
        if begins {
            let (path, wanted, mount) = (path.to_owned(), wanted.clone(), mount.clone());
            (self.config.told)(FolderEvent::InUse { path, wanted, mount });
        }
    }

    /// The mount of a repo, if it has one; nobody is said to use it.
    fn peek(&self, number: u32) -> Option<Arc<Mount>> {
        self.state().slot(number)?.shown.mount.get().cloned()
    }

    fn list_problem(&self, path: &str, error: &Error) {
        self.state().answers.list(Instant::now(), path, error);
        let problem = Problem { path: path.to_owned(), error: error.clone() };
        (self.config.told)(FolderEvent::Problem(problem));
    }

    fn mounts(&self) -> Vec<Arc<Mount>> {
        self.state().slots().filter_map(|slot: &Slot| slot.shown.mount.get().cloned()).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a bug that failed its own caller; what is added is added whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this answer to a name without an account says that it is one. To somebody without a token the Hub does not tell
/// absent from private.
fn leads_to_account(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::RepoNotFound | ErrorKind::NotLoggedIn)
}

fn stale() -> Error {
    Error::new(ErrorKind::Stale, "the Hub folder")
}

async fn keep_sweeping(folder: Weak<HubFolder>) {
    loop {
        tokio::time::sleep(Duration::from_millis(SWEEP_MS)).await;
        let Some(folder) = folder.upgrade() else { return };
        folder.sweep(Instant::now());
    }
}

impl Volume for HubFolder {
    fn runtime(&self) -> &Handle {
        &self.maker.runtime
    }

    fn totals(&self) -> Totals {
        self.mounts().iter().map(|mount| mount.totals()).fold(Totals::default(), |sum, totals| Totals {
            bytes: sum.bytes.saturating_add(totals.bytes),
            files: sum.files + totals.files,
            skipped: sum.skipped + totals.skipped,
            complete: false,
        })
    }

    fn modified(&self, node: NodeId) -> SystemTime {
        self.state().modified(node).unwrap_or(self.config.since)
    }

    fn node(&self, id: NodeId) -> Option<Node> {
        if slot_of(id) == 0 || is_first(id) { self.state().node(id) } else { self.peek(slot_of(id))?.node(id) }
    }

    fn known(&self, parent: NodeId, name: &str) -> Option<Node> {
        match slot_of(parent) {
            0 => {
                let state = self.state();
                state.child(parent.0 as u32, name).and_then(|child| state.child_node(child))
            }
            slot => self.peek(slot)?.known(parent, name),
        }
    }

    fn lookup(self: Arc<Self>, parent: NodeId, name: Box<str>) -> impl Future<Output = Result<Node>> + Send + 'static {
        self.find(parent, name)
    }

    async fn read_dir(self: Arc<Self>, dir: NodeId) -> Result<Arc<Directory>> {
        match slot_of(dir) {
            0 => Ok(Arc::new(Directory { entries: self.state().list(dir.0 as u32, Instant::now()) })),
            slot => self.mount_of(slot).await?.read_dir(dir).await,
        }
    }

    fn open(&self, node: NodeId, opener: Option<u32>) -> Result<OpenFile> {
        if self.closing.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "the Hub folder"));
        }
        match slot_of(node) {
            0 => Err(Error::new(ErrorKind::IsADirectory, "the Hub folder")),
            slot => self.ready(slot)?.open(node, opener),
        }
    }

    fn read(&self, handle: OpenFile, offset: u64, len: u32, reply: Reply) {
        // Handles are the reader's, which all mounts of an engine share.
        self.maker.reader.read(handle, offset, len, reply);
    }

    fn close(&self, node: NodeId, handle: OpenFile) {
        // A mount that is gone has closed its files.
        if let Some(mount) = self.peek(slot_of(node)) {
            mount.close(handle);
        }
    }

    fn attributes(&self, node: NodeId) -> Vec<(&'static str, String)> {
        self.peek(slot_of(node)).map(|mount| mount.attributes(node)).unwrap_or_default()
    }

    fn shut_down(&self) {
        self.closing.store(true, Ordering::Release);
        self.drop_name.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.mounts().iter().for_each(|mount| mount.shut_down());
    }

    fn lasting(&self, node: NodeId) -> Lasting {
        match slot_of(node) {
            0 => Lasting { name: false, listing: false },
            _ => Lasting { name: !is_first(node), listing: true },
        }
    }

    fn told(&self, node: NodeId) {
        self.state().told(node);
    }

    fn forgotten(&self, node: NodeId, count: u64) {
        // Dropped after the lock.
        let _slot = self.state().forgotten(node, count, Instant::now(), self.config.idle);
    }

    fn attach(&self, drop_name: DropName) {
        *self.drop_name.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(drop_name));
    }
}
