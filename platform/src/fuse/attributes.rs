//! What `stat` and `df` show of a mount. Pure: nodes and totals in, numbers out.

use fuser::{FileAttr, FileType, INodeNo};
use std::time::SystemTime;
use weightless_core::tree::{Node, NodeId, NodeKind};

/// What a node shows beside what it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common {
    /// The mounting user.
    pub(super) uid: u32,
    /// Their group.
    pub(super) gid: u32,
    /// Time of the commit.
    pub(super) modified: SystemTime,
}

/// The kernel's largest READ of an unprivileged mount; programs that size their buffers by it ask for what comes anyway.
const IO_BYTES: u32 = 128 * 1024;

/// The unit of `st_blocks`, whatever the file system's own (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

pub(super) fn attributes(node: &Node, common: &Common) -> FileAttr {
    let (perm, size) = match &node.kind {
        NodeKind::Directory => (0o555, 0),
        NodeKind::File(file) => (0o444, file.size),
    };
    attr(node.id, kind(node), perm, size, common)
}

pub(super) fn kind(node: &Node) -> FileType {
    match node.kind {
        NodeKind::Directory => FileType::Directory,
        NodeKind::File(_) => FileType::RegularFile,
    }
}

/// Attributes of a folder of which only the id is at hand: `.` and `..` of a listing.
pub(super) fn folder_attributes(id: NodeId, common: &Common) -> FileAttr {
    attr(id, FileType::Directory, 0o555, 0, common)
}

fn attr(id: NodeId, kind: FileType, perm: u16, size: u64, common: &Common) -> FileAttr {
    FileAttr {
        ino: INodeNo(id.0),
        size,
        blocks: size.div_ceil(STAT_BLOCK_BYTES),
        atime: common.modified,
        mtime: common.modified,
        ctime: common.modified,
        crtime: common.modified,
        kind,
        perm,
        // Of a folder too, as btrfs does: 2 would say that it has no folders, and counting them means listing it.
        nlink: 1,
        uid: common.uid,
        gid: common.gid,
        rdev: 0,
        blksize: IO_BYTES,
        flags: 0,
    }
}

/// The numbers of statfs(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) blocks: u64,
    pub(super) files: u64,
    pub(super) block_bytes: u32,
    pub(super) name_bytes_max: u32,
}

/// Size and block are one number, since some programs multiply the one and some the other.
const DF_BLOCK_BYTES: u64 = 4096;

/// What git, Linux and macOS agree on, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 255;

pub(super) fn totals(bytes: u64, files: u64) -> Totals {
    Totals {
        // `df` hides a file system without blocks, and some file managers call it full or broken.
        blocks: bytes.div_ceil(DF_BLOCK_BYTES).max(1),
        files: files.max(1),
        block_bytes: DF_BLOCK_BYTES as u32,
        name_bytes_max: NAME_BYTES_MAX as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;
    use weightless_core::tree::FileMeta;

    fn common() -> Common {
        Common { uid: 1000, gid: 100, modified: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000) }
    }

    fn node(kind: NodeKind) -> Node {
        Node { id: NodeId(7), parent: NodeId::ROOT, name: "x".into(), kind }
    }

    fn file(size: u64) -> Node {
        let file = FileMeta { path: "x".into(), size, git_oid: String::new(), sha256: None, xet_hash: None };
        node(NodeKind::File(Arc::new(file)))
    }

    #[test]
    fn sizes_are_exact_and_blocks_are_rounded_up() {
        let table = [(0, 0), (1, 1), (512, 1), (513, 2), (5 << 30, 10 << 20), (u64::MAX, 1 << 55)];
        for (size, blocks) in table {
            let found = attributes(&file(size), &common());
            assert_eq!((found.size, found.blocks, found.ino.0), (size, blocks, 7));
        }
    }

    #[test]
    fn everything_is_read_only_and_belongs_to_the_mounting_user() {
        let (file, folder) = (attributes(&file(1), &common()), attributes(&node(NodeKind::Directory), &common()));
        assert_eq!((file.kind, file.perm), (FileType::RegularFile, 0o444));
        assert_eq!((folder.kind, folder.perm), (FileType::Directory, 0o555));
        for found in [file, folder] {
            assert_eq!((found.uid, found.gid, found.nlink), (1000, 100, 1));
            assert_eq!(found.mtime, common().modified);
            assert!(found.blksize.is_power_of_two());
        }
    }

    #[test]
    fn df_shows_the_size_of_the_repo_and_never_nothing() {
        let table =
            [(0, 0, 1, 1), (1, 1, 1, 1), (4096, 3, 1, 3), (4097, 3, 2, 3), (1 << 50, 100_000, 1 << 38, 100_000)];
        for (bytes, files, blocks, files_shown) in table {
            let found = totals(bytes, files);
            assert_eq!((found.blocks, found.files), (blocks, files_shown), "{bytes}");
            assert_eq!((found.block_bytes, found.name_bytes_max), (4096, 255));
        }
    }
}
