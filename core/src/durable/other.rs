//! Files and folders of systems without modes: on Windows the user's own folders carry the access list that keeps others out.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// A new file; one that exists is an error.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// A folder cannot be synced; NTFS writes renames to its journal.
pub(super) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}
