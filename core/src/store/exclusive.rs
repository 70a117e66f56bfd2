//! Being the only one who changes the store: a file lock, held by whichever process of the user writes, for a batch at a time.
//! Reading needs none of it: what a reader cannot believe it fetches.

use super::disk::{Disk, DiskFile};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;

/// The lock's file, in the store's folder.
const LOCK_FILE: &str = "store.lock";

/// Who wrote last; tells a process whether its account of the store still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writer([u8; 16]);

impl Writer {
    /// One that there is no other of: process ids come again, and processes of two containers may share a folder.
    pub(super) fn fresh() -> Self {
        let mut id = [0; 16];
        // What seeds the tables of the standard library is the only randomness of this crate, and enough for this.
        id[..8].copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        id[8..].copy_from_slice(&RandomState::new().hash_one(1).to_le_bytes());
        Writer(id)
    }
}

/// The right to change the store, until dropped.
pub(super) struct Exclusive {
    file: Box<dyn DiskFile>,
    me: Writer,
    /// Whether nobody else has written since this writer last did.
    pub(super) is_mine: bool,
}

impl Exclusive {
    /// Waits for it.
    pub(super) fn enter(disk: &dyn Disk, store: &Path, me: Writer) -> io::Result<Exclusive> {
        let file = disk.lock(&store.join(LOCK_FILE))?;
        let mut last = [0; 16];
        let is_mine = file.read_at(&mut last, 0)? == last.len() && last == me.0;
        let entered = Exclusive { file, me, is_mine };
        if !is_mine {
            entered.sign()?;
        }
        Ok(entered)
    }

    /// Signed on entry, not at the end: who is killed in between has changed something too.
    fn sign(&self) -> io::Result<()> {
        self.file.write_at(&self.me.0, 0)
    }
}
