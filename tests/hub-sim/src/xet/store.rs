//! Holds xorbs and the files they make up, by hash. Never chunks and never serves.

use std::collections::HashMap;
use std::io::{self, Cursor};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use xet_core_structures::merklehash::MerkleHash;
use xet_core_structures::xorb_object::{XorbObject, deserialize_chunks, reconstruct_xorb_with_footer};

use super::Blob;

/// A serialised xorb with its chunk table.
#[derive(Debug)]
pub(crate) struct Xorb {
    pub(crate) hash: MerkleHash,
    pub(crate) chunk_hashes: Vec<MerkleHash>,
    /// Where each chunk ends in the serialised bytes, header included.
    ends: Vec<u32>,
    /// Where each chunk ends in the bytes it stands for.
    unpacked_ends: Vec<u32>,
    pub(crate) blob: Blob,
}

impl Xorb {
    /// The serialised bytes of these chunks.
    pub(crate) fn byte_range(&self, chunks: &Range<u32>) -> Range<u64> {
        before(&self.ends, chunks.start)..before(&self.ends, chunks.end)
    }

    /// How many bytes these chunks stand for.
    pub(crate) fn unpacked_len(&self, chunks: &Range<u32>) -> u64 {
        before(&self.unpacked_ends, chunks.end) - before(&self.unpacked_ends, chunks.start)
    }

    pub(crate) fn chunk_count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The bytes that these chunks stand for.
    pub(crate) fn unpack(&self, chunks: &Range<u32>) -> io::Result<Vec<u8>> {
        let bytes = self.byte_range(chunks);
        let raw = self.blob.read(bytes.start, (bytes.end - bytes.start) as usize)?;
        let (data, _) = deserialize_chunks(&mut Cursor::new(raw)).map_err(io::Error::other)?;
        Ok(data)
    }
}

fn before(ends: &[u32], chunk: u32) -> u64 {
    if chunk == 0 { 0 } else { u64::from(ends[chunk as usize - 1]) }
}

/// A run of neighbouring chunks of one xorb, at its place in a file.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub(crate) xorb: Arc<Xorb>,
    pub(crate) chunks: Range<u32>,
    /// Where the run starts in the file.
    pub(crate) start: u64,
    /// How many bytes it stands for.
    pub(crate) len: u64,
}

/// A file as a sequence of terms.
#[derive(Debug)]
pub(crate) struct XetFile {
    pub(crate) hash: MerkleHash,
    pub(crate) len: u64,
    pub(crate) terms: Vec<Term>,
}

impl XetFile {
    /// Lays runs of chunks one behind the other, merging those that are neighbours in the same xorb.
    pub(crate) fn new(hash: MerkleHash, runs: impl IntoIterator<Item = (Arc<Xorb>, Range<u32>)>) -> Self {
        let mut terms: Vec<Term> = Vec::new();
        let mut len = 0;
        for (xorb, chunks) in runs {
            let run_len = xorb.unpacked_len(&chunks);
            match terms.last_mut() {
                Some(last) if last.xorb.hash == xorb.hash && last.chunks.end == chunks.start => {
                    last.chunks.end = chunks.end;
                    last.len += run_len;
                }
                _ => terms.push(Term { xorb, chunks, start: len, len: run_len }),
            }
            len += run_len;
        }
        Self { hash, len, terms }
    }

    /// The index of the term that holds this byte.
    pub(crate) fn term_at(&self, offset: u64) -> usize {
        self.terms.partition_point(|term| term.start + term.len <= offset)
    }

    /// Up to `len` bytes from `offset`, never past the end of a chunk.
    pub(crate) fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let Some(term) = self.terms.get(self.term_at(offset)) else { return Ok(Bytes::new()) };
        let (chunk, skip) = term.chunk_at(offset);
        let data = Bytes::from(term.xorb.unpack(&(chunk..chunk + 1))?);
        let skip = skip as usize;
        Ok(data.slice(skip..data.len().min(skip + len)))
    }
}

impl Term {
    /// The chunk that holds this byte of the file, and the byte's offset in it.
    pub(crate) fn chunk_at(&self, offset: u64) -> (u32, u64) {
        let ends = &self.xorb.unpacked_ends;
        let within = before(ends, self.chunks.start) + (offset - self.start);
        let chunk = ends.partition_point(|&end| u64::from(end) <= within) as u32;
        (chunk, within - before(ends, chunk))
    }
}

/// All xorbs and files. One owner, one short lock; xorbs and files are immutable once in.
#[derive(Debug)]
pub(crate) struct XetStore {
    dir: PathBuf,
    /// Xorbs above this sum go to files in `dir`.
    memory_bytes_max: u64,
    /// Std: held for map operations alone.
    tables: Mutex<Tables>,
    /// One ingest at a time, so that deduplication does not depend on scheduling.
    pub(super) ingest_turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct Tables {
    xorbs: HashMap<MerkleHash, Arc<Xorb>>,
    files: HashMap<MerkleHash, Arc<XetFile>>,
    chunks: HashMap<MerkleHash, (Arc<Xorb>, u32)>,
    by_sha256: HashMap<String, MerkleHash>,
    memory_bytes: u64,
}

impl XetStore {
    pub(crate) fn new(dir: PathBuf, memory_bytes_max: u64) -> Self {
        Self { dir, memory_bytes_max, tables: Mutex::default(), ingest_turn: Mutex::default() }
    }

    pub(crate) fn xorb(&self, hash: &MerkleHash) -> Option<Arc<Xorb>> {
        self.tables().xorbs.get(hash).cloned()
    }

    pub(crate) fn file(&self, hash: &MerkleHash) -> Option<Arc<XetFile>> {
        self.tables().files.get(hash).cloned()
    }

    /// The file whose shard named this SHA-256.
    pub(crate) fn file_by_sha256(&self, sha256: &str) -> Option<Arc<XetFile>> {
        let tables = self.tables();
        tables.files.get(tables.by_sha256.get(sha256)?).cloned()
    }

    /// Stores a file; an equal one that is there wins.
    pub(crate) fn add_file(&self, file: XetFile) -> Arc<XetFile> {
        let file = Arc::new(file);
        self.tables().files.entry(file.hash).or_insert(file).clone()
    }

    /// Remembers which file a SHA-256 names, as a shard's metadata says it.
    pub(crate) fn link_sha256(&self, sha256: String, file: &XetFile) {
        self.tables().by_sha256.insert(sha256, file.hash);
    }

    /// Where a chunk already lies.
    pub(super) fn chunk(&self, hash: &MerkleHash) -> Option<(Arc<Xorb>, u32)> {
        self.tables().chunks.get(hash).cloned()
    }

    /// Stores a serialised xorb with a footer; an equal one that is there wins.
    pub(crate) fn add_xorb(&self, serialized: Vec<u8>) -> io::Result<Arc<Xorb>> {
        let object = XorbObject::deserialize(&mut Cursor::new(&serialized)).map_err(io::Error::other)?;
        let info = object.info;
        if let Some(known) = self.xorb(&info.xorb_hash) {
            return Ok(known);
        }
        let blob = self.keep(&info.xorb_hash, serialized)?;
        let xorb = Arc::new(Xorb {
            hash: info.xorb_hash,
            chunk_hashes: info.chunk_hashes,
            ends: info.chunk_boundary_offsets,
            unpacked_ends: info.unpacked_chunk_offsets,
            blob,
        });
        let mut tables = self.tables();
        for (index, hash) in xorb.chunk_hashes.iter().enumerate() {
            tables.chunks.entry(*hash).or_insert_with(|| (xorb.clone(), index as u32));
        }
        Ok(tables.xorbs.entry(xorb.hash).or_insert(xorb).clone())
    }

    /// Stores an uploaded xorb, whose every chunk is hashed again; `None` if it is not the one it is said to be.
    pub(crate) fn add_uploaded_xorb(&self, said: &MerkleHash, raw: &[u8]) -> io::Result<Option<Arc<Xorb>>> {
        let mut serialized = Vec::with_capacity(raw.len() + 64 * 1024);
        let (_, hash) = reconstruct_xorb_with_footer(&mut serialized, raw).map_err(io::Error::other)?;
        if hash != *said {
            return Ok(None);
        }
        self.add_xorb(serialized).map(Some)
    }

    fn keep(&self, hash: &MerkleHash, serialized: Vec<u8>) -> io::Result<Blob> {
        let len = serialized.len() as u64;
        {
            let mut tables = self.tables();
            if tables.memory_bytes + len <= self.memory_bytes_max {
                tables.memory_bytes += len;
                return Ok(Blob::Memory(serialized.into()));
            }
        }
        Blob::spill(&serialized, &self.dir.join(hash.hex()))
    }

    fn tables(&self) -> std::sync::MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
