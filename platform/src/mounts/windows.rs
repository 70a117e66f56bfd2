//! There are no mounts of ours on Windows yet.

use super::{Holder, MountEntry, Unmount};
use std::io;
use std::path::Path;

pub(super) const TABLE: &str = "";

pub(super) fn list() -> io::Result<Vec<MountEntry>> {
    Ok(Vec::new())
}

pub(super) fn answers(_at: &Path) -> bool {
    false
}

pub(super) fn unmount(_at: &Path, _how: Unmount) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn abort(_entry: &MountEntry) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn holders(_at: &Path) -> Vec<Holder> {
    Vec::new()
}
