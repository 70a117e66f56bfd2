//! Positioned reads and writes on Windows. Files have no holes there: one takes as much as it is long.

use super::FileFacts;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::FileExt;
use std::path::Path;

/// With the right to write: the time of use is an attribute.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path).or_else(|_| File::open(path))
}

pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// A folder cannot be synced; NTFS writes names to its journal.
pub(super) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(into, offset)
}

pub(super) fn write_at(file: &File, content: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(content, offset)
}

pub(super) fn facts(meta: &Metadata) -> io::Result<FileFacts> {
    Ok(FileFacts { allocated: meta.len(), used: meta.modified()? })
}
