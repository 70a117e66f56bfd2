//! Real mounts of a toy, as this user: the way a session begins and ends, whatever the core does.

use super::super::answer::{guarded, inline_or_spawn};
use super::super::point;
use super::{attach, session};
use crate::mounts::{self, Busy, MountSource, MountState, Unmount};
use crate::{Audience, Covering, MountOptions};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, ReplyStatfs, Request,
};
use std::error::Error as _;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use weightless_core::ErrorKind;

/// A folder with the file `fine`, and names that panic: `boom` at once, `later` on the runtime, `half` when read.
struct Toy {
    runtime: tokio::runtime::Handle,
}

const TTL: Duration = Duration::ZERO;
const FINE: u64 = 2;
const HALF: u64 = 3;

fn attributes(ino: u64) -> FileAttr {
    let (kind, perm, size) = if ino == 1 { (FileType::Directory, 0o555, 0) } else { (FileType::RegularFile, 0o444, 4) };
    let time = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(ino),
        size,
        blocks: 1,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind,
        perm,
        nlink: 1,
        uid: nix::unistd::getuid().as_raw(),
        gid: nix::unistd::getgid().as_raw(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Toy {
    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_owned();
        guarded("lookup", || {
            assert!(name != "boom", "planted");
            inline_or_spawn("lookup", &self.runtime, async move {
                match name.to_str() {
                    Some("fine") => reply.entry(&TTL, &attributes(FINE), Generation(0)),
                    Some("half") => reply.entry(&TTL, &attributes(HALF), Generation(0)),
                    Some("later") => {
                        tokio::task::yield_now().await;
                        panic!("planted");
                    }
                    _ => reply.error(Errno::ENOENT),
                }
            });
        });
    }

    fn getattr(&self, _request: &Request, ino: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &attributes(ino.0));
    }

    fn open(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(ino.0), FopenFlags::empty());
    }

    fn read(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        _size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        guarded("read", || {
            assert!(ino.0 == FINE, "planted");
            reply.data(b"fine");
        });
    }

    fn statfs(&self, _request: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        reply.statfs(1, 0, 0, 1, 0, 4096, 255, 4096);
    }
}

/// A mounted toy; unmounted when dropped.
struct Trial {
    _folder: TempDir,
    _runtime: tokio::runtime::Runtime,
    at: PathBuf,
    loops: Option<JoinHandle<io::Result<()>>>,
}

fn source() -> MountSource {
    MountSource::Repo { repo: "org/toy".to_owned(), revision: "a,b c".to_owned() }
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().canonicalize().expect("its path").join("a b");
    fs::create_dir(&at).expect("a mount point");
    (folder, at)
}

fn trial() -> Trial {
    let (folder, at) = place();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    let toy = Toy { runtime: runtime.handle().clone() };
    let session = session(toy, &at, &source(), &MountOptions::default()).expect("it mounts");
    Trial { _folder: folder, _runtime: runtime, at, loops: Some(thread::spawn(|| session.run())) }
}

impl Trial {
    fn entry(&self) -> mounts::MountEntry {
        mounts::find(&self.at).expect("the table is read").expect("it is mounted")
    }

    fn ends(mut self) {
        self.loops.take().expect("it ran").join().expect("no loop panics").expect("the session ends well");
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        clear(&self.at);
    }
}

fn clear(at: &Path) {
    while let Ok(Some(entry)) = mounts::find(at) {
        mounts::unmount(&entry, Unmount::Lazy).expect("it can be unmounted");
    }
}

#[test]
fn a_panic_fails_its_request_and_the_mount_lives() {
    let trial = trial();
    for _ in 0..20 {
        for name in ["boom", "later"] {
            let error = fs::metadata(trial.at.join(name)).expect_err("it panicked");
            assert_eq!(error.raw_os_error(), Some(libc::EIO), "{name}");
        }
        assert_eq!(fs::read(trial.at.join("half")).expect_err("it panicked").raw_os_error(), Some(libc::EIO));
        assert_eq!(fs::read(trial.at.join("fine")).expect("it lives"), b"fine");
    }
}

#[test]
fn a_live_mount_shows_what_it_is_and_keeps_its_place() {
    let trial = trial();
    let entry = trial.entry();
    assert_eq!((&entry.at, &entry.source), (&trial.at, &source()));
    assert_eq!(entry.owner_uid, Some(nix::unistd::getuid().as_raw()));
    assert_eq!(mounts::probe(&entry), MountState::Alive);
    assert_eq!(mounts::clear_dead(&trial.at).expect("looked at"), 0);
    let busy = point::prepare(&trial.at, Covering::Anything).expect_err("it is taken");
    assert_eq!(busy.kind(), ErrorKind::MountPointBusy);
    let error = fs::write(trial.at.join("new"), b"x").expect_err("it is read-only");
    assert_eq!(error.raw_os_error(), Some(libc::EROFS));
}

#[test]
fn a_busy_mount_names_who_holds_it_and_lives_on() {
    let trial = trial();
    let open = fs::File::open(trial.at.join("fine")).expect("it opens");
    let busy = mounts::unmount(&trial.entry(), Unmount::Strict).expect_err("a file is open");
    assert_eq!(busy.kind(), ErrorKind::MountPointBusy);
    let Busy { holders } = busy.source().and_then(|cause| cause.downcast_ref()).expect("holders are known");
    let [holder] = holders.as_slice() else { panic!("one holder: {holders:?}") };
    assert_eq!((holder.pid, &holder.path), (std::process::id(), &trial.at.join("fine")));
    assert_eq!(mounts::probe(&trial.entry()), MountState::Alive);

    drop(open);
    // The kernel releases a file after close(2) has returned, and the mount with it.
    let mut result = mounts::unmount(&trial.entry(), Unmount::Strict);
    while result.is_err() {
        thread::yield_now();
        result = mounts::unmount(&trial.entry(), Unmount::Strict);
    }
    trial.ends();
}

#[test]
fn a_lazy_unmount_frees_the_place_while_files_are_open() {
    let trial = trial();
    let open = fs::File::open(trial.at.join("fine")).expect("it opens");
    let entry = trial.entry();
    mounts::unmount(&entry, Unmount::Lazy).expect("it always works");
    assert_eq!(mounts::find(&trial.at).expect("the table is read"), None);
    mounts::unmount(&entry, Unmount::Strict).expect("gone is gone");
    assert_eq!(io::read_to_string(&open).expect("an open file lives on"), "fine");
    drop(open);
    trial.ends();
}

#[test]
fn a_dead_mount_is_found_and_cleared() {
    let (_folder, at) = place();
    // Only root may mount over a dead mount.
    let layers = if nix::unistd::Uid::effective().is_root() { 3 } else { 1 };
    for _ in 0..layers {
        // Nobody serves what is dropped at once.
        drop(attach::attach(&at, &source(), Audience::Owner).expect("it mounts"));
    }
    let entry = mounts::find(&at).expect("the table is read").expect("it is still mounted");
    assert_eq!(mounts::probe(&entry), MountState::Dead);
    assert!(fs::read_dir(&at).is_err());
    let point = point::prepare(&at, Covering::EmptyOnly).expect("it can be used again");
    assert_eq!((point.at, point.cleared), (at.clone(), layers));
    assert_eq!(mounts::find(&at).expect("the table is read"), None);
}

#[test]
fn a_mount_that_does_not_answer_keeps_its_place_and_can_be_unmounted() {
    let (_folder, at) = place();
    let device = attach::attach(&at, &source(), Audience::Owner).expect("it mounts");
    let entry = mounts::find(&at).expect("the table is read").expect("it is mounted");
    let refused = point::prepare(&at, Covering::EmptyOnly).map_err(|error| error.kind());
    mounts::unmount(&entry, Unmount::Lazy).expect("it always works");
    assert_eq!(refused, Err(ErrorKind::MountPointBusy));
    assert_eq!(mounts::find(&at).expect("the table is read"), None);
    drop(device);
}

#[test]
fn the_helper_mounts_and_hands_the_device_back() {
    let (_folder, at) = place();
    let device = attach::attach_by_helper(&at, &source(), Audience::Owner).expect("it mounts");
    let entry = mounts::find(&at).expect("the table is read").expect("it is mounted");
    assert_eq!((&entry.at, &entry.source), (&at, &source()));
    drop(device);
    assert_eq!(mounts::probe(&entry), MountState::Dead);
    assert_eq!(point::prepare(&at, Covering::EmptyOnly).expect("cleared").cleared, 1);
}

#[test]
fn what_the_helper_refuses_is_told_with_its_words() {
    let (_folder, at) = place();
    let refused = attach::attach_by_helper(&at.join("absent"), &source(), Audience::Owner).expect_err("no such folder");
    assert_eq!(refused.kind(), ErrorKind::DriverMissing);
    assert!(refused.source().expect("its words").to_string().contains("absent"));
}
