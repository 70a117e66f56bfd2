//! What a tree asks of the Hub, and how callers share it: the first page, one name, one folder.

use super::absent::Absent;
use super::store::{self, Ix, Refused, Store};
use super::{Directory, Node, NodeId, Tree};
use crate::hub::listing::PAGES_MAX;
use crate::hub::{Depth, EntryKind, TreeEntry};
use crate::{Error, ErrorKind, Result};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared, try_join_all};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Nodes unpacked before the lock is let go for others: about half a millisecond.
const UNPACK_AT_ONCE: usize = 1_024;
/// Files of a page whose size must be asked for one by one, at most. More is a Hub that tells no sizes.
const UNKNOWN_SIZES_MAX: usize = 100;
/// How many of those are asked for at a time.
const UNKNOWN_SIZES_AT_ONCE: usize = 8;
/// Requests in flight above which those that were given up are swept from the map.
const SWEEP_AT: usize = 64;

/// A request that all who need its answer now drive together.
pub(super) type Asked<T> = Shared<BoxFuture<'static, Result<T>>>;

/// Everything of a tree that changes. See the module's words on locking.
pub(super) struct State {
    pub(super) store: Store,
    absent: Absent,
    /// Names being asked for.
    lookups: InFlight<(NodeId, Box<str>), NodeId>,
    /// Folders being listed.
    listings: InFlight<NodeId, ()>,
}

impl State {
    /// Nothing is known but the root, whose id is `first`.
    pub(super) fn new(first: NodeId) -> Self {
        State {
            store: Store::new(first),
            absent: Absent::default(),
            lookups: InFlight::default(),
            listings: InFlight::default(),
        }
    }
}

/// Requests under way. Holds no request alive: a request lives as long as somebody waits for it.
struct InFlight<K, T>(HashMap<K, WeakShared<BoxFuture<'static, Result<T>>>>);

impl<K, T> Default for InFlight<K, T> {
    fn default() -> Self {
        InFlight(HashMap::new())
    }
}

impl<K: Eq + Hash, T: Clone> InFlight<K, T> {
    /// The request for `key` that is under way, else the one that `start` makes.
    fn join(&mut self, key: K, start: impl FnOnce() -> BoxFuture<'static, Result<T>>) -> Asked<T> {
        // A finished request may still be held by one of its callers; its answer is in the store, or was an error that the
        // next caller shall not inherit.
        if let Some(asked) = self.0.get(&key).and_then(WeakShared::upgrade).filter(|asked| asked.peek().is_none()) {
            return asked;
        }
        if self.0.len() >= SWEEP_AT.max(self.0.capacity() / 2) {
            self.0.retain(|_, asked| asked.upgrade().is_some());
        }
        let asked = start().shared();
        if let Some(weak) = asked.downgrade() {
            self.0.insert(key, weak);
        }
        asked
    }
}

/// Where a name is.
pub(super) enum Found {
    Known(Node),
    Asked(Asked<NodeId>),
}

impl Tree {
    /// Asks for the first recursive page; if there is no second, everything is known.
    pub(super) async fn load_first_page(&self) -> Result<()> {
        let first = self.hub.tree_page(&self.repo, &self.commit, &self.root, Depth::Recursive, None).await;
        let page = match first {
            Ok(page) => page,
            Err(error) if error.kind() == ErrorKind::EntryNotFound => return self.load_nothing(error).await,
            Err(error) => return Err(error),
        };
        if page.entries.iter().any(|entry| *entry.path == *self.root && entry.kind != EntryKind::Folder) {
            return Err(Error::new(ErrorKind::NotADirectory, self.subject(&self.root)));
        }
        let entries = self.with_sizes(page.entries).await?;
        let mut state = self.lock();
        for entry in &entries {
            match self.below_root(&entry.path).map(|path| state.store.insert_path(path, &entry.kind)) {
                Some(Err(Refused::Full)) => return Err(self.full()),
                Some(_) => {}
                None if *entry.path == *self.root => {}
                None => _ = state.store.skip(),
            }
        }
        if page.next.is_none() {
            state.store.set_complete();
        }
        Ok(())
    }

    /// The Hub has nothing at the root: an empty commit, a file, or nothing.
    async fn load_nothing(&self, error: Error) -> Result<()> {
        if self.root.is_empty() {
            self.lock().store.set_complete();
            return Ok(());
        }
        let found = self.hub.paths_info(&self.repo, &self.commit, &[&self.root]).await?;
        match found.iter().find(|entry| *entry.path == *self.root) {
            Some(entry) if entry.kind != EntryKind::Folder => {
                Err(Error::new(ErrorKind::NotADirectory, self.subject(&self.root)).because(error))
            }
            _ => Err(error),
        }
    }

    /// `path` relative to the tree's root; `None` if it is not below it.
    fn below_root<'a>(&self, path: &'a str) -> Option<&'a str> {
        below(path, &self.root)
    }

    fn subject(&self, path: &str) -> String {
        format!("{}/{path}", self.repo)
    }

    fn full(&self) -> Error {
        Error::new(ErrorKind::Protocol, self.repo.to_string()).because("the repo has more files than a tree holds")
    }

    /// Known, known not to exist, or being asked for.
    pub(super) fn find(self: &Arc<Self>, dir: NodeId, name: &str) -> Result<Found> {
        let mut state = self.lock();
        let state = &mut *state;
        let ix = self.folder(state, dir)?;
        if let Some(child) = state.store.find(ix, name) {
            let node = state.store.node(state.store.id(child), &self.root);
            return node.map(Found::Known).ok_or_else(|| Error::new(ErrorKind::Internal, name));
        }
        let path = || {
            let folder = state.store.path(ix, &self.root);
            if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
        };
        let key = (dir, Box::from(name));
        if state.store.is_listed(ix) || !store::is_showable(name) || state.absent.contains(&key) {
            return Err(Error::new(ErrorKind::EntryNotFound, self.subject(&path())));
        }
        let path = path();
        let start = || Arc::clone(self).ask_name(ix, key.clone(), path).boxed();
        Ok(Found::Asked(state.lookups.join(key.clone(), start)))
    }

    /// The place of a folder that was handed out.
    fn folder(&self, state: &State, dir: NodeId) -> Result<Ix> {
        let Some(ix) = state.store.ix(dir) else {
            return Err(Error::new(ErrorKind::EntryNotFound, self.repo.to_string()));
        };
        if !state.store.is_folder(ix) {
            return Err(Error::new(ErrorKind::NotADirectory, self.subject(&state.store.path(ix, &self.root))));
        }
        Ok(ix)
    }

    /// Asks for one name of a folder that is not listed.
    async fn ask_name(self: Arc<Self>, dir: Ix, key: (NodeId, Box<str>), path: String) -> Result<NodeId> {
        let asked = async {
            let found = self.hub.paths_info(&self.repo, &self.commit, &[&path]).await?;
            self.with_sizes(found.into_iter().filter(|entry| entry.path == path).collect()).await
        };
        let asked = asked.await;
        let mut state = self.lock();
        state.lookups.0.remove(&key);
        let Some(entry) = asked?.pop() else {
            state.absent.insert(key);
            return Err(Error::new(ErrorKind::EntryNotFound, self.subject(&path)));
        };
        match state.store.insert(dir, &key.1, &entry.kind) {
            Ok(ix) => Ok(state.store.id(ix)),
            Err(Refused::Full) => Err(self.full()),
            Err(Refused::Skipped) => Err(Error::new(ErrorKind::EntryNotFound, self.subject(&path))),
        }
    }

    /// The listing to wait for; `None` if the folder is listed already.
    pub(super) fn list(self: &Arc<Self>, dir: NodeId) -> Result<Option<Asked<()>>> {
        let mut state = self.lock();
        let ix = self.folder(&state, dir)?;
        if state.store.is_listed(ix) {
            return Ok(None);
        }
        let path = state.store.path(ix, &self.root);
        let start = || Arc::clone(self).ask_listing(ix, dir, path).boxed();
        Ok(Some(state.listings.join(dir, start)))
    }

    async fn ask_listing(self: Arc<Self>, ix: Ix, dir: NodeId, path: String) -> Result<()> {
        let listed = self.ask_pages(ix, &path).await;
        let mut state = self.lock();
        state.listings.0.remove(&dir);
        let children = listed?;
        state.store.set_children(ix, children);
        Ok(())
    }

    /// All pages of a folder. What a page brings is known at once, also to lookups of one name.
    async fn ask_pages(&self, dir: Ix, path: &str) -> Result<Vec<Ix>> {
        let mut children = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let page = self.hub.tree_page(&self.repo, &self.commit, path, Depth::Folder, cursor.as_ref()).await?;
            let entries = self.with_sizes(page.entries).await?;
            let mut state = self.lock();
            for entry in &entries {
                match below(&entry.path, path)
                    .filter(|name| !name.contains('/'))
                    .map(|name| state.store.insert(dir, name, &entry.kind))
                {
                    Some(Ok(child)) => children.push(child),
                    Some(Err(Refused::Full)) => return Err(self.full()),
                    Some(Err(Refused::Skipped)) => {}
                    None => _ = state.store.skip(),
                }
            }
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(children),
            }
        }
        Err(Error::new(ErrorKind::Protocol, self.subject(path)).because("a listing without an end"))
    }

    /// Entries whose sizes are all known: a missing size is asked for by HEAD, and never taken for 0.
    async fn with_sizes(&self, mut entries: Vec<TreeEntry>) -> Result<Vec<TreeEntry>> {
        let mut unknown: Vec<&mut TreeEntry> =
            entries.iter_mut().filter(|entry| matches!(entry.kind, EntryKind::File { size: None, .. })).collect();
        if unknown.len() > UNKNOWN_SIZES_MAX {
            return Err(Error::new(ErrorKind::Protocol, self.repo.to_string()).because("the Hub tells no sizes"));
        }
        for some in unknown.chunks_mut(UNKNOWN_SIZES_AT_ONCE) {
            try_join_all(some.iter_mut().map(|entry| self.ask_size(entry))).await?;
        }
        Ok(entries)
    }

    async fn ask_size(&self, entry: &mut TreeEntry) -> Result<()> {
        let resolved = self.hub.resolve(&self.repo, &self.commit, &entry.path).await?;
        let known = resolved.size.ok_or_else(|| {
            Error::new(ErrorKind::Protocol, self.subject(&entry.path)).because("the Hub does not tell the size")
        })?;
        if let EntryKind::File { size, .. } = &mut entry.kind {
            *size = Some(known);
        }
        Ok(())
    }

    /// The children of a listed folder, unpacked; shared with whoever still holds the last one.
    pub(super) fn snapshot(&self, dir: NodeId) -> Result<Arc<Directory>> {
        let mut state = self.lock();
        let ix = self.folder(&state, dir)?;
        if let Some(snapshot) = state.store.snapshot(ix) {
            return Ok(snapshot);
        }
        let mut entries = Vec::new();
        let mut unpacked = 0;
        loop {
            // A list of children never changes once it is there, so it can be read in parts.
            let children = state.store.children(ix).unwrap_or_default();
            let part = &children[unpacked..children.len().min(unpacked + UNPACK_AT_ONCE)];
            entries.reserve_exact(children.len() - unpacked);
            entries.extend(part.iter().filter_map(|child| state.store.node(state.store.id(*child), &self.root)));
            unpacked += part.len();
            if unpacked == children.len() {
                break;
            }
            drop(state);
            state = self.lock();
        }
        let snapshot = Arc::new(Directory { entries });
        state.store.set_snapshot(ix, &snapshot);
        Ok(snapshot)
    }
}

/// `path` relative to the folder `dir` (empty for the root); `None` if it is not below it.
fn below<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    if dir.is_empty() { Some(path) } else { path.strip_prefix(dir)?.strip_prefix('/') }
}
