//! A repo at a commit, as the platform's adapters see it. Every call answers at once or returns a future to be polled once
//! inline and spawned if it is not ready; none blocks a thread.

pub use crate::tree::Directory;
use crate::tree::{FileMeta, Node, NodeId};
use crate::{Error, ErrorKind, Result, repo::RepoId};
use bytes::Bytes;
use std::sync::Arc;
use std::time::SystemTime;

/// One open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandleId(pub u64);

/// Bytes of a read: pieces of blocks, in order. A single piece is the common case.
#[derive(Debug, Clone, Default)]
pub struct ReadData {
    /// Pieces, in file order; empty at or past the end of the file.
    pub pieces: Vec<Bytes>,
}

/// A repo at a commit.
#[derive(Debug)]
pub struct Mount {
    runtime: tokio::runtime::Handle,
}

impl Mount {
    /// Repo.
    pub fn repo(&self) -> &RepoId {
        unimplemented!()
    }
    /// Revision as the user named it (`main` when not named).
    pub fn revision(&self) -> &str {
        unimplemented!()
    }
    /// Full sha of the commit that is shown.
    pub fn commit(&self) -> &str {
        unimplemented!()
    }
    /// Where replies that wait are run.
    pub fn runtime(&self) -> &tokio::runtime::Handle {
        &self.runtime
    }
    /// Sum of file sizes in bytes as far as known (exact once the whole tree is loaded), and number of files known.
    pub fn totals(&self) -> (u64, u64) {
        unimplemented!()
    }
    /// Time of the commit; what every file and folder shows as mtime.
    pub fn modified(&self) -> SystemTime {
        unimplemented!()
    }
    /// A node that was handed out before. Never waits.
    pub fn node(&self, _id: NodeId) -> Option<Node> {
        unimplemented!()
    }
    /// Finds `name` in `parent`. A listed folder answers at once; an unlisted one asks for this one name only.
    pub async fn lookup(self: Arc<Self>, _parent: NodeId, _name: Box<str>) -> Result<Node> {
        Err(Error::new(ErrorKind::Internal, ""))
    }
    /// Lists a folder, whole.
    pub async fn read_dir(self: Arc<Self>, _dir: NodeId) -> Result<Arc<Directory>> {
        Err(Error::new(ErrorKind::Internal, ""))
    }
    /// Opens a file; asks nothing of the network.
    pub fn open(&self, _node: NodeId) -> Result<HandleId> {
        Err(Error::new(ErrorKind::Internal, ""))
    }
    /// Reads `len` bytes at `offset`, cut at the end of the file. `reply` is called once: before this returns if the bytes
    /// are in memory, else from a runtime thread when the last of them came or the read failed.
    pub fn read(&self, _handle: HandleId, _offset: u64, _len: u32, reply: Box<dyn FnOnce(Result<ReadData>) + Send>) {
        reply(Err(Error::new(ErrorKind::Internal, "")));
    }
    /// Closes a handle: its reads end with [`ErrorKind::Closed`], what nobody else wants is cancelled.
    pub fn close(&self, _handle: HandleId) {}
    /// Extended attributes of a file: commit, etag, sha256, xet, those that are known.
    pub fn attributes(&self, _node: NodeId) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    /// Fails every waiting read and refuses new ones; called before unmounting.
    pub fn shut_down(&self) {}
}

/// The etag of a file as the Hub's HEAD gives it: sha256 for LFS and Xet files, else the git blob id.
pub fn etag(file: &FileMeta) -> &str {
    file.sha256.as_deref().unwrap_or(&file.git_oid)
}
