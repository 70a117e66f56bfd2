//! The tree of one commit: immutable, loaded by folder when first listed, cheap for 100,000 files.

use std::sync::Arc;

/// A node of a mount's tree; stands for one content for ever, so it is also the inode number. The root is 1.
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
