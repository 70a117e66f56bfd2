//! A repo at a commit: what a volume of one repo shows, and what the Hub folder shows of each of its repos. Every call answers at
//! once or returns a future; none blocks a thread. A mount may move to a newer commit: names and listings are then those of that
//! one, and files that are open keep their content.

mod shown;

use crate::hub::Commit;
use crate::reader::{Counters, OpenFile, Reader, Reply, WaitsFor};
use crate::repo::RepoId;
use crate::transport::{Origin, Source};
use crate::tree::{FileMeta, Node, NodeId, NodeKind, Totals, Tree};
use crate::volume::{DropName, Dropped, Volume};
use crate::{Error, ErrorKind, Result};
use shown::{History, Shown};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use weightless_plan::{Mode, MountId};

pub use crate::reader::{OpenFile as HandleId, ReadData};
pub use crate::tree::Directory;

/// A repo at a commit.
#[derive(Debug)]
pub struct Mount {
    id: MountId,
    repo: RepoId,
    revision: String,
    shown: History,
    /// Held while the mount moves.
    moving: tokio::sync::Mutex<()>,
    forget: Forget,
    origin: Arc<dyn Origin>,
    reader: Arc<Reader>,
    counters: Arc<Counters>,
    runtime: Handle,
    /// The open files of this mount, so that it can be shut down; std because it is held for an insert or a remove.
    files: Mutex<HashMap<OpenFile, Opened>>,
    /// Look-ups, listings and opens so far.
    uses: AtomicU64,
    closing: AtomicBool,
    paused: AtomicBool,
}

/// How the system is asked to forget a name, once the mount is in it; std because it is held for a copy.
#[derive(Default)]
struct Forget(Mutex<Option<Arc<DropName>>>);

impl Forget {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<DropName>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Forget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forget")
    }
}

/// What is known of an open file beside what the reader counts.
#[derive(Debug, Clone, Copy)]
struct Opened {
    node: NodeId,
    opener: Option<u32>,
    at: SystemTime,
}

/// An open file, as of now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFileStats {
    /// The handle.
    pub handle: HandleId,
    /// The node that it is of.
    pub node: NodeId,
    /// Path in the repo.
    pub path: Arc<str>,
    /// Length in bytes.
    pub size: u64,
    /// The process that opened it, where the system told.
    pub opener: Option<u32>,
    /// When it was opened.
    pub opened_at: SystemTime,
    /// Bytes that its reads were answered with.
    pub delivered_bytes: u64,
    /// Bytes off the network by fetches that it began; what it shares with another open file counts there.
    pub fetched_bytes: u64,
    /// Reads that wait.
    pub waiting_reads: usize,
    /// What the oldest of them waits for.
    pub waits_for: Option<WaitsFor>,
}

impl Mount {
    /// What `revision` pointed to is in `commit`; `tree` is its tree, or a folder of it; `origin` serves its files.
    pub(crate) fn new(
        id: MountId,
        commit: Commit,
        revision: String,
        tree: Arc<Tree>,
        origin: Arc<dyn Origin>,
        reader: Arc<Reader>,
        runtime: Handle,
    ) -> Arc<Self> {
        Arc::new(Mount {
            id,
            repo: commit.repo,
            revision,
            shown: History::new(Shown { commit: commit.sha, modified: commit.modified, tree }),
            moving: tokio::sync::Mutex::default(),
            forget: Forget::default(),
            origin,
            reader,
            counters: Arc::default(),
            runtime,
            files: Mutex::default(),
            uses: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            paused: AtomicBool::new(false),
        })
    }

    /// Repo, under the name the Hub gives it now.
    pub fn repo(&self) -> &RepoId {
        &self.repo
    }

    /// Revision as the user named it (`main` when not named).
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Full sha of the commit that is shown.
    pub fn commit(&self) -> Arc<str> {
        self.shown.now().commit.clone()
    }

    /// Where replies that wait are run.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Sums over the files known so far; exact once the whole tree is loaded.
    pub fn totals(&self) -> Totals {
        self.shown.now().tree.totals()
    }

    /// Time of the commit; what every file and folder shows as mtime.
    pub fn modified(&self) -> SystemTime {
        self.shown.now().modified
    }

    /// Bytes that went through this mount.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counts what programs ask of it, names, listings and files: whoever wants to know whether somebody uses it compares.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    fn used(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
    }

    /// How many files are open now.
    pub fn open_files(&self) -> usize {
        self.opened().len()
    }

    /// The files that are open now, in the order in which they were opened; empty after a bug in the reader.
    pub fn files(&self) -> Vec<OpenFileStats> {
        let stats = self.reader.files(self.id).unwrap_or_default();
        let opened = self.opened();
        stats
            .into_iter()
            .filter_map(|stats| {
                let Opened { node, opener, at } = *opened.get(&stats.file)?;
                Some(OpenFileStats {
                    handle: stats.file,
                    node,
                    path: stats.path,
                    size: stats.size,
                    opener,
                    opened_at: at,
                    delivered_bytes: stats.delivered_bytes,
                    fetched_bytes: stats.fetched_bytes,
                    waiting_reads: stats.waiting_reads,
                    waits_for: stats.waits_for,
                })
            })
            .collect()
    }

    /// Pauses the mount, or resumes it: while it is paused, reads fail at once with [`ErrorKind::Paused`] and no content is
    /// fetched. Files stay open, folders are listed.
    pub fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
        self.reader.set_paused(self.id, paused);
    }

    /// Whether the mount is paused.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Weight in the shares of read-ahead among mounts; 1 unless set, and 1 at least.
    pub fn set_weight(&self, weight: u32) {
        self.reader.set_weight(self.id, weight);
    }

    /// A node that was handed out before. Never waits.
    pub fn node(&self, id: NodeId) -> Option<Node> {
        let (shown, id) = self.shown.of(id)?;
        Some(self.shown.outward(&shown, shown.tree.node(id)?))
    }

    /// Finds `name` in `parent` among what is known of the commit that is shown; asks nobody.
    pub fn known(&self, parent: NodeId, name: &str) -> Option<Node> {
        let (shown, parent) = self.shown.of(parent)?;
        let is_now = Arc::ptr_eq(&shown, &self.shown.now());
        Some(self.shown.outward(&shown, shown.tree.known(parent, name).filter(|_| is_now)?))
    }

    /// Finds `name` in `parent`. A listed folder answers at once; an unlisted one asks for this one name only.
    ///
    /// # Errors
    /// [`ErrorKind::EntryNotFound`], [`ErrorKind::NotADirectory`], or what kept the Hub from answering.
    pub async fn lookup(self: Arc<Self>, parent: NodeId, name: Box<str>) -> Result<Node> {
        self.used();
        let (shown, parent) = self.folder_now(parent).await?;
        let found = shown.tree.lookup(parent, &name).await.map_err(|error| self.rewritten(&shown, error))?;
        Ok(self.shown.outward(&shown, found))
    }

    /// A commit that was there when it was mounted, and of which the Hub knows nothing any more.
    fn rewritten(&self, shown: &Shown, error: Error) -> Error {
        if error.kind() != ErrorKind::RevisionNotFound {
            return error;
        }
        let error = error.saying("the commit that is shown is gone: the repo's history was rewritten");
        if shown.commit.starts_with(&self.revision) {
            error.advise("Mount another revision.")
        } else {
            error.advise(format!("`weightless update` moves the mount to what {} is now.", self.revision))
        }
    }

    /// What a folder is now: the one of its path in the commit that is shown. Somebody may work in a folder of a commit before.
    async fn folder_now(&self, dir: NodeId) -> Result<(Arc<Shown>, NodeId)> {
        let (of, dir) = self.shown.of(dir).ok_or_else(|| self.stale())?;
        let now = self.shown.now();
        if Arc::ptr_eq(&of, &now) {
            return Ok((now, dir));
        }
        let mut at = now.tree.root();
        for name in of.tree.names_to(dir) {
            at = now.tree.lookup(at, &name).await?.id;
        }
        Ok((now, at))
    }

    fn stale(&self) -> Error {
        Error::new(ErrorKind::Stale, self.repo.to_string())
    }

    /// Lists a folder, whole.
    ///
    /// # Errors
    /// As [`Mount::lookup`].
    pub async fn read_dir(self: Arc<Self>, dir: NodeId) -> Result<Arc<Directory>> {
        self.used();
        let (shown, dir) = self.folder_now(dir).await?;
        shown.tree.read_dir(dir).await.map_err(|error| self.rewritten(&shown, error))
    }

    /// Opens a file for the process `opener`, where that is known; asks nothing of the network.
    ///
    /// # Errors
    /// [`ErrorKind::EntryNotFound`] for a node never handed out, [`ErrorKind::Stale`] for one of a commit before,
    /// [`ErrorKind::IsADirectory`], [`ErrorKind::Closed`].
    pub fn open(&self, node: NodeId, opener: Option<u32>) -> Result<HandleId> {
        if self.closing.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, self.repo.to_string()));
        }
        self.used();
        let now = self.shown.now();
        let (_, id) = self.shown.of(node).filter(|(of, _)| Arc::ptr_eq(of, &now)).ok_or_else(|| self.stale())?;
        let file = match now.tree.node(id) {
            Some(Node { kind: NodeKind::File(file), .. }) => file,
            Some(Node { name, .. }) => return Err(Error::new(ErrorKind::IsADirectory, &*name)),
            None => return Err(Error::new(ErrorKind::EntryNotFound, self.repo.to_string())),
        };
        let source = Source { origin: self.origin.clone(), repo: self.repo.clone(), commit: now.commit.clone(), file };
        let handle = self.reader.open(Arc::new(source), self.id, Mode::Cached, self.counters.clone())?;
        #[expect(
            clippy::disallowed_methods,
            reason = "people are told when a file was opened; nothing is decided by it"
        )]
        let at = SystemTime::now();
        self.opened().insert(handle, Opened { node, opener, at });
        Ok(handle)
    }

    /// Reads `len` bytes at `offset`, cut at the end of the file. `reply` is called once: before this returns if the bytes
    /// are in memory, else from a runtime thread when the last of them came or the read failed.
    pub fn read(&self, handle: HandleId, offset: u64, len: u32, reply: Reply) {
        self.reader.read(handle, offset, len, reply);
    }

    /// Closes a handle: its reads end with [`ErrorKind::Closed`], what nobody else wants is cancelled.
    pub fn close(&self, handle: HandleId) {
        let known = self.opened().remove(&handle).is_some();
        if known {
            self.reader.close(handle);
        }
    }

    /// Extended attributes of a file: commit, etag, sha256, xet, those that are known.
    pub fn attributes(&self, node: NodeId) -> Vec<(&'static str, String)> {
        let Some((shown, node)) = self.shown.of(node) else { return Vec::new() };
        let mut attributes = vec![("commit", shown.commit.to_string())];
        if let Some(Node { kind: NodeKind::File(file), .. }) = shown.tree.node(node) {
            attributes.push(("etag", etag(&file).to_owned()));
            attributes.extend(file.sha256.clone().map(|hash| ("sha256", hash)));
            attributes.extend(file.xet_hash.clone().map(|hash| ("xet", hash)));
        }
        attributes
    }

    /// Held by whoever moves the mount, so that one does after the other.
    pub(crate) async fn to_move(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.moving.lock().await
    }

    /// The root of the tree that is shown next; `None` if this mount cannot move.
    pub(crate) fn next_root(&self) -> Option<NodeId> {
        self.shown.next_root()
    }

    /// Shows `commit` from now on, whose tree is `tree`, all of it at once; returns what asks the system to forget the names that it
    /// knows. Whoever comes by a name that is not forgotten yet is sent to look it up again as soon as it opens something.
    pub(crate) fn show(&self, commit: Commit, tree: Arc<Tree>) -> JoinHandle<()> {
        let before = self.shown.now();
        // What is in these folders goes with them; names that were not there may be known not to be.
        let mut names: BTreeSet<Arc<str>> = before.tree.names_in(before.tree.root()).into_iter().collect();
        names.extend(tree.names_in(tree.root()));
        self.shown.push(Shown { commit: commit.sha, modified: commit.modified, tree });
        let drop_name = self.forget.lock().clone();
        self.runtime.spawn_blocking(move || {
            let Some(drop_name) = drop_name else { return };
            for name in names {
                let path = name.to_string();
                drop_name(&Dropped { parent: NodeId::ROOT, name, path, unless_held: false });
            }
        })
    }

    /// Fails every waiting read of this mount and refuses new files; called before unmounting. Waits for nothing.
    pub fn shut_down(&self) {
        self.closing.store(true, Ordering::Release);
        let files = std::mem::take(&mut *self.opened());
        for handle in files.into_keys() {
            self.reader.close(handle);
        }
    }

    fn opened(&self) -> std::sync::MutexGuard<'_, HashMap<OpenFile, Opened>> {
        self.files.lock().expect("no code panics under this lock")
    }
}

impl Volume for Mount {
    fn runtime(&self) -> &Handle {
        Mount::runtime(self)
    }

    fn totals(&self) -> Totals {
        Mount::totals(self)
    }

    fn modified(&self, _node: NodeId) -> SystemTime {
        Mount::modified(self)
    }

    fn node(&self, id: NodeId) -> Option<Node> {
        Mount::node(self, id)
    }

    fn known(&self, parent: NodeId, name: &str) -> Option<Node> {
        Mount::known(self, parent, name)
    }

    fn lookup(self: Arc<Self>, parent: NodeId, name: Box<str>) -> impl Future<Output = Result<Node>> + Send + 'static {
        Mount::lookup(self, parent, name)
    }

    fn read_dir(self: Arc<Self>, dir: NodeId) -> impl Future<Output = Result<Arc<Directory>>> + Send + 'static {
        Mount::read_dir(self, dir)
    }

    fn open(&self, node: NodeId, opener: Option<u32>) -> Result<HandleId> {
        Mount::open(self, node, opener)
    }

    fn read(&self, handle: HandleId, offset: u64, len: u32, reply: Reply) {
        Mount::read(self, handle, offset, len, reply);
    }

    fn close(&self, _node: NodeId, handle: HandleId) {
        Mount::close(self, handle);
    }

    fn attributes(&self, node: NodeId) -> Vec<(&'static str, String)> {
        Mount::attributes(self, node)
    }

    fn shut_down(&self) {
        Mount::shut_down(self);
    }

    fn attach(&self, drop_name: DropName) {
        *self.forget.lock() = Some(Arc::new(drop_name));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// The etag of a file as the Hub's HEAD gives it: sha256 for LFS and Xet files, else the git blob id.
pub fn etag(file: &FileMeta) -> &str {
    file.sha256.as_deref().unwrap_or(&file.git_oid)
}
