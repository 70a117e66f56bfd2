//! One fetch in flight: its task, and the sink that copies what arrives into blocks. Makes one attempt; whether there is
//! another is the plan's to say.

use super::block::{Block, BlockBuffer};
use super::driver::Shared;
use super::stats::Meter;
use crate::transport::{Local, Sink, Source};
use crate::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures_util::FutureExt;
use std::collections::HashMap;
use std::future::Future;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use weightless_plan::{BLOCK_BYTES, BlockIx, FetchId, Outcome, Urgency};

/// Bytes off the network are told to the plan once this many came, or after [`TELL_MS`]: often enough for a stall timer of
/// seconds, seldom enough that its mutex is not taken for every packet.
const TELL_BYTES: u64 = BLOCK_BYTES;
/// See [`TELL_BYTES`].
const TELL_MS: u64 = 250;

/// Brings bytes. The transport is one; tests have another.
pub trait Fetcher: Send + Sync + 'static {
    /// Fetches `range` of `source` once; dropping the future cancels it.
    fn fetch<'a>(
        &'a self,
        source: &'a Arc<Source>,
        range: Range<u64>,
        urgency: Urgency,
        sink: &'a Arc<dyn Sink>,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

    /// A block came whole from the network and was given to the reads that wait for it. Called once for each; must not wait.
    fn keep(&self, source: &Arc<Source>, block: BlockIx, content: &Bytes) {
        let _ = (source, block, content);
    }

    /// Memory that its connections and what it knows take now, beside the blocks that they fill.
    fn buffer_bytes(&self) -> u64;
}

/// A fetch that the plan asked for and that is to be started once its mutex is released.
pub(super) struct Start {
    pub(super) fetch: FetchId,
    pub(super) source: Arc<Source>,
    pub(super) meter: Arc<Meter>,
    pub(super) blocks: Range<u32>,
    pub(super) urgency: Urgency,
    pub(super) cancel: CancellationToken,
}

impl Start {
    /// Runs it to its end and settles it, whatever happens.
    pub(super) async fn run(self, shared: Arc<Shared>) {
        let size = self.source.file.size;
        let range = u64::from(self.blocks.start) * BLOCK_BYTES..(u64::from(self.blocks.end) * BLOCK_BYTES).min(size);
        let sink = Arc::new(BlockSink {
            shared: shared.clone(),
            fetch: self.fetch,
            source: self.source.clone(),
            meter: self.meter,
            size,
            filling: Mutex::default(),
            untold: AtomicU64::new(0),
            told_ms: AtomicU64::new(0),
        });
        let fetched = {
            let sink: Arc<dyn Sink> = sink.clone();
            let attempt = async { shared.fetcher().fetch(&self.source, range, self.urgency, &sink).await };
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => None,
                result = AssertUnwindSafe(attempt).catch_unwind() => Some(result),
            }
        };
        sink.tell_rest();
        let result = match fetched {
            None => return shared.settled(self.fetch, Outcome::Cancelled, None),
            Some(Ok(Ok(()))) if sink.is_complete() => Ok(()),
            Some(Ok(Ok(()))) => {
                Err(Error::new(ErrorKind::Internal, &*self.source.file.path).because("a fetch ended early"))
            }
            Some(Ok(Err(error))) => Err(error),
            Some(Err(_panic)) => {
                Err(Error::new(ErrorKind::Internal, &*self.source.file.path).because("a fetch panicked"))
            }
        };
        match result {
            Ok(()) => shared.settled(self.fetch, Outcome::Complete, None),
            Err(error) => shared.settled(self.fetch, shared.outcome_of(&error), Some(error)),
        }
    }
}

/// Copies what arrives into blocks and tells the plan of each that is whole.
struct BlockSink {
    shared: Arc<Shared>,
    fetch: FetchId,
    source: Arc<Source>,
    meter: Arc<Meter>,
    size: u64,
    /// Blocks in part. Protects the copying too: connections of one fetch write to different blocks but at their edges; std
    /// because it is held for a copy of at most a chunk.
    filling: Mutex<HashMap<u32, Filling>>,
    untold: AtomicU64,
    told_ms: AtomicU64,
}

struct Filling {
    buffer: BlockBuffer,
    filled: usize,
}

impl BlockSink {
    /// Whether no block was left in part.
    fn is_complete(&self) -> bool {
        self.filling.lock().is_ok_and(|filling| filling.is_empty())
    }

    /// Tells what came since it was last told.
    fn tell_rest(&self) {
        let untold = self.untold.swap(0, Ordering::Relaxed);
        if untold > 0 {
            self.shared.received(self.fetch, untold);
        }
    }

    fn block_len(&self, block: u32) -> usize {
        (self.size - u64::from(block) * BLOCK_BYTES).min(BLOCK_BYTES) as usize
    }

    /// Copies content to its place; hands over each block that is whole with it.
    fn take(&self, offset: u64, content: &[u8], hand_over: impl Fn(BlockIx, Block)) {
        let mut offset = offset;
        let mut rest = content;
        while !rest.is_empty() {
            let block = (offset / BLOCK_BYTES) as u32;
            let at = (offset % BLOCK_BYTES) as usize;
            let (part, after) = rest.split_at(rest.len().min(BLOCK_BYTES as usize - at));
            match self.fill(block, at, part) {
                Ok(Some(whole)) => hand_over(BlockIx(block), whole),
                Ok(None) => {}
                // The block stays in part, so the fetch ends as incomplete and is tried again.
                Err(no_memory) => return tracing::error!(error = %no_memory, "no memory for a block"),
            }
            offset += part.len() as u64;
            rest = after;
        }
    }

    /// Copies a part of one block; returns the block once it is whole.
    fn fill(&self, block: u32, at: usize, content: &[u8]) -> std::io::Result<Option<Block>> {
        let len = self.block_len(block);
        let mut filling = self.filling.lock().expect("a panic while copying ends this fetch");
        let entry = match filling.entry(block) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Filling { buffer: self.shared.pool().take()?, filled: 0 })
            }
        };
        entry.buffer.write(at, content);
        entry.filled += content.len();
        debug_assert!(entry.filled <= len, "each byte is written once");
        if entry.filled < len {
            return Ok(None);
        }
        Ok(filling.remove(&block).map(|done| done.buffer.freeze(len)))
    }
}

impl Sink for BlockSink {
    fn sent(&self) {
        self.shared.sent(self.fetch);
    }

    fn received(&self, wire_bytes: usize) {
        let untold = self.untold.fetch_add(wire_bytes as u64, Ordering::Relaxed) + wire_bytes as u64;
        let now_ms = self.shared.now_ms();
        if untold >= TELL_BYTES || now_ms.saturating_sub(self.told_ms.load(Ordering::Relaxed)) >= TELL_MS {
            self.told_ms.store(now_ms, Ordering::Relaxed);
            self.shared.received(self.fetch, self.untold.swap(0, Ordering::Relaxed));
        }
    }

    fn write(&self, offset: u64, content: &[u8]) {
        self.take(offset, content, |block, whole| {
            let content = whole.bytes().clone();
            self.shared.arrived(self.fetch, block, whole);
            self.shared.fetcher().keep(&self.source, block, &content);
        });
    }

    fn write_local(&self, from: Local, offset: u64, content: &[u8]) {
        self.meter.local(from, content.len() as u64);
        self.take(offset, content, |block, whole| self.shared.arrived(self.fetch, block, whole));
    }
}
