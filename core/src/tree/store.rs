//! The nodes known so far, packed: about 150 bytes a file, and a [`Node`] is unpacked when it is handed out. Never asks
//! anybody.

use super::{Directory, FileMeta, Node, NodeId, NodeKind, Totals};
use crate::hub::EntryKind;
use crate::repo::name::COMPONENT_BYTES_MAX;
use hashbrown::HashTable;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};

/// Nodes of a tree at most: the Hub lists no more in its pages, with room for the folders they imply.
const NODES_MAX: usize = 4_000_000;

/// Place of a node in [`Store::nodes`]: its id less the root's.
pub(super) type Ix = u32;
/// The root's place.
pub(super) const ROOT: Ix = 0;

#[derive(Debug)]
struct Packed {
    size: u64,
    parent: Ix,
    /// Where its name starts in [`Store::names`].
    name_at: u32,
    /// Place in [`Store::folders`] or [`Store::hashes`], as `kind` says.
    extra: u32,
    git_oid: [u8; 20],
    name_len: u8,
    kind: PackedKind,
}

const _: () = assert!(COMPONENT_BYTES_MAX <= u8::MAX as usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackedKind {
    Folder,
    /// A file in git itself.
    Small,
    /// A file with a sha256 or Xet hash.
    Large,
}

#[derive(Debug)]
struct Hashes {
    sha256: Option<[u8; 32]>,
    xet: Option<[u8; 32]>,
}

#[derive(Debug, Default)]
struct Folder {
    /// In the Hub's order; `None` until it is listed.
    children: Option<Box<[Ix]>>,
    /// The snapshot that somebody still reads.
    snapshot: Weak<Directory>,
}

/// A folder's name or content that the tree cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// No file system can show this name, or it is a file here and a folder there. Counted.
    Skipped,
    /// [`NODES_MAX`] is reached.
    Full,
}

/// The nodes known so far. A node's id never changes and none is ever removed.
#[derive(Debug)]
pub(super) struct Store {
    /// The id of the root.
    first: NodeId,
    nodes: Vec<Packed>,
    names: String,
    hashes: Vec<Hashes>,
    folders: Vec<Folder>,
    /// By parent and name.
    index: HashTable<Ix>,
    hasher: RandomState,
    totals: Totals,
}

impl Store {
    /// A store that knows its root only, whose id is `first`.
    pub(super) fn new(first: NodeId) -> Self {
        let root = Packed {
            size: 0,
            parent: ROOT,
            name_at: 0,
            extra: 0,
            git_oid: [0; 20],
            name_len: 0,
            kind: PackedKind::Folder,
        };
        Store {
            first,
            nodes: vec![root],
            names: String::new(),
            hashes: Vec::new(),
            folders: vec![Folder::default()],
            index: HashTable::new(),
            hasher: RandomState::new(),
            totals: Totals::default(),
        }
    }
}

/// Whether a file system can show `name`, and no kernel reads it as something else.
pub(super) fn is_showable(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= COMPONENT_BYTES_MAX && !name.contains(['/', '\0'])
}

impl Store {
    /// The id of the node at `ix`.
    pub(super) fn id(&self, ix: Ix) -> NodeId {
        NodeId(self.first.0 + u64::from(ix))
    }

    /// The place of a node that was handed out.
    pub(super) fn ix(&self, id: NodeId) -> Option<Ix> {
        let ix = Ix::try_from(id.0.checked_sub(self.first.0)?).ok()?;
        ((ix as usize) < self.nodes.len()).then_some(ix)
    }

    /// The names in a folder that are known, whether it is listed or not.
    pub(super) fn names_in(&self, parent: Ix) -> Vec<Arc<str>> {
        let nodes = (ROOT + 1..).zip(&self.nodes[1..]);
        nodes.filter(|(_, node)| node.parent == parent).map(|(ix, _)| self.name(ix).into()).collect()
    }

    pub(super) fn is_folder(&self, ix: Ix) -> bool {
        self.nodes[ix as usize].kind == PackedKind::Folder
    }

    /// Whether every child of this folder is known.
    pub(super) fn is_listed(&self, ix: Ix) -> bool {
        self.totals.complete || self.folder(ix).is_some_and(|folder| folder.children.is_some())
    }

    pub(super) fn children(&self, ix: Ix) -> Option<&[Ix]> {
        self.folder(ix)?.children.as_deref()
    }

    fn folder(&self, ix: Ix) -> Option<&Folder> {
        let node = &self.nodes[ix as usize];
        (node.kind == PackedKind::Folder).then(|| &self.folders[node.extra as usize])
    }

    fn folder_mut(&mut self, ix: Ix) -> Option<&mut Folder> {
        let node = &self.nodes[ix as usize];
        (node.kind == PackedKind::Folder).then(|| &mut self.folders[node.extra as usize])
    }

    pub(super) fn snapshot(&self, ix: Ix) -> Option<Arc<Directory>> {
        self.folder(ix)?.snapshot.upgrade()
    }

    pub(super) fn set_snapshot(&mut self, ix: Ix, snapshot: &Arc<Directory>) {
        if let Some(folder) = self.folder_mut(ix) {
            folder.snapshot = Arc::downgrade(snapshot);
        }
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    fn name(&self, ix: Ix) -> &str {
        let node = &self.nodes[ix as usize];
        &self.names[node.name_at as usize..][..usize::from(node.name_len)]
    }

    pub(super) fn find(&self, parent: Ix, name: &str) -> Option<Ix> {
        let is_it = |ix: &Ix| self.nodes[*ix as usize].parent == parent && self.name(*ix) == name;
        self.index.find(self.hasher.hash_one((parent, name)), is_it).copied()
    }

    /// Adds what `path` (relative to the root) is, with the folders that it implies. What is known stays as it is.
    pub(super) fn insert_path(&mut self, path: &str, kind: &EntryKind) -> Result<Ix, Refused> {
        let (folders, name) = path.rsplit_once('/').map_or(("", path), |(folders, name)| (folders, name));
        let mut parent = ROOT;
        for folder in folders.split('/').filter(|_| !folders.is_empty()) {
            parent = self.insert(parent, folder, &EntryKind::Folder)?;
        }
        self.insert(parent, name, kind)
    }

    /// Adds a child of `parent`. What is known stays as it is.
    pub(super) fn insert(&mut self, parent: Ix, name: &str, kind: &EntryKind) -> Result<Ix, Refused> {
        if let Some(ix) = self.find(parent, name) {
            // A commit does not change, so the entry is the same, unless the answer contradicts itself.
            let agrees = self.is_folder(ix) == matches!(kind, EntryKind::Folder);
            return if agrees { Ok(ix) } else { self.skip() };
        }
        if !is_showable(name) || !self.is_folder(parent) {
            return self.skip();
        }
        if self.nodes.len() >= NODES_MAX {
            return Err(Refused::Full);
        }
        let ix = self.nodes.len() as Ix;
        let packed = self.pack(parent, name, kind);
        self.nodes.push(packed);
        self.names.push_str(name);
        let Store { nodes, names, hasher, index, .. } = self;
        let rehash = |ix: &Ix| {
            let node = &nodes[*ix as usize];
            hasher.hash_one((node.parent, &names[node.name_at as usize..][..usize::from(node.name_len)]))
        };
        index.insert_unique(hasher.hash_one((parent, name)), ix, rehash);
        Ok(ix)
    }

    /// Counts an entry that cannot be shown.
    pub(super) fn skip(&mut self) -> Result<Ix, Refused> {
        self.totals.skipped += 1;
        Err(Refused::Skipped)
    }

    fn pack(&mut self, parent: Ix, name: &str, kind: &EntryKind) -> Packed {
        let (kind, size, extra, git_oid) = match kind {
            EntryKind::Folder => {
                self.folders.push(Folder::default());
                (PackedKind::Folder, 0, self.folders.len() - 1, [0; 20])
            }
            EntryKind::File { size, git_oid, sha256: None, xet_hash: None } => {
                (PackedKind::Small, size.unwrap_or_default(), 0, *git_oid)
            }
            EntryKind::File { size, git_oid, sha256, xet_hash } => {
                self.hashes.push(Hashes { sha256: *sha256, xet: *xet_hash });
                (PackedKind::Large, size.unwrap_or_default(), self.hashes.len() - 1, *git_oid)
            }
        };
        if kind != PackedKind::Folder {
            self.totals.files += 1;
            self.totals.bytes = self.totals.bytes.saturating_add(size);
        }
        // Both fit: at most NODES_MAX of either, and as many names of at most 255 bytes.
        let (name_at, extra) = (self.names.len() as u32, extra as u32);
        Packed { size, parent, name_at, extra, git_oid, name_len: name.len() as u8, kind }
    }

    /// Says that `children` are all there is in a folder.
    pub(super) fn set_children(&mut self, ix: Ix, children: Vec<Ix>) {
        if let Some(folder) = self.folder_mut(ix) {
            folder.children = Some(children.into());
        }
    }

    /// Says that everything is known: every folder is listed by the nodes that are in it.
    pub(super) fn set_complete(&mut self) {
        let mut children: Vec<Vec<Ix>> = Vec::new();
        children.resize_with(self.folders.len(), Vec::new);
        for (ix, node) in self.nodes.iter().enumerate().skip(1) {
            children[self.nodes[node.parent as usize].extra as usize].push(ix as Ix);
        }
        for (folder, children) in self.folders.iter_mut().zip(children) {
            folder.children = Some(children.into());
        }
        self.totals.complete = true;
        self.nodes.shrink_to_fit();
        self.names.shrink_to_fit();
        self.hashes.shrink_to_fit();
        self.folders.shrink_to_fit();
    }

    /// Path from the repo's root, which `root` is the tree's root in.
    pub(super) fn path(&self, ix: Ix, root: &str) -> String {
        let mut chain = Vec::new();
        let mut at = ix;
        while at != ROOT {
            chain.push(at);
            at = self.nodes[at as usize].parent;
        }
        let mut path = String::from(root);
        for ix in chain.into_iter().rev() {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(self.name(ix));
        }
        path
    }

    pub(super) fn node(&self, id: NodeId, root: &str) -> Option<Node> {
        let ix = self.ix(id)?;
        let node = &self.nodes[ix as usize];
        let hashes = (node.kind == PackedKind::Large).then(|| &self.hashes[node.extra as usize]);
        let kind = match node.kind {
            PackedKind::Folder => NodeKind::Directory,
            PackedKind::Small | PackedKind::Large => NodeKind::File(Arc::new(FileMeta {
                path: self.path(ix, root).into(),
                size: node.size,
                git_oid: hex(&node.git_oid),
                sha256: hashes.and_then(|hashes| hashes.sha256.as_ref()).map(|hash| hex(hash)),
                xet_hash: hashes.and_then(|hashes| hashes.xet.as_ref()).map(|hash| hex(hash)),
            })),
        };
        Some(Node { id, parent: self.id(node.parent), name: self.name(ix).into(), kind })
    }

    /// Bytes on the heap.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        let children: usize = self.folders.iter().filter_map(|folder| folder.children.as_ref()).map(|c| c.len()).sum();
        self.nodes.capacity() * size_of::<Packed>()
            + self.names.capacity()
            + self.hashes.capacity() * size_of::<Hashes>()
            + self.folders.capacity() * size_of::<Folder>()
            + self.index.allocation_size()
            + children * size_of::<Ix>()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64) -> EntryKind {
        EntryKind::File { size: Some(size), git_oid: [7; 20], sha256: None, xet_hash: None }
    }

    fn large(size: u64) -> EntryKind {
        EntryKind::File { size: Some(size), git_oid: [7; 20], sha256: Some([0xab; 32]), xet_hash: Some([0xcd; 32]) }
    }

    #[test]
    fn a_hundred_thousand_files_take_less_than_200_bytes_each() {
        let mut store = Store::new(NodeId::ROOT);
        for ix in 0..100_000 {
            store.insert_path(&format!("data/train-{:02}/shard-{ix:06}.parquet", ix % 50), &large(ix)).unwrap();
        }
        store.set_complete();
        let each = store.heap_bytes() as f64 / 100_000.0;
        println!("{each:.1} bytes a file");
        assert!(each < 200.0, "{each}");
    }

    #[test]
    fn names_that_no_file_system_can_show_are_left_out_and_counted() {
        let mut store = Store::new(NodeId::ROOT);
        let long = "x".repeat(256);
        for path in ["..", ".", "", "a/../b", "a/./c", "a//b", "/a", "a/", "n\0l", &long, &format!("a/{long}/b")] {
            assert_eq!(store.insert_path(path, &file(1)), Err(Refused::Skipped), "{path:?}");
        }
        assert_eq!((store.totals().skipped, store.totals().files), (11, 0));
        store.insert_path(&"x".repeat(255), &file(1)).unwrap();
        store.insert_path("...", &file(1)).unwrap();
        assert_eq!(store.totals().files, 2);
    }

    #[test]
    fn a_name_cannot_be_a_file_and_a_folder() {
        let mut store = Store::new(NodeId::ROOT);
        store.insert_path("foo", &file(1)).unwrap();
        assert_eq!(store.insert_path("foo/bar", &file(1)), Err(Refused::Skipped));
        let folder = store.insert_path("foo.bar/x", &file(2)).unwrap();
        assert_eq!(store.path(folder, ""), "foo.bar/x");
        assert_eq!(store.totals().files, 2);
    }

    #[test]
    fn ids_stay_and_nodes_say_what_was_put_in() {
        let mut store = Store::new(NodeId::ROOT);
        let small = store.insert_path("a/b", &file(3)).unwrap();
        let big = store.insert_path("a/c", &large(u64::MAX)).unwrap();
        assert_eq!(store.insert_path("a/b", &file(3)), Ok(small));
        store.set_complete();
        let node = store.node(store.id(big), "sub/dir").unwrap();
        let NodeKind::File(meta) = &node.kind else { panic!() };
        assert_eq!((&*meta.path, meta.size, &*node.name), ("sub/dir/a/c", u64::MAX, "c"));
        assert_eq!(meta.sha256, Some("ab".repeat(32)));
        assert_eq!(meta.xet_hash, Some("cd".repeat(32)));
        assert_eq!(meta.git_oid, "07".repeat(20));
        assert_eq!(store.node(NodeId::ROOT, "").unwrap().parent, NodeId::ROOT);
        let a = store.find(ROOT, "a").unwrap();
        assert_eq!(store.children(a), Some(&[small, big][..]));
        for absent in [0, 99, u64::MAX] {
            assert!(store.node(NodeId(absent), "").is_none());
        }
    }
}
