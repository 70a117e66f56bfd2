//! What a file holds: literal bytes, a file on disk, or a description that yields any range without building the whole.
//! Never touches the network and never remembers what it produced.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

/// Period of [`Content::repeating`]: no power of two, so that a read at the wrong multiple of 2³² shows.
const REPEATING_PERIOD_BYTES: u64 = (16 << 20) + 4_097;

/// Chunk length of [`Content::scattered`]: the mean chunk of content-defined chunking.
pub(crate) const SCATTERED_CHUNK_BYTES: u64 = 64 << 10;

/// The bytes of a file, cheap to clone and readable at any offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// Literal bytes.
    Bytes(Bytes),
    /// Incompressible bytes that depend on the seed and the offset alone.
    Random {
        /// Equal seeds give equal bytes.
        seed: u64,
        /// Length in bytes.
        len: u64,
    },
    /// A random block repeated: gigabytes that deduplicate to one block.
    Repeating {
        /// Seed of the block.
        seed: u64,
        /// Length of the block in bytes.
        period: u64,
        /// Length of the whole in bytes.
        len: u64,
    },
    /// Zeros.
    Zeros {
        /// Length in bytes.
        len: u64,
    },
    /// Random bytes with few distinct values, which LZ4 roughly halves.
    Compressible {
        /// Equal seeds give equal bytes.
        seed: u64,
        /// Length in bytes.
        len: u64,
    },
    /// The bytes of [`Content::Random`], laid out as 64 KiB terms that alternate between several xorbs.
    Scattered {
        /// Seed of the bytes.
        seed: u64,
        /// Length in bytes.
        len: u64,
        /// Number of xorbs that neighbouring terms alternate between.
        xorbs: u32,
    },
    /// A file of the host, read when asked; it must not change while it is served.
    File {
        /// Where it lies.
        path: Arc<Path>,
        /// Its length in bytes when it was described.
        len: u64,
    },
}

impl Content {
    /// Literal text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Bytes(text.into().into())
    }

    /// Literal bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::Bytes(bytes.into())
    }

    /// `len` incompressible bytes.
    pub fn random(seed: u64, len: u64) -> Self {
        Self::Random { seed, len }
    }

    /// `len` bytes that deduplicate to about 16 MiB, whatever `len` is. Seed 1 with 5 GiB starts at once: the SHA-256
    /// of that one is known, others cost a few seconds.
    pub fn repeating(seed: u64, len: u64) -> Self {
        Self::Repeating { seed, period: REPEATING_PERIOD_BYTES, len }
    }

    /// `len` zeros.
    pub fn zeros(len: u64) -> Self {
        Self::Zeros { len }
    }

    /// `len` bytes that compress to about half.
    pub fn compressible(seed: u64, len: u64) -> Self {
        Self::Compressible { seed, len }
    }

    /// `len` incompressible bytes whose 64 KiB chunks alternate between `xorbs` xorbs.
    pub fn scattered(seed: u64, len: u64, xorbs: u32) -> Self {
        Self::Scattered { seed, len, xorbs: xorbs.max(1) }
    }

    /// The file at `path`, as long as it is now.
    pub fn file(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let len = std::fs::metadata(&path)?.len();
        Ok(Self::File { path: path.into(), len })
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Random { len, .. }
            | Self::Repeating { len, .. }
            | Self::Zeros { len }
            | Self::Compressible { len, .. }
            | Self::Scattered { len, .. }
            | Self::File { len, .. } => *len,
        }
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes from `offset` on, at most `len` of them; fewer only where the content ends.
    pub fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let start = offset.min(self.len());
        let len = (self.len() - start).min(len as u64) as usize;
        match self {
            Self::Bytes(bytes) => Ok(bytes.slice(start as usize..start as usize + len)),
            _ => {
                let mut buffer = vec![0; len];
                self.fill(start, &mut buffer)?;
                Ok(buffer.into())
            }
        }
    }

    /// All bytes, for contents that fit in memory.
    pub fn to_bytes(&self) -> io::Result<Bytes> {
        self.read(0, usize::try_from(self.len()).map_err(io::Error::other)?)
    }

    /// Whether compressing would be wasted work.
    pub(crate) fn is_incompressible(&self) -> bool {
        matches!(self, Self::Random { .. } | Self::Repeating { .. } | Self::Scattered { .. })
    }

    /// Fills the buffer from `offset`; the caller keeps within the length.
    fn fill(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => buffer.copy_from_slice(&bytes[offset as usize..offset as usize + buffer.len()]),
            Self::Random { seed, .. } | Self::Scattered { seed, .. } => fill_random(*seed, offset, buffer, |word| word),
            Self::Compressible { seed, .. } => {
                fill_random(*seed, offset, buffer, |word| word & 0x0303_0303_0303_0303 | 0x6060_6060_6060_6060);
            }
            Self::Zeros { .. } => buffer.fill(0),
            Self::Repeating { seed, period, .. } => {
                let mut done = 0;
                while done < buffer.len() {
                    let within = (offset + done as u64) % period;
                    let run = ((period - within) as usize).min(buffer.len() - done);
                    fill_random(*seed, within, &mut buffer[done..done + run], |word| word);
                    done += run;
                }
            }
            Self::File { path, .. } => File::open(path)?.read_exact_at(buffer, offset)?,
        }
        Ok(())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::bytes(bytes)
    }
}

/// SplitMix64 by position: the word at `index` needs no word before it.
fn word_at(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn fill_random(seed: u64, offset: u64, buffer: &mut [u8], shape: impl Fn(u64) -> u64) {
    let lead = ((8 - offset % 8) % 8).min(buffer.len() as u64) as usize;
    let (head, rest) = buffer.split_at_mut(lead);
    if !head.is_empty() {
        let word = shape(word_at(seed, offset / 8)).to_le_bytes();
        let skip = (offset % 8) as usize;
        head.copy_from_slice(&word[skip..skip + head.len()]);
    }
    let mut index = (offset + lead as u64) / 8;
    let mut words = rest.chunks_exact_mut(8);
    for slot in &mut words {
        slot.copy_from_slice(&shape(word_at(seed, index)).to_le_bytes());
        index += 1;
    }
    let tail = words.into_remainder();
    let word = shape(word_at(seed, index)).to_le_bytes();
    tail.copy_from_slice(&word[..tail.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_equals_the_same_range_of_the_whole() {
        let contents = [
            Content::random(1, 1_000),
            Content::compressible(2, 1_000),
            Content::zeros(1_000),
            Content::scattered(3, 1_000, 2),
            Content::Repeating { seed: 4, period: 77, len: 1_000 },
            Content::text("x".repeat(1_000)),
        ];
        for content in contents {
            let whole = content.to_bytes().unwrap();
            assert_eq!(whole.len(), 1_000);
            for offset in [0, 1, 7, 8, 9, 500, 993, 999, 1_000, 2_000] {
                for len in [0, 1, 7, 8, 9, 300, 2_000] {
                    let start = offset.min(1_000);
                    let end = (start + len).min(1_000);
                    assert_eq!(
                        content.read(offset as u64, len).unwrap(),
                        whole.slice(start..end),
                        "{content:?} from {offset}, {len} bytes"
                    );
                }
            }
        }
    }

    #[test]
    fn repeating_content_differs_at_multiples_of_4_gib() {
        let content = Content::repeating(1, 5 << 30);
        assert_ne!(content.read(0, 64).unwrap(), content.read(1 << 32, 64).unwrap());
        assert_ne!(content.read(0, 64).unwrap(), content.read(1 << 31, 64).unwrap());
    }
}
