//! A repo at a commit: what a volume of one repo shows, and what the Hub folder shows of each of its repos. Every call answers at
//! once or returns a future; none blocks a thread.

use crate::hub::Commit;
use crate::reader::{Counters, OpenFile, Reader, Reply, WaitsFor};
use crate::repo::RepoId;
use crate::transport::{Origin, Source};
use crate::tree::{FileMeta, Node, NodeId, NodeKind, Totals, Tree};
use crate::volume::Volume;
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tokio::runtime::Handle;
use weightless_plan::{Mode, MountId};

pub use crate::reader::{OpenFile as HandleId, ReadData};
pub use crate::tree::Directory;

/// A repo at a commit.
#[derive(Debug)]
pub struct Mount {
    id: MountId,
    repo: RepoId,
    revision: String,
    commit: Arc<str>,
    modified: SystemTime,
    tree: Arc<Tree>,
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
            commit: commit.sha,
            modified: commit.modified,
            tree,
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
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Where replies that wait are run.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Sums over the files known so far; exact once the whole tree is loaded.
    pub fn totals(&self) -> Totals {
        self.tree.totals()
    }

    /// Time of the commit; what every file and folder shows as mtime.
    pub fn modified(&self) -> SystemTime {
        self.modified
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
        self.tree.node(id)
    }

    /// Finds `name` in `parent` among what is known; asks nobody.
    pub fn known(&self, parent: NodeId, name: &str) -> Option<Node> {
        self.tree.known(parent, name)
    }

    /// Finds `name` in `parent`. A listed folder answers at once; an unlisted one asks for this one name only.
    ///
    /// # Errors
    /// [`ErrorKind::EntryNotFound`], [`ErrorKind::NotADirectory`], or what kept the Hub from answering.
    pub async fn lookup(self: Arc<Self>, parent: NodeId, name: Box<str>) -> Result<Node> {
        self.used();
        self.tree.lookup(parent, &name).await
    }

    /// Lists a folder, whole.
    ///
    /// # Errors
    /// As [`Mount::lookup`].
    pub async fn read_dir(self: Arc<Self>, dir: NodeId) -> Result<Arc<Directory>> {
        self.used();
        self.tree.read_dir(dir).await
    }

    /// Opens a file for the process `opener`, where that is known; asks nothing of the network.
    ///
    /// # Errors
    /// [`ErrorKind::EntryNotFound`] for a node never handed out, [`ErrorKind::IsADirectory`], [`ErrorKind::Closed`].
    pub fn open(&self, node: NodeId, opener: Option<u32>) -> Result<HandleId> {
        if self.closing.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, self.repo.to_string()));
        }
        self.used();
        let file = match self.tree.node(node) {
            Some(Node { kind: NodeKind::File(file), .. }) => file,
            Some(Node { name, .. }) => return Err(Error::new(ErrorKind::IsADirectory, &*name)),
            None => return Err(Error::new(ErrorKind::EntryNotFound, self.repo.to_string())),
        };
        let source = Source { origin: self.origin.clone(), repo: self.repo.clone(), commit: self.commit.clone(), file };
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
        let mut attributes = vec![("commit", self.commit.to_string())];
        if let Some(Node { kind: NodeKind::File(file), .. }) = self.tree.node(node) {
            attributes.push(("etag", etag(&file).to_owned()));
            attributes.extend(file.sha256.clone().map(|hash| ("sha256", hash)));
            attributes.extend(file.xet_hash.clone().map(|hash| ("xet", hash)));
        }
        attributes
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
