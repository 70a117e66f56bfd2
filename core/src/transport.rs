//! Streams ranges of a file's bytes from the Hub: Xet terms or plain HTTP ranges. Makes one attempt; retries, sharing and
//! budgets are the plan's.

use crate::{Result, repo::RepoId, tree::FileMeta};
use std::ops::Range;
use std::sync::Arc;

/// Where a file's bytes are to be had.
#[derive(Debug, Clone)]
pub struct Source {
    /// Repo.
    pub repo: RepoId,
    /// Commit sha.
    pub commit: Arc<str>,
    /// The file.
    pub file: Arc<FileMeta>,
}

/// Receives what a fetch brings. Called from runtime threads, in any order of offsets, each byte of the range once.
pub trait Sink: Send + Sync + 'static {
    /// The request that carries content was sent (the stall timer starts here).
    fn sent(&self);
    /// Bytes came off the network, before decoding (resets the stall timer).
    fn received(&self, wire_bytes: usize);
    /// Content at `offset` of the file; the callee copies it.
    fn write(&self, offset: u64, content: &[u8]);
}

/// Placeholder until the transport lands: fetches `range` of `source` into `sink`.
#[derive(Debug)]
pub struct Transport;

impl Transport {
    /// Fetches `range` (bytes of the file, not empty, within its size) once; returns when every byte was written or with
    /// the error that ended it. Dropping the future cancels the fetch at once.
    pub async fn fetch(&self, _source: &Arc<Source>, _range: Range<u64>, _sink: &Arc<dyn Sink>) -> Result<()> {
        Err(crate::Error::new(crate::ErrorKind::Internal, "transport"))
    }
}
