//! Counts requests and bytes by what they are for. Never resets.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Requests and body bytes of one kind.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    pub(crate) fn request(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    fn read(&self) -> Traffic {
        Traffic { requests: self.requests.load(Relaxed), wire_bytes: self.bytes.load(Relaxed) }
    }
}

/// What a kind of request has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests sent.
    pub requests: u64,
    /// Bytes of their bodies as they came off the network.
    pub wire_bytes: u64,
}

/// What a transport has asked for so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Xet tokens asked of the Hub.
    pub tokens: Traffic,
    /// Data locations of plain files asked of the Hub.
    pub resolves: Traffic,
    /// Reconstructions asked of the Xet service.
    pub reconstructions: Traffic,
    /// Signed ranges of xorbs.
    pub xorbs: Traffic,
    /// Plain ranges of files.
    pub plain: Traffic,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) tokens: Counter,
    pub(crate) resolves: Counter,
    pub(crate) reconstructions: Counter,
    pub(crate) xorbs: Counter,
    pub(crate) plain: Counter,
}

impl Counters {
    pub(crate) fn read(&self) -> Statistics {
        Statistics {
            tokens: self.tokens.read(),
            resolves: self.resolves.read(),
            reconstructions: self.reconstructions.read(),
            xorbs: self.xorbs.read(),
            plain: self.plain.read(),
        }
    }
}
