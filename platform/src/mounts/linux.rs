//! Mounts on Linux: `/proc/self/mountinfo` tells, `umount2` or `fusermount3` unmounts, fusectl aborts.

use super::{MountEntry, Unmount};
use crate::driver;
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod holders;
mod mountinfo;

pub(super) use holders::holders;

pub(super) const TABLE: &str = "/proc/self/mountinfo";

pub(super) fn list() -> io::Result<Vec<MountEntry>> {
    Ok(mountinfo::ours(&fs::read(TABLE)?))
}

/// `false` if the mount's process is gone. Not `stat`: the kernel answers that from its cache for as long as the
/// attributes are valid, also when nobody is left to serve; statfs always asks.
pub(super) fn answers(at: &Path) -> bool {
    !matches!(nix::sys::statfs::statfs(at), Err(Errno::ENOTCONN | Errno::ECONNABORTED))
}

pub(super) fn unmount(at: &Path, how: Unmount) -> io::Result<()> {
    let flags = match how {
        Unmount::Strict => MntFlags::UMOUNT_NOFOLLOW,
        Unmount::Lazy => MntFlags::UMOUNT_NOFOLLOW | MntFlags::MNT_DETACH,
    };
    match umount2(at, flags) {
        Ok(()) => Ok(()),
        Err(Errno::EPERM) => unmount_by_helper(at, how),
        Err(errno) => Err(errno.into()),
    }
}

/// For users without rights: the set-user-id helper unmounts what they mounted.
fn unmount_by_helper(at: &Path, how: Unmount) -> io::Result<()> {
    let program = driver::fusermount().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.arg("-u");
    if how == Unmount::Lazy {
        command.arg("-z");
    }
    let output = command.arg("--").arg(at).stdin(Stdio::null()).output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// The folder of a connection belongs to the user who mounted.
pub(super) fn abort(entry: &MountEntry) -> io::Result<()> {
    let file = PathBuf::from("/sys/fs/fuse/connections").join(entry.connection.to_string()).join("abort");
    OpenOptions::new().write(true).open(file)?.write_all(b"1")
}
