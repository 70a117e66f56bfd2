//! Positioned reads and writes, and files for their owner alone, on POSIX systems.

use super::FileFacts;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// What `st_blocks` counts, whatever the file system's blocks are (stat(3type)).
const STAT_BLOCK_BYTES: u64 = 512;

pub(super) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(super) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(into, offset)
}

pub(super) fn write_at(file: &File, content: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(content, offset)
}

pub(super) fn facts(meta: &Metadata) -> io::Result<FileFacts> {
    Ok(FileFacts { allocated: meta.blocks() * STAT_BLOCK_BYTES, used: meta.modified()? })
}
