//! Answers the kernel's requests from what the core shows. Everything that would change something is `EROFS`; nothing here
//! waits.

use super::answer::{guarded, inline_or_spawn};
use super::attributes::{self, Common, NAME_BYTES_MAX};
use super::directories::{Directories, Line, OpenFolder};
use super::extended::{self, Fit};
use super::os;
use crate::errors;
use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, IoctlFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags, PollEvents, PollFlags, PollNotifier,
    RenameFlags, ReplyAttr, ReplyBmap, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty,
    ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyPoll, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow,
    WriteFlags,
};
use nix::unistd::{getgid, getuid};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use weightless_core::error::Severity;
use weightless_core::junk;
use weightless_core::mount::{HandleId, ReadData};
use weightless_core::tree::{Node, NodeId};
use weightless_core::volume::Volume;
use weightless_core::{Error, ErrorKind};

/// What is mounted, as fuser drives it.
#[derive(Debug)]
pub(super) struct Adapter<V> {
    volume: Arc<V>,
    owner: Owner,
    directories: Arc<Directories>,
}

/// How long the kernel may keep a name and what it leads to. A node id is one content for ever and a commit never
/// changes; a day, rather than for ever, only bounds what a lost invalidation could do.
const ENTRY_TTL: Duration = Duration::from_secs(24 * 3600);

/// The same for a name that may lead to something else in a while: a repo of the Hub folder that nobody used meanwhile.
const PASSING_TTL: Duration = Duration::from_secs(60);

/// How long it may keep that a name does not exist: long enough for a loader that probes the same ten names in a row,
/// short enough for a person who waits for a name to appear.
const ABSENT_TTL: Duration = Duration::from_secs(60);

/// Reads under way at once, as far as the kernel bounds them (buffered reads and read-ahead count, 16 by default): 64
/// readers with two windows of read-ahead in flight each, and as much again.
const BACKGROUND_MAX: u16 = 256;

/// Node ids are never used twice, so one generation does.
const GENERATION: Generation = Generation(0);

impl<V: Volume> Adapter<V> {
    pub(super) fn new(volume: Arc<V>) -> Self {
        let owner = Owner { uid: getuid().as_raw(), gid: getgid().as_raw() };
        Adapter { volume, owner, directories: Arc::default() }
    }
}

/// Who a mount belongs to.
#[derive(Debug, Clone, Copy)]
struct Owner {
    uid: u32,
    gid: u32,
}

impl Owner {
    fn common(self, volume: &impl Volume, id: NodeId) -> Common {
        Common { uid: self.uid, gid: self.gid, modified: volume.modified(id) }
    }
}

/// How long the kernel may keep what it is told of a node.
fn ttl(volume: &impl Volume, id: NodeId) -> &'static Duration {
    if volume.lasting(id).name { &ENTRY_TTL } else { &PASSING_TTL }
}

/// Answers a lookup that found `node`.
fn send_entry(volume: &impl Volume, owner: Owner, node: &Node, reply: ReplyEntry) {
    // Before the reply: the kernel may forget it as soon as it has it.
    volume.told(node.id);
    reply.entry(ttl(volume, node.id), &attributes::attributes(node, &owner.common(volume, node.id)), GENERATION);
}

/// The number for the kernel; said in the log as loudly as its row of the table asks.
fn errno(operation: &'static str, error: &Error) -> Errno {
    match error.kind().row().severity {
        Severity::Quiet => tracing::debug!(operation, ?error, "failed"),
        Severity::Warn => tracing::warn!(operation, ?error, "failed"),
        Severity::Error => tracing::error!(operation, ?error, "failed"),
    }
    Errno::from_i32(errors::errno(error.kind()))
}

/// One piece goes to the kernel as it lies; several are put together first, since a reply takes one slice.
fn send(reply: ReplyData, data: &ReadData) {
    match data.pieces.as_slice() {
        [] => reply.data(&[]),
        [piece] => reply.data(piece),
        pieces => {
            let mut whole = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
            pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
            reply.data(&whole);
        }
    }
}

/// Whether an open asks for more than reading.
fn wants_to_write(flags: OpenFlags) -> bool {
    flags.acc_mode() != OpenAccMode::O_RDONLY || flags.0 & (libc::O_TRUNC | libc::O_APPEND | libc::O_CREAT) != 0
}

impl<V: Volume> Filesystem for Adapter<V> {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Each is asked alone: an older kernel lacks some, and the mount works without any. Read-ahead stays at what the
        // kernel offers, which is the most it takes.
        for capability in os::CAPABILITIES {
            let _ = config.add_capabilities(capability);
        }
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        // The Hub's names are UTF-8, so any other is known not to exist.
        let Some(name) = name.to_str() else { return reply.error(Errno::ENOENT) };
        if name.len() > NAME_BYTES_MAX {
            return reply.error(Errno::ENAMETOOLONG);
        }
        if junk::is_junk(name) {
            return guarded("lookup", || match self.volume.known(NodeId(parent.0), name) {
                Some(node) => send_entry(&*self.volume, self.owner, &node, reply),
                // A guess, until the folder is listed; so the kernel is not to keep it.
                None => reply.error(Errno::ENOENT),
            });
        }
        let (volume, owner) = (self.volume.clone(), self.owner);
        let found = self.volume.clone().lookup(NodeId(parent.0), name.into());
        inline_or_spawn("lookup", self.volume.runtime(), async move {
            match found.await {
                Ok(node) => send_entry(&*volume, owner, &node, reply),
                Err(error) if error.kind() == ErrorKind::EntryNotFound => {
                    os::absent(reply, &ABSENT_TTL, &owner.common(&*volume, NodeId(parent.0)));
                }
                Err(error) => reply.error(errno("lookup", &error)),
            }
        });
    }

    fn forget(&self, _request: &Request, ino: INodeNo, count: u64) {
        guarded("forget", || self.volume.forgotten(NodeId(ino.0), count));
    }

    fn getattr(&self, _request: &Request, ino: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        guarded("getattr", || match self.volume.node(NodeId(ino.0)) {
            Some(node) => {
                let common = self.owner.common(&*self.volume, node.id);
                reply.attr(ttl(&*self.volume, node.id), &attributes::attributes(&node, &common));
            }
            // The kernel then looks its name up again.
            None => reply.error(Errno::ESTALE),
        });
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if wants_to_write(flags) {
            return reply.error(Errno::EROFS);
        }
        // 0 where the opener lives in a pid namespace that this process cannot see.
        let opener = Some(request.pid()).filter(|pid| *pid > 0);
        guarded("open", || match self.volume.open(NodeId(ino.0), opener) {
            // A node is one content for ever: what the kernel holds of it is right.
            Ok(handle) => reply.opened(FileHandle(handle.0), FopenFlags::FOPEN_KEEP_CACHE | os::OPEN_FLAGS),
            Err(error) => reply.error(errno("open", &error)),
        });
    }

    fn read(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        guarded("read", || {
            let answer = move |result: Result<ReadData, Error>| {
                guarded("read", || match result {
                    Ok(data) => send(reply, &data),
                    Err(error) => reply.error(errno("read", &error)),
                });
            };
            self.volume.read(HandleId(handle.0), offset, size, Box::new(answer));
        });
    }

    fn release(
        &self,
        _request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        guarded("release", || {
            self.volume.close(NodeId(ino.0), HandleId(handle.0));
            reply.ok();
        });
    }

    fn opendir(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        guarded("opendir", || {
            let id = NodeId(ino.0);
            let Some(node) = self.volume.node(id) else { return reply.error(Errno::ESTALE) };
            let (directories, listed) = (self.directories.clone(), self.volume.clone().read_dir(id));
            // The kernel keeps a listing that lasts, and answers the next one without us.
            let keep = match self.volume.lasting(id).listing {
                true => FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR,
                false => FopenFlags::empty(),
            };
            inline_or_spawn("opendir", self.volume.runtime(), async move {
                let listing = match listed.await {
                    Ok(listing) => listing,
                    Err(error) => return reply.error(errno("opendir", &error)),
                };
                match directories.insert(OpenFolder { id, parent: node.parent, listing }) {
                    Some(handle) => reply.opened(FileHandle(handle), keep),
                    None => reply.error(Errno::ENFILE),
                }
            });
        });
    }

    fn readdir(&self, _request: &Request, _ino: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        guarded("readdir", || {
            let Some(folder) = self.directories.get(handle.0) else { return reply.error(Errno::EBADF) };
            for (next, line) in folder.lines(offset) {
                let is_full = match line {
                    Line::Dot(id) => reply.add(INodeNo(id.0), next, FileType::Directory, "."),
                    Line::DotDot(id) => reply.add(INodeNo(id.0), next, FileType::Directory, ".."),
                    Line::Entry(node) => reply.add(INodeNo(node.id.0), next, attributes::kind(node), &*node.name),
                };
                if is_full {
                    break;
                }
            }
            reply.ok();
        });
    }

    fn readdirplus(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        guarded("readdirplus", || {
            let Some(folder) = self.directories.get(handle.0) else { return reply.error(Errno::EBADF) };
            for (next, line) in folder.lines(offset) {
                let common = |id| self.owner.common(&*self.volume, id);
                let (name, attributes) = match line {
                    Line::Dot(id) => (".", attributes::folder_attributes(id, &common(id))),
                    Line::DotDot(id) => ("..", attributes::folder_attributes(id, &common(id))),
                    Line::Entry(node) => (&*node.name, attributes::attributes(node, &common(node.id))),
                };
                let ttl = ttl(&*self.volume, NodeId(attributes.ino.0));
                if reply.add(attributes.ino, next, name, ttl, &attributes, GENERATION) {
                    break;
                }
                // The kernel counts what it is told of entries, and not what of the dots.
                if let Line::Entry(node) = line {
                    self.volume.told(node.id);
                }
            }
            reply.ok();
        });
    }

    fn releasedir(&self, _request: &Request, _ino: INodeNo, handle: FileHandle, _flags: OpenFlags, reply: ReplyEmpty) {
        guarded("releasedir", || {
            self.directories.remove(handle.0);
            reply.ok();
        });
    }

    fn statfs(&self, _request: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        guarded("statfs", || {
            let known = self.volume.totals();
            let totals = attributes::totals(known.bytes, known.files);
            let block_bytes = totals.block_bytes;
            reply.statfs(totals.blocks, 0, 0, totals.files, 0, block_bytes, totals.name_bytes_max, block_bytes);
        });
    }

    fn getxattr(&self, _request: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        guarded("getxattr", || match extended::value(self.volume.attributes(NodeId(ino.0)), name) {
            Some(value) => send_attribute(reply, &value, size),
            None => reply.error(Errno::NO_XATTR),
        });
    }

    fn listxattr(&self, _request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        guarded("listxattr", || {
            send_attribute(reply, &extended::names(&self.volume.attributes(NodeId(ino.0))), size);
        });
    }

    fn access(&self, _request: &Request, _ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        // With default_permissions the kernel asks itself; this is for those that do not know it.
        if mask.contains(AccessFlags::W_OK) { reply.error(Errno::EROFS) } else { reply.ok() }
    }

    // Nothing below changes anything. The kernel refuses most of it before asking, since the mount is read-only.

    fn setattr(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.error(Errno::EROFS);
    }

    fn mknod(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        reply.error(Errno::EROFS);
    }

    fn mkdir(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn unlink(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    fn rmdir(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    fn symlink(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, _target: &Path, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn rename(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _new_parent: INodeNo,
        _new_name: &OsStr,
        _flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    fn link(&self, _request: &Request, _ino: INodeNo, _new_parent: INodeNo, _new_name: &OsStr, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn create(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        reply.error(Errno::EROFS);
    }

    fn write(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        _data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        reply.error(Errno::EROFS);
    }

    fn fallocate(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        _length: u64,
        _mode: i32,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    fn copy_file_range(
        &self,
        _request: &Request,
        _ino_in: INodeNo,
        _handle_in: FileHandle,
        _offset_in: u64,
        _ino_out: INodeNo,
        _handle_out: FileHandle,
        _offset_out: u64,
        _len: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        reply.error(Errno::EROFS);
    }

    fn setxattr(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _name: &OsStr,
        _value: &[u8],
        _flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    fn removexattr(&self, _request: &Request, _ino: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    #[cfg(target_os = "macos")]
    fn setvolname(&self, _request: &Request, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    #[cfg(target_os = "macos")]
    fn exchange(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _new_parent: INodeNo,
        _new_name: &OsStr,
        _options: u64,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    #[cfg(target_os = "macos")]
    fn getxtimes(&self, _request: &Request, ino: INodeNo, reply: fuser::ReplyXTimes) {
        let modified = self.volume.modified(NodeId(ino.0));
        reply.xtimes(modified, modified);
    }

    // What has nothing to say: ENOSYS makes the kernel do it itself, and not ask again. Locks are not here at all, for
    // the same end: flock and POSIX locks are the kernel's own.

    fn readlink(&self, _request: &Request, _ino: INodeNo, reply: ReplyData) {
        reply.error(Errno::EINVAL);
    }

    fn flush(&self, _request: &Request, _ino: INodeNo, _handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _request: &Request, _ino: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsyncdir(&self, _request: &Request, _ino: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn lseek(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _offset: i64,
        _whence: i32,
        reply: ReplyLseek,
    ) {
        reply.error(Errno::ENOSYS);
    }

    fn bmap(&self, _request: &Request, _ino: INodeNo, _block_size: u32, _index: u64, reply: ReplyBmap) {
        reply.error(Errno::ENOSYS);
    }

    fn ioctl(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        _command: u32,
        _input: &[u8],
        _output_size: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    fn poll(
        &self,
        _request: &Request,
        _ino: INodeNo,
        _handle: FileHandle,
        _notifier: PollNotifier,
        _events: PollEvents,
        _flags: PollFlags,
        reply: ReplyPoll,
    ) {
        reply.error(Errno::ENOSYS);
    }
}

fn send_attribute(reply: ReplyXattr, text: &str, room_bytes: u32) {
    match extended::fit(text.as_bytes(), room_bytes) {
        Fit::Size(size) => reply.size(size),
        Fit::Data(data) => reply.data(data),
        Fit::TooSmall => reply.error(Errno::ERANGE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_reading_may_open_a_file() {
        let table = [
            (libc::O_RDONLY, false),
            (libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC, false),
            (libc::O_RDONLY | libc::O_TRUNC, true),
            (libc::O_RDONLY | libc::O_CREAT, true),
            (libc::O_WRONLY, true),
            (libc::O_RDWR, true),
            (libc::O_WRONLY | libc::O_APPEND, true),
        ];
        for (flags, expected) in table {
            assert_eq!(wants_to_write(OpenFlags(flags)), expected, "{flags:o}");
        }
    }

    #[test]
    fn every_error_reaches_the_kernel_as_its_number() {
        for kind in ErrorKind::ALL {
            assert_eq!(errno("test", &Error::new(*kind, "x")).code(), errors::errno(*kind));
        }
    }
}
