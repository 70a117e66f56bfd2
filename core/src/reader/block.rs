//! Block buffers: anonymous mappings, so that a freed block's memory goes back to the operating system at once instead of
//! staying in the allocator. Never grows by itself: the plan's budget decides how many blocks live.

use bytes::Bytes;
use memmap2::MmapMut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use weightless_plan::BLOCK_BYTES;

/// Free buffers kept for the next block: 4 MiB save an unmap, a map and 64 page faults for most blocks of a stream.
const FREE_BUFFERS_MAX: usize = 16;

/// One block of content: whole, immutable, cheap to clone. The last clone to drop gives the buffer back to its pool.
#[derive(Clone, PartialEq, Eq)]
pub struct Block(Bytes);

impl Block {
    /// The block's content.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({} bytes)", self.0.len())
    }
}

/// Where block buffers come from.
#[derive(Debug, Default)]
pub struct BlockPool {
    /// Protects the free list only; std because it is held for a push or a pop.
    free: Mutex<Vec<MmapMut>>,
    live: AtomicUsize,
}

impl BlockPool {
    /// Bytes of address space that live buffers take: to be compared with the plan's charges and with RSS.
    pub fn live_bytes(&self) -> u64 {
        self.live.load(Ordering::Relaxed) as u64 * BLOCK_BYTES
    }

    /// A buffer of a whole block, of unspecified content.
    pub(super) fn take(self: &Arc<Self>) -> std::io::Result<BlockBuffer> {
        let kept = self.free.lock().expect("no code panics under this lock").pop();
        let memory = match kept {
            Some(memory) => memory,
            None => MmapMut::map_anon(BLOCK_BYTES as usize)?,
        };
        self.live.fetch_add(1, Ordering::Relaxed);
        Ok(BlockBuffer { memory: Some(memory), len: 0, pool: self.clone() })
    }
}

/// A block being filled.
#[derive(Debug)]
pub(super) struct BlockBuffer {
    /// `Some` until dropped.
    memory: Option<MmapMut>,
    /// Bytes of content, set when frozen.
    len: usize,
    pool: Arc<BlockPool>,
}

impl BlockBuffer {
    /// Copies `content` to `at`, bytes from the block's start.
    pub(super) fn write(&mut self, at: usize, content: &[u8]) {
        let memory = self.memory.as_mut().expect("present until dropped");
        memory[at..at + content.len()].copy_from_slice(content);
    }

    /// The finished block: its first `len` bytes.
    pub(super) fn freeze(mut self, len: usize) -> Block {
        self.len = len;
        Block(Bytes::from_owner(self))
    }
}

impl AsRef<[u8]> for BlockBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.memory.as_ref().expect("present until dropped")[..self.len]
    }
}

impl Drop for BlockBuffer {
    fn drop(&mut self) {
        self.pool.live.fetch_sub(1, Ordering::Relaxed);
        if let Some(memory) = self.memory.take() {
            let mut free = self.pool.free.lock().expect("no code panics under this lock");
            if free.len() < FREE_BUFFERS_MAX {
                free.push(memory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_what_was_written_and_its_buffer_comes_back() {
        let pool = Arc::new(BlockPool::default());
        let mut buffer = pool.take().expect("memory");
        buffer.write(0, b"hello ");
        buffer.write(6, b"world");
        let block = buffer.freeze(11);
        let copy = block.clone();
        assert_eq!(&block.bytes()[..], b"hello world");
        assert_eq!(pool.live_bytes(), BLOCK_BYTES);
        drop(block);
        assert_eq!(pool.live_bytes(), BLOCK_BYTES, "a clone is alive");
        drop(copy);
        assert_eq!(pool.live_bytes(), 0);
        assert_eq!(pool.free.lock().unwrap().len(), 1);
    }

    #[test]
    fn the_free_list_is_bounded() {
        let pool = Arc::new(BlockPool::default());
        let buffers: Vec<_> = (0..FREE_BUFFERS_MAX + 5).map(|_| pool.take().expect("memory")).collect();
        drop(buffers);
        assert_eq!(pool.free.lock().unwrap().len(), FREE_BUFFERS_MAX);
    }
}
