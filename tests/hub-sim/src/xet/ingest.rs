//! Turns contents into xorbs and files the way the Xet client does: content-defined chunks, deduplicated, packed into
//! xorbs of up to 64 MiB. Never keeps more than one xorb's worth of chunks.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use xet_core_structures::merklehash::{MerkleHash, file_hash};
use xet_core_structures::xorb_object::constants::{MAX_XORB_BYTES, MAX_XORB_CHUNKS};
use xet_core_structures::xorb_object::{Chunk, CompressionScheme, RawXorbData, SerializedXorbObject};
use xet_data::deduplication::Chunker;

use super::{XetFile, XetStore, Xorb};
use crate::content::{Content, SCATTERED_CHUNK_BYTES};

/// How much is read and chunked at a time.
pub(crate) const READ_BYTES: usize = 8 << 20;
/// The largest chunk, after which the chunker depends on nothing before it.
const CHUNK_BYTES_MAX: u64 = 128 << 10;

impl XetStore {
    /// Stores the content, deduplicated against everything stored before, and gives its file.
    pub(crate) fn ingest(&self, content: &Content) -> io::Result<Arc<XetFile>> {
        let _turn = self.ingest_turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut laying = Laying::new(self, content);
        match content {
            Content::Scattered { xorbs, .. } => return laying.scatter(content, *xorbs as usize),
            Content::Repeating { period, .. } => laying.lay_periodic(content, *period)?,
            Content::Zeros { .. } => laying.lay_periodic(content, CHUNK_BYTES_MAX)?,
            _ => laying.lay(content)?,
        }
        laying.finish()
    }
}

/// Where a chunk of the file lies: in a xorb that was there, or in the n-th that this file cuts.
#[derive(Clone)]
enum Place {
    Known(Arc<Xorb>, u32),
    New(usize, u32),
}

struct Laying<'a> {
    store: &'a XetStore,
    scheme: CompressionScheme,
    cut: Vec<Arc<Xorb>>,
    pending: Vec<Chunk>,
    pending_bytes: usize,
    own: HashMap<MerkleHash, (usize, u32)>,
    places: Vec<Place>,
    chunks: Vec<(MerkleHash, u64)>,
}

impl<'a> Laying<'a> {
    fn new(store: &'a XetStore, content: &Content) -> Self {
        let scheme = if content.is_incompressible() { CompressionScheme::None } else { CompressionScheme::Auto };
        Self {
            store,
            scheme,
            cut: Vec::new(),
            pending: Vec::new(),
            pending_bytes: 0,
            own: HashMap::new(),
            places: Vec::new(),
            chunks: Vec::new(),
        }
    }

    fn lay(&mut self, content: &Content) -> io::Result<()> {
        let mut chunker = Chunker::default();
        let mut offset = 0;
        while offset < content.len() {
            let block = content.read(offset, READ_BYTES)?;
            offset += block.len() as u64;
            for chunk in chunker.next_block_bytes(&block, offset == content.len()) {
                self.push(chunk)?;
            }
        }
        Ok(())
    }

    /// A cut depends on nothing before it, so in periodic content the chunk at equal phases is equal: each is cut once.
    fn lay_periodic(&mut self, content: &Content, period: u64) -> io::Result<()> {
        let mut by_phase: HashMap<u64, (Place, MerkleHash, u64)> = HashMap::new();
        let mut offset = 0;
        while offset < content.len() {
            let whole_chunk_left = content.len() - offset >= CHUNK_BYTES_MAX;
            let phase = offset % period;
            if whole_chunk_left && let Some((place, hash, len)) = by_phase.get(&phase) {
                self.places.push(place.clone());
                self.chunks.push((*hash, *len));
                offset += len;
                continue;
            }
            let window = content.read(offset, CHUNK_BYTES_MAX as usize)?;
            let len = Chunker::default().next_boundary(&window).unwrap_or(window.len());
            let chunk = Chunk::new(window.slice(..len));
            let hash = chunk.hash;
            let place = self.push(chunk)?;
            if whole_chunk_left {
                by_phase.insert(phase, (place, hash, len as u64));
            }
            offset += len as u64;
        }
        Ok(())
    }

    fn push(&mut self, chunk: Chunk) -> io::Result<Place> {
        self.chunks.push((chunk.hash, chunk.data.len() as u64));
        let place = if let Some(&(xorb, index)) = self.own.get(&chunk.hash) {
            Place::New(xorb, index)
        } else if let Some((xorb, index)) = self.store.chunk(&chunk.hash) {
            Place::Known(xorb, index)
        } else {
            if self.pending_bytes + chunk.data.len() > *MAX_XORB_BYTES || self.pending.len() >= *MAX_XORB_CHUNKS {
                self.cut()?;
            }
            let (xorb, index) = (self.cut.len(), self.pending.len() as u32);
            self.own.insert(chunk.hash, (xorb, index));
            self.pending_bytes += chunk.data.len();
            self.pending.push(chunk);
            Place::New(xorb, index)
        };
        self.places.push(place.clone());
        Ok(place)
    }

    fn cut(&mut self) -> io::Result<()> {
        let chunks = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        self.cut.push(self.store.add_xorb(serialize(&chunks, self.scheme)?)?);
        Ok(())
    }

    fn finish(mut self) -> io::Result<Arc<XetFile>> {
        if !self.pending.is_empty() {
            self.cut()?;
        }
        let cut = &self.cut;
        let runs = self.places.into_iter().map(|place| match place {
            Place::Known(xorb, index) => (xorb, one(index)),
            Place::New(xorb, index) => (cut[xorb].clone(), one(index)),
        });
        Ok(self.store.add_file(XetFile::new(file_hash(&self.chunks), runs)))
    }

    /// Deals chunks of equal length out to `lanes` xorbs in turn, so that no two neighbours share a term.
    fn scatter(self, content: &Content, lanes: usize) -> io::Result<Arc<XetFile>> {
        let round_bytes = SCATTERED_CHUNK_BYTES * lanes as u64;
        let rounds_per_group = (*MAX_XORB_BYTES as u64) / SCATTERED_CHUNK_BYTES;
        let mut runs = Vec::new();
        let mut hashes = Vec::new();
        let mut group_start = 0;
        while group_start < content.len() {
            let group_end = (group_start + round_bytes * rounds_per_group).min(content.len());
            let mut dealt: Vec<Vec<Chunk>> = vec![Vec::new(); lanes];
            let mut order = Vec::new();
            let mut offset = group_start;
            while offset < group_end {
                let len = SCATTERED_CHUNK_BYTES.min(group_end - offset);
                let lane = order.len() % lanes;
                let chunk = Chunk::new(content.read(offset, len as usize)?);
                hashes.push((chunk.hash, len));
                order.push((lane, dealt[lane].len() as u32));
                dealt[lane].push(chunk);
                offset += len;
            }
            let cut = dealt
                .iter()
                .filter(|chunks| !chunks.is_empty())
                .map(|chunks| self.store.add_xorb(serialize(chunks, self.scheme)?))
                .collect::<io::Result<Vec<_>>>()?;
            runs.extend(order.into_iter().map(|(lane, index)| (cut[lane].clone(), one(index))));
            group_start = group_end;
        }
        Ok(self.store.add_file(XetFile::new(file_hash(&hashes), runs)))
    }
}

fn one(index: u32) -> Range<u32> {
    index..index + 1
}

fn serialize(chunks: &[Chunk], scheme: CompressionScheme) -> io::Result<Vec<u8>> {
    let raw = RawXorbData::from_chunks(chunks, vec![0]);
    let object = SerializedXorbObject::from_xorb_with_compression(raw, scheme, true, 0).map_err(io::Error::other)?;
    Ok(object.serialized_data)
}
