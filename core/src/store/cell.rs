//! A cell: 64 blocks of one content in one file, with what is needed to believe them. Believes nothing that its checksum does
//! not hold for, whatever was written, torn, lost or put there by others.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | `WLBLOCKS` |
//! | 8..12 | version of this format, 1 |
//! | 12..16 | bytes of a block, 262144 |
//! | 16..48 | key of the content |
//! | 48..56 | size of the content |
//! | 56..60 | number of the cell in the content |
//! | 60..64 | zeros |
//! | 64..96 | blake3 of the above |
//! | 128..2176 | for each block 32 bytes: its checksum, or zeros while it is absent |
//! | 2176..2208 | in the first cell: the seal of a content that was compared with its hash, see `verify` |
//! | 2304..4096 | what it is of, for people: two bytes of length, then repo, a line feed, path |
//! | 4096.. | the blocks, each at its place; what is absent is a hole |
//!
//! Numbers are little-endian. A block's checksum is blake3 under the content's key, of the block's number in the content (four
//! bytes) and its bytes. It is written after the block, and nothing is synced: after a crash either may be missing, and the
//! block is then absent.

use super::disk::{Disk, DiskFile, FileFacts};
use super::key::{Blob, BlobKey};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use weightless_plan::BLOCK_BYTES;

/// Blocks of a cell: 16 MiB. The unit in which room is made, so it is small against a cap of gigabytes, and large against its
/// header and its name.
pub(crate) const CELL_BLOCKS: u32 = 64;
/// Where the blocks begin.
pub(super) const HEADER_BYTES: u64 = 4096;
const MAGIC: &[u8; 8] = b"WLBLOCKS";
const VERSION: u32 = 1;
const SEALED: usize = 64;
const TABLE: usize = 128;
const CHECKSUM_BYTES: usize = 32;
const SEAL: usize = TABLE + CELL_BLOCKS as usize * CHECKSUM_BYTES;
const LABEL: usize = 2304;
const LABEL_BYTES_MAX: usize = HEADER_BYTES as usize - LABEL - 2;
const ABSENT: [u8; CHECKSUM_BYTES] = [0; CHECKSUM_BYTES];

/// A cell's place: which content, which part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CellId {
    pub(super) key: BlobKey,
    pub(super) number: u32,
}

impl CellId {
    /// Where it lies in the store's folder: not too many names in one folder, all cells of a content together.
    pub(super) fn path(self, store: &Path) -> PathBuf {
        folder(store, self.key).join(format!("{:06}", self.number))
    }

    /// The number that a cell's file is named after.
    pub(super) fn number(name: &str) -> Option<u32> {
        name.bytes().all(|byte| byte.is_ascii_digit()).then(|| name.parse().ok()).flatten()
    }
}

/// The folder of a content's cells.
pub(super) fn folder(store: &Path, key: BlobKey) -> PathBuf {
    let hex = key.hex();
    blocks_folder(store).join(&hex[..2]).join(&hex)
}

/// The folder of all contents.
pub(super) fn blocks_folder(store: &Path) -> PathBuf {
    store.join("blocks")
}

/// The blocks of a content that its cell of this number holds.
pub(super) fn cell_blocks(blob: &Blob, number: u32) -> Range<u32> {
    let start = number * CELL_BLOCKS;
    start..(start + CELL_BLOCKS).min(blocks(blob.size))
}

/// Blocks of a content of this size.
pub(super) fn blocks(size: u64) -> u32 {
    u32::try_from(size.div_ceil(BLOCK_BYTES)).unwrap_or(u32::MAX)
}

/// Bytes of a run of blocks.
pub(super) fn bytes(blob: &Blob, blocks: &Range<u32>) -> Range<u64> {
    u64::from(blocks.start) * BLOCK_BYTES..(u64::from(blocks.end) * BLOCK_BYTES).min(blob.size)
}

/// An open cell.
pub(super) struct Cell {
    file: Box<dyn DiskFile>,
    blob: Blob,
    number: u32,
    table: Vec<[u8; CHECKSUM_BYTES]>,
    seal: [u8; CHECKSUM_BYTES],
}

/// What lies where a cell would.
pub(super) enum Found {
    Cell(Cell),
    Nothing,
    /// Something that is none of ours, or torn.
    Alien,
}

impl Cell {
    /// Looks at a cell.
    pub(super) fn open(disk: &dyn Disk, store: &Path, blob: &Blob, number: u32) -> io::Result<Found> {
        let file = match disk.open(&CellId { key: blob.key, number }.path(store)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            other => other?,
        };
        let mut page = vec![0; HEADER_BYTES as usize];
        let read = file.read_at(&mut page, 0)?;
        if read < page.len() || page[..TABLE] != head(blob, number)[..] {
            return Ok(Found::Alien);
        }
        let table = page[TABLE..SEAL].as_chunks().0.to_vec();
        let seal = *page[SEAL..].first_chunk().unwrap_or(&ABSENT);
        Ok(Found::Cell(Cell { file, blob: *blob, number, table, seal }))
    }

    /// Opens a cell for writing; makes it, with `label` in it, where there is none that can be believed.
    pub(super) fn create(disk: &dyn Disk, store: &Path, blob: &Blob, number: u32, label: &str) -> io::Result<Cell> {
        let path = CellId { key: blob.key, number }.path(store);
        match Cell::open(disk, store, blob, number)? {
            Found::Cell(cell) => return Ok(Cell { file: disk.create(&path)?, ..cell }),
            Found::Alien => disk.remove(&path)?,
            Found::Nothing => {}
        }
        let file = disk.create(&path)?;
        let mut page = head(blob, number);
        page.resize(HEADER_BYTES as usize, 0);
        let label = cut(label, LABEL_BYTES_MAX).as_bytes();
        page[LABEL..LABEL + 2].copy_from_slice(&(label.len() as u16).to_le_bytes());
        page[LABEL + 2..LABEL + 2 + label.len()].copy_from_slice(label);
        file.write_at(&page, 0)?;
        Ok(Cell { file, blob: *blob, number, table: vec![ABSENT; CELL_BLOCKS as usize], seal: ABSENT })
    }

    /// Whether a block is said to be here.
    pub(super) fn has(&self, block: u32) -> bool {
        self.table[self.slot(block)] != ABSENT
    }

    /// Whether all blocks are said to be here.
    pub(super) fn is_full(&self) -> bool {
        cell_blocks(&self.blob, self.number).all(|block| self.has(block))
    }

    /// Reads neighbouring blocks in one go: their bytes, and for each block whether they can be believed.
    pub(super) fn read(&self, blocks: &Range<u32>) -> io::Result<(Vec<u8>, Vec<bool>)> {
        let range = bytes(&self.blob, blocks);
        let mut content = vec![0; (range.end - range.start) as usize];
        let read = self.file.read_at(&mut content, self.offset(blocks.start))?;
        let good = blocks
            .clone()
            .zip(content.chunks(BLOCK_BYTES as usize))
            .scan(0, |end, (block, content)| {
                *end += content.len();
                Some(*end <= read && checksum(self.blob.key, block, content) == self.table[self.slot(block)])
            })
            .collect();
        Ok((content, good))
    }

    /// Writes a block, then what makes it believed.
    pub(super) fn put(&mut self, block: u32, content: &[u8]) -> io::Result<()> {
        self.file.write_at(content, self.offset(block))?;
        self.note(block, checksum(self.blob.key, block, content))
    }

    /// Forgets a block.
    pub(super) fn forget(&mut self, block: u32) -> io::Result<()> {
        self.note(block, ABSENT)
    }

    /// The checksums of its blocks, in order.
    pub(super) fn checksums(&self) -> &[u8] {
        self.table[..cell_blocks(&self.blob, self.number).len()].as_flattened()
    }

    /// The seal that it carries.
    pub(super) fn seal(&self) -> [u8; CHECKSUM_BYTES] {
        self.seal
    }

    /// Gives it a seal.
    pub(super) fn set_seal(&mut self, seal: [u8; CHECKSUM_BYTES]) -> io::Result<()> {
        self.file.write_at(&seal, SEAL as u64)?;
        self.seal = seal;
        Ok(())
    }

    /// Notes that it is used now.
    pub(super) fn touch(&self) {
        self.file.touch();
    }

    /// Makes what was written durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// What it takes on the disk, and when it was last used.
    pub(super) fn facts(&self) -> io::Result<FileFacts> {
        self.file.facts()
    }

    fn note(&mut self, block: u32, checksum: [u8; CHECKSUM_BYTES]) -> io::Result<()> {
        let slot = self.slot(block);
        self.file.write_at(&checksum, (TABLE + slot * CHECKSUM_BYTES) as u64)?;
        self.table[slot] = checksum;
        Ok(())
    }

    fn slot(&self, block: u32) -> usize {
        debug_assert_eq!(block / CELL_BLOCKS, self.number, "a block of this cell");
        (block % CELL_BLOCKS) as usize
    }

    fn offset(&self, block: u32) -> u64 {
        HEADER_BYTES + self.slot(block) as u64 * BLOCK_BYTES
    }
}

/// What the cell of a content says that it is of: repo and path. Empty for what cannot be read.
pub(super) fn label(file: &dyn DiskFile) -> String {
    let mut page = [0; HEADER_BYTES as usize - LABEL];
    if !file.read_at(&mut page, LABEL as u64).is_ok_and(|read| read == page.len()) {
        return String::new();
    }
    let len = usize::from(u16::from_le_bytes([page[0], page[1]])).min(LABEL_BYTES_MAX);
    String::from_utf8(page[2..2 + len].to_vec()).unwrap_or_default()
}

fn head(blob: &Blob, number: u32) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEADER_BYTES as usize);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&VERSION.to_le_bytes());
    head.extend_from_slice(&(BLOCK_BYTES as u32).to_le_bytes());
    head.extend_from_slice(&blob.key.0);
    head.extend_from_slice(&blob.size.to_le_bytes());
    head.extend_from_slice(&number.to_le_bytes());
    head.resize(SEALED, 0);
    let seal = *blake3::hash(&head).as_bytes();
    head.extend_from_slice(&seal);
    head.resize(TABLE, 0);
    head
}

fn checksum(key: BlobKey, block: u32, content: &[u8]) -> [u8; CHECKSUM_BYTES] {
    *blake3::Hasher::new_keyed(&key.0).update(&block.to_le_bytes()).update(content).finalize().as_bytes()
}

/// The first `most` bytes of a text, or fewer, whole characters.
fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
