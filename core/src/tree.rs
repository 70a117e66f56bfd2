//! The tree of one commit: immutable to its readers, loaded by folder when first listed, cheap for 100,000 files. Never
//! waits for the network to answer about what it knows, and never fetches content.
//!
//! | module | subject |
//! | --- | --- |
//! | `store` | the nodes known so far, packed |
//! | `absent` | names known not to exist, bounded |
//! | `load` | what is asked of the Hub, and how callers share it |
//!
//! Opening asks for one recursive page: a repo of up to 1,000 entries is known whole from then on. Of a larger one a folder
//! is listed when somebody lists it, and a name in a folder that is not listed is asked for alone.
//!
//! **Locking.** Everything that changes is in one `State` behind one std mutex, so that "known", "absent" and "being asked
//! for" always agree. It is held for map work only (at most one page of inserts, or 1,024 nodes unpacked), never across an
//! await, and nothing that is dropped under it takes it. What is asked of the Hub is a shared future that its callers drive:
//! it ends with the last of them, so a lookup that nobody waits for costs nothing more.

mod absent;
mod load;
mod store;
#[cfg(test)]
mod tests;

use crate::hub::Hub;
use crate::repo::RepoId;
use crate::{Error, ErrorKind, Result};
use load::State;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A node of what is mounted; stands for one content for ever, so it is also the inode number. The root of a mount is 1; a repo in
/// the Hub folder has a range of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

impl NodeId {
    /// The root folder.
    pub const ROOT: NodeId = NodeId(1);
}

/// A file or folder of the commit.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// The folder it is in; the root is its own parent.
    pub parent: NodeId,
    /// Its name, as the Hub has it.
    pub name: Arc<str>,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// A folder.
    Directory,
    /// A file.
    File(Arc<FileMeta>),
}

/// What the Hub says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMeta {
    /// Path from the repo's root, as the Hub has it.
    pub path: Arc<str>,
    /// Size in bytes.
    pub size: u64,
    /// git blob id (sha1, lower-case hex) of the file or of its LFS pointer.
    pub git_oid: String,
    /// sha256 of the content (lower-case hex), for LFS and Xet files.
    pub sha256: Option<String>,
    /// Xet hash (hex as the Hub prints it), for files in Xet storage.
    pub xet_hash: Option<String>,
}

/// A snapshot of a folder: what `opendir` saw stays what `readdir` lists.
#[derive(Debug, Default)]
pub struct Directory {
    /// Entries without `.` and `..`, in the Hub's order.
    pub entries: Vec<Node>,
}

/// Sums over the files known so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Sizes of the files, in bytes.
    pub bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Entries left out because no file system can show their name.
    pub skipped: u64,
    /// Whether every file is known.
    pub complete: bool,
}

/// The tree of one commit, or of one folder of it. Ids stay what they are as long as it lives.
pub struct Tree {
    hub: Arc<Hub>,
    repo: RepoId,
    commit: Arc<str>,
    /// Path of the root folder in the repo; empty for the repo's own root.
    root: Box<str>,
    /// See the module's words on locking. Std, since it is never held across an await.
    state: Mutex<State>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("repo", &self.repo)
            .field("commit", &self.commit)
            .field("root", &self.root)
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}

impl Tree {
    /// Opens the tree of `commit` (a full sha), rooted at `subfolder` if given, with one request. Its root is `first`, and the
    /// nodes in it follow that.
    pub async fn open(
        hub: Arc<Hub>,
        repo: RepoId,
        commit: Arc<str>,
        subfolder: Option<&str>,
        first: NodeId,
    ) -> Result<Arc<Tree>> {
        let root = subfolder.unwrap_or_default().trim_matches('/');
        let tree = Tree { hub, repo, commit, root: root.into(), state: Mutex::new(State::new(first)) };
        tree.load_first_page().await?;
        Ok(Arc::new(tree))
    }

    /// The repo.
    pub fn repo(&self) -> &RepoId {
        &self.repo
    }

    /// Full sha of the commit.
    pub fn commit(&self) -> &Arc<str> {
        &self.commit
    }

    /// The id of the root.
    pub fn root(&self) -> NodeId {
        self.lock().store.id(store::ROOT)
    }

    /// The names on the way from the root to a node.
    pub(crate) fn names_to(&self, mut id: NodeId) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        while let Some(node) = self.node(id).filter(|node| node.parent != node.id) {
            names.push(node.name);
            id = node.parent;
        }
        names.reverse();
        names
    }

    /// The names in a folder that are known.
    pub(crate) fn names_in(&self, dir: NodeId) -> Vec<Arc<str>> {
        let state = self.lock();
        state.store.ix(dir).map(|ix| state.store.names_in(ix)).unwrap_or_default()
    }

    /// Sums over the files known so far.
    pub fn totals(&self) -> Totals {
        self.lock().store.totals()
    }

    /// A node that was handed out before.
    pub fn node(&self, id: NodeId) -> Option<Node> {
        self.lock().store.node(id, &self.root)
    }

    /// Finds `name` in `dir` among what is known; asks nobody.
    pub fn known(&self, dir: NodeId, name: &str) -> Option<Node> {
        let state = self.lock();
        let child = state.store.find(state.store.ix(dir)?, name)?;
        state.store.node(state.store.id(child), &self.root)
    }

    /// Finds `name` in `dir`. Ready at once where the folder is listed or the name was asked for before; else one request,
    /// shared by all who ask for it now. [`ErrorKind::EntryNotFound`] is remembered: a commit does not change.
    pub async fn lookup(self: &Arc<Self>, dir: NodeId, name: &str) -> Result<Node> {
        let id = match self.find(dir, name)? {
            load::Found::Known(node) => return Ok(node),
            load::Found::Asked(asked) => asked.await?,
        };
        self.node(id).ok_or_else(|| Error::new(ErrorKind::Internal, name))
    }

    /// Lists a folder, whole. Ready at once if it was listed before; else its pages are asked for once, for all who list it
    /// now. Readers at the same time share the snapshot.
    pub async fn read_dir(self: &Arc<Self>, dir: NodeId) -> Result<Arc<Directory>> {
        if let Some(listing) = self.list(dir)? {
            listing.await?;
        }
        self.snapshot(dir)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a bug that failed its own caller; nodes are added whole, so the rest stays readable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
