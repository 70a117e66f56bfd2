//! Counts bytes by class. Never evicts and never decides.

/// What a byte is charged as; each byte is in exactly one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// In flight, a read waits.
    AwaitedFlying,
    /// Held for a read that waits for other blocks.
    AwaitedHeld,
    /// Read-ahead in flight.
    AheadFlying,
    /// Read-ahead that arrived.
    AheadHeld,
    /// Already read.
    Behind,
    /// Cancelled but not settled, or the second attempt of a fetch.
    Extra,
    /// Reserved by the driver: pins, transport buffers.
    Outside,
}

const CLASSES: usize = 7;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Charges {
    bytes: [u64; CLASSES],
}

impl Charges {
    pub(crate) fn add(&mut self, class: Class, bytes: u64) {
        self.bytes[class as usize] += bytes;
    }

    pub(crate) fn sub(&mut self, class: Class, bytes: u64) {
        debug_assert!(self.bytes[class as usize] >= bytes, "{class:?} below zero");
        self.bytes[class as usize] -= bytes;
    }

    pub(crate) fn of(&self, class: Class) -> u64 {
        self.bytes[class as usize]
    }

    pub(crate) fn total(&self) -> u64 {
        self.bytes.iter().sum()
    }
}
