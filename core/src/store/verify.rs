//! Reads a content that has become whole and compares it with the Hub's hash of it: in the background, one at a time. Changes
//! nothing.
//!
//! What was compared gets a *seal*: blake3 of all its blocks' checksums, in order. It says for ever that blocks of these
//! checksums together are the content, so nothing has to be taken back when blocks go, and a crash cannot make it a lie.

use super::cell::{self, CELL_BLOCKS, Cell, Found};
use super::disk::Disk;
use super::key::{Blob, ContentHash};
use sha1::Digest;
use std::io;
use std::path::Path;

/// Blocks read in one go.
const READ_BLOCKS: u32 = 4;

/// Of a whole content.
pub(super) type Seal = [u8; 32];

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the content.
    Right(Seal),
    /// It is another.
    Wrong,
    /// A part of it is not here any more.
    Partial,
}

/// What the seal of a content would be, and whether it carries it; `None` unless every block is said to be here. Looks from
/// the end, which comes last where a file is read in order.
pub(super) fn sealed(disk: &dyn Disk, store: &Path, blob: &Blob) -> io::Result<Option<(Seal, bool)>> {
    let mut cells = Vec::new();
    for number in (0..cells_of(blob)).rev() {
        match Cell::open(disk, store, blob, number)? {
            Found::Cell(cell) if cell.is_full() => cells.push(cell.checksums().to_vec()),
            _ => return Ok(None),
        }
    }
    let Found::Cell(first) = Cell::open(disk, store, blob, 0)? else { return Ok(None) };
    let mut hasher = blake3::Hasher::new();
    for checksums in cells.iter().rev() {
        hasher.update(checksums);
    }
    let seal = *hasher.finalize().as_bytes();
    Ok(Some((seal, first.seal() == seal)))
}

/// Compares a content. One that is to be `durable` is on the disk when this returns.
pub(super) fn verify(disk: &dyn Disk, store: &Path, blob: &Blob, durable: bool) -> io::Result<Verdict> {
    let mut hasher = Hasher::new(blob);
    let mut seal = blake3::Hasher::new();
    for number in 0..cells_of(blob) {
        let Found::Cell(cell) = Cell::open(disk, store, blob, number)? else { return Ok(Verdict::Partial) };
        if durable {
            cell.sync()?;
        }
        let blocks = cell::cell_blocks(blob, number);
        for start in blocks.clone().step_by(READ_BLOCKS as usize) {
            let (content, good) = cell.read(&(start..(start + READ_BLOCKS).min(blocks.end)))?;
            if !good.iter().all(|good| *good) {
                return Ok(Verdict::Partial);
            }
            hasher.update(&content);
        }
        seal.update(cell.checksums());
    }
    if !hasher.is(blob.hash) {
        return Ok(Verdict::Wrong);
    }
    if durable {
        // The names on the way are as new as the content may be.
        let folder = cell::folder(store, blob.key);
        for folder in folder.ancestors().take_while(|folder| folder.starts_with(store)) {
            disk.sync_folder(folder)?;
        }
    }
    Ok(Verdict::Right(*seal.finalize().as_bytes()))
}

fn cells_of(blob: &Blob) -> u32 {
    cell::blocks(blob.size).div_ceil(CELL_BLOCKS)
}

enum Hasher {
    Sha256(sha2::Sha256),
    Sha1(sha1::Sha1),
}

impl Hasher {
    fn new(blob: &Blob) -> Self {
        match blob.hash {
            ContentHash::Sha256(_) => Hasher::Sha256(sha2::Sha256::new()),
            ContentHash::GitBlob(_) => {
                Hasher::Sha1(sha1::Sha1::new_with_prefix(format!("blob {}\0", blob.size).as_bytes()))
            }
        }
    }

    fn update(&mut self, content: &[u8]) {
        match self {
            Hasher::Sha256(hasher) => hasher.update(content),
            Hasher::Sha1(hasher) => hasher.update(content),
        }
    }

    fn is(self, hash: ContentHash) -> bool {
        match (self, hash) {
            (Hasher::Sha256(hasher), ContentHash::Sha256(hash)) => hasher.finalize()[..] == hash,
            (Hasher::Sha1(hasher), ContentHash::GitBlob(hash)) => hasher.finalize()[..] == hash,
            _ => false,
        }
    }
}
