//! Mounts on macOS: `getfsstat` tells, `unmount` unmounts.

use super::{Holder, MountEntry, MountSource, Unmount};
use nix::errno::Errno;
use nix::mount::{MntFlags, unmount as unmount_path};
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

pub(super) const TABLE: &str = "getfsstat";

pub(super) fn list() -> io::Result<Vec<MountEntry>> {
    Ok(table()?.iter().filter_map(entry).collect())
}

fn table() -> io::Result<Vec<libc::statfs>> {
    // SAFETY: a null buffer asks for the number of mounts only (getfsstat(2)).
    let count = unsafe { libc::getfsstat(ptr::null_mut(), 0, libc::MNT_NOWAIT) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // Room for mounts that appear between the two calls; what still does not fit is seen next time.
    let mut mounts: Vec<libc::statfs> = Vec::with_capacity(count + 16);
    let bytes = libc::c_int::try_from(mounts.capacity() * size_of::<libc::statfs>()).map_err(io::Error::other)?;
    // SAFETY: the buffer has room for `bytes` bytes, and the kernel writes whole records into it.
    let filled = unsafe { libc::getfsstat(mounts.as_mut_ptr(), bytes, libc::MNT_NOWAIT) };
    let filled = usize::try_from(filled).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel filled this many records, no more than the buffer holds.
    unsafe { mounts.set_len(filled.min(mounts.capacity())) };
    Ok(mounts)
}

fn entry(mount: &libc::statfs) -> Option<MountEntry> {
    let source = MountSource::parse(text(&mount.f_mntfromname).to_str().ok()?)?;
    let at = PathBuf::from(OsStr::from_bytes(text(&mount.f_mntonname).to_bytes()));
    // SAFETY: fsid_t is two 32-bit integers in every macOS header; the crate keeps its field private.
    let fsid: [i32; 2] = unsafe { std::mem::transmute_copy(&mount.f_fsid) };
    Some(MountEntry { at, source, owner_uid: Some(mount.f_owner), connection: u64::from(fsid[0].cast_unsigned()) })
}

fn text(field: &[libc::c_char]) -> &CStr {
    // SAFETY: c_char and u8 have the same size and alignment, and every byte is a valid u8.
    let bytes = unsafe { std::slice::from_raw_parts(field.as_ptr().cast::<u8>(), field.len()) };
    CStr::from_bytes_until_nul(bytes).unwrap_or_default()
}

/// `false` if the mount's process is gone.
pub(super) fn answers(at: &Path) -> bool {
    !matches!(nix::sys::statfs::statfs(at), Err(Errno::ENOTCONN | Errno::ENXIO | Errno::EIO))
}

pub(super) fn unmount(at: &Path, how: Unmount) -> io::Result<()> {
    // There is no lazy unmount here: forcing is what frees the place at once.
    let flags = match how {
        Unmount::Strict => MntFlags::empty(),
        Unmount::Lazy => MntFlags::MNT_FORCE,
    };
    Ok(unmount_path(at, flags)?)
}

pub(super) fn abort(_entry: &MountEntry) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not known here without root's help.
pub(super) fn holders(_at: &Path) -> Vec<Holder> {
    Vec::new()
}
