//! Which parts of a block were read, a 64th each: 4 KiB of 256, the kernel's page. Never says what to do about it.

use std::ops::Range;

/// Parts of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Parts(u64);

impl Parts {
    /// The parts that these bytes of a block touch; at least one byte.
    pub(crate) fn of(bytes: Range<u64>, block_bytes: u64) -> Parts {
        debug_assert!(bytes.start < bytes.end && bytes.end <= block_bytes);
        let part = (block_bytes / 64).max(1);
        let (first, last) = (bytes.start / part, (bytes.end - 1) / part);
        Parts((u64::MAX >> (63 - (last - first))) << first)
    }

    pub(crate) fn contains(self, other: Parts) -> bool {
        other.0 & !self.0 == 0
    }

    pub(crate) fn add(&mut self, other: Parts) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_whole_once_each_part_was_touched() {
        const BLOCK: u64 = 256 * 1024;
        type Row = (u64, u64, &'static [(u64, u64)], bool);
        let rows: [Row; 11] = [
            (BLOCK, BLOCK, &[(0, BLOCK)], true),
            (BLOCK, BLOCK, &[(0, BLOCK / 2), (BLOCK / 2, BLOCK)], true),
            (BLOCK, BLOCK, &[(BLOCK / 2, BLOCK), (0, BLOCK / 2)], true),
            (BLOCK, BLOCK, &[(0, BLOCK / 2)], false),
            (BLOCK, BLOCK, &[(0, 1)], false),
            (BLOCK, BLOCK, &[(0, 4096), (8192, BLOCK)], false),
            (BLOCK, 4097, &[(0, 4096)], false),
            (BLOCK, 4097, &[(0, 4097)], true),
            (4, 4, &[(0, 3), (3, 4)], true),
            (4, 4, &[(1, 4)], false),
            (4, 1, &[(0, 1)], true),
        ];
        for (block, len, reads, whole) in rows {
            let mut parts = Parts::default();
            for (from, to) in reads {
                parts.add(Parts::of(*from..*to, block));
            }
            assert_eq!(parts.contains(Parts::of(0..len, block)), whole, "{reads:?} of {len}");
        }
    }
}
