//! Where the serialised bytes of a xorb lie: in memory, or in a file that the page cache holds. Never parses them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

/// Immutable bytes, readable by range.
#[derive(Debug, Clone)]
pub(crate) enum Blob {
    Memory(Bytes),
    File { file: Arc<File>, len: u64 },
}

impl Blob {
    /// Writes the bytes to a new file at `path` and keeps it open.
    pub(crate) fn spill(bytes: &[u8], path: &Path) -> io::Result<Self> {
        std::fs::write(path, bytes)?;
        Ok(Self::File { file: Arc::new(File::open(path)?), len: bytes.len() as u64 })
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { len, .. } => *len,
        }
    }

    /// The bytes `offset..offset + len`; the caller keeps within the length.
    pub(crate) fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.slice(offset as usize..offset as usize + len)),
            Self::File { file, .. } => {
                let mut buffer = vec![0; len];
                file.read_exact_at(&mut buffer, offset)?;
                Ok(buffer.into())
            }
        }
    }
}
