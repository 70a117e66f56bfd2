//! The files and folders of one commit, sorted by path. Never changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha1::Digest;

use super::hex;
use crate::Content;
use crate::xet::XetFile;

/// Where the bytes of a file are.
#[derive(Debug, Clone)]
pub(crate) enum Stored {
    Git(Content),
    Lfs { sha256: String, content: Content },
    Xet { sha256: String, file: Arc<XetFile>, content: Option<Content> },
}

/// A file.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) size: u64,
    /// The git blob: of the file itself, or of its LFS pointer.
    pub(crate) oid: String,
    pub(crate) stored: Stored,
    /// Length of the LFS pointer file.
    pub(crate) pointer_size: usize,
    /// Index of the commit that last changed it.
    pub(crate) commit: usize,
}

/// A folder.
#[derive(Debug, Default)]
pub(crate) struct Dir {
    pub(crate) oid: String,
    /// Index of the newest commit that changed something below.
    pub(crate) commit: usize,
    /// Paths of the folders directly in it, sorted.
    pub(crate) dirs: Vec<String>,
    /// Paths of the files directly in it, sorted.
    pub(crate) files: Vec<String>,
}

/// All files and folders.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, Arc<Entry>>,
    /// By path; the root is the empty path.
    pub(crate) dirs: BTreeMap<String, Dir>,
}

impl Tree {
    pub(crate) fn new(files: BTreeMap<String, Arc<Entry>>) -> Self {
        let mut dirs = BTreeMap::from([(String::new(), Dir::default())]);
        for (path, entry) in &files {
            add(&mut dirs, path, entry);
        }
        let mut oids: BTreeMap<String, sha1::Sha1> = BTreeMap::new();
        for (path, entry) in &files {
            for parent in ancestors(path) {
                oids.entry(parent.to_owned()).or_default().update(format!("{path}\0{}\0", entry.oid));
            }
        }
        for (path, dir) in &mut dirs {
            dir.oid = hex(&oids.remove(path).unwrap_or_default().finalize());
        }
        Self { files, dirs }
    }

    pub(crate) fn oid(&self) -> &str {
        &self.dirs[""].oid
    }

    /// Sum of all file sizes.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.files.values().map(|entry| entry.size).sum()
    }
}

/// Files arrive sorted by path, so a folder's entries lie together: the last one tells whether a folder is new.
fn add(dirs: &mut BTreeMap<String, Dir>, path: &str, entry: &Entry) {
    let mut child = path;
    for parent in ancestors(path) {
        let dir = dirs.entry(parent.to_owned()).or_default();
        dir.commit = dir.commit.max(entry.commit);
        if child.len() == path.len() {
            dir.files.push(child.to_owned());
        } else if dir.dirs.last().is_none_or(|last| last != child) {
            dir.dirs.push(child.to_owned());
        }
        child = parent;
    }
}

/// The folders above a path, nearest first, the root last.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| (!path.is_empty()).then(|| path.rfind('/').map_or("", |at| &path[..at])))
        .skip(1)
}
