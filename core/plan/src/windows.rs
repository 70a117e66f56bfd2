//! How far a stream reads ahead and how long its fetches are: pure functions of numbers. Never looks at state.

use crate::limits::Limits;
use std::ops::Range;

/// The next window: fourfold while small, then twofold.
pub(crate) fn grow(window: u64, limits: &Limits) -> u64 {
    if window < limits.fast_window_bytes {
        (window * 4).min(limits.fast_window_bytes)
    } else {
        (window * 2).min(limits.window_bytes_max)
    }
    .min(limits.window_bytes_max)
}

/// Fetches that what may be in flight is spread over: one connection carries a fraction of most links.
const PARALLEL: u64 = 16;

/// Length of a fetch that starts `distance` bytes ahead of its reader: short near it, long far away, and no more than this
/// reader's part of `in_flight` when so many `readers`, or streams of one, share the link.
pub(crate) fn fetch_bytes(distance: u64, in_flight: u64, readers: u64, limits: &Limits) -> u64 {
    let spread = (PARALLEL / readers.max(1)).max(1);
    distance.min(in_flight / spread).max(limits.near_bytes).next_multiple_of(limits.block_bytes).min(limits.cell_bytes)
}

/// Blocks from `from` up to `to`, at most to the edge of the cell that `from` is in.
pub(crate) fn within_cell(blocks: Range<u32>, limits: &Limits) -> Range<u32> {
    let cell = (limits.cell_bytes / limits.block_bytes) as u32;
    let edge = (blocks.start / cell + 1).saturating_mul(cell);
    blocks.start..blocks.end.min(edge)
}

/// The least that a fetch is begun for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Least {
    /// All that it was to be.
    Whole,
    /// A run that is still useful.
    Useful,
}

/// What a fetch of `wanted` bytes becomes when only `allowed` fit: all of it, a run that is still `useful` where that will do,
/// or nothing.
pub(crate) fn cut(wanted: u64, allowed: u64, useful: u64, least: Least, limits: &Limits) -> Option<u64> {
    if wanted <= allowed {
        return Some(wanted);
    }
    let rest = allowed - allowed % limits.block_bytes;
    (least == Least::Useful && rest > 0 && rest >= useful).then_some(rest)
}
