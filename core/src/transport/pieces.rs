//! Cuts a range of a file into the pieces that are asked for and carried side by side. Pure; knows no network.
//!
//! A signed URL takes only the range it was signed for, so the piece for which a reconstruction is asked is also the least
//! that a connection carries. Pieces lie on a grid, so that a second pass asks for the same ones; their sizes divide the
//! plan's 32 MiB cells.

use std::ops::Range;

/// The largest piece. A border between pieces costs the chunk that it cuts (about 80 KiB) twice: 1 % here.
pub(crate) const PIECE_BYTES_MAX: u64 = 8 << 20;
/// The smallest piece that a longer range is cut into, where border chunks cost 4 %.
pub(crate) const PIECE_BYTES_MIN: u64 = 2 << 20;
/// A range up to this long is one piece: a 4 MiB read (17 blocks, where it starts inside one) costs one request a xorb.
pub(crate) const UNCUT_BYTES_MAX: u64 = 9 << 19;
/// The grid of a range that is not cut.
const UNCUT: u64 = u64::MAX;
/// Connections that fill a link (300 MB/s over 40 MB/s each, rounded up). With fewer at work, ranges are cut finer.
const LANES: u64 = 8;

/// The grid for a range, when `busy` connections already carry data: as many pieces as lanes are free, within bounds.
pub(crate) fn grid(range: &Range<u64>, busy: usize) -> u64 {
    let len = range.end - range.start;
    if len <= UNCUT_BYTES_MAX {
        return UNCUT;
    }
    let free = LANES.saturating_sub(busy as u64).max(1);
    (len / free).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX).next_power_of_two().min(PIECE_BYTES_MAX)
}

/// `range` cut at multiples of `grid`.
pub(crate) fn cut(range: Range<u64>, grid: u64) -> impl Iterator<Item = Range<u64>> {
    let mut left = range;
    std::iter::from_fn(move || {
        let piece = next(left.clone(), grid);
        left.start = piece.end;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The first piece of `range`.
pub(crate) fn next(range: Range<u64>, grid: u64) -> Range<u64> {
    range.start..range.end.min((range.start / grid + 1) * grid)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, some of which have one")]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_grid_is_as_fine_as_lanes_are_free() {
        let check = |mib: Range<u64>, busy, expected: u64| {
            assert_eq!(grid(&(mib.start * MIB..mib.end * MIB), busy), expected * MIB, "{mib:?} {busy}");
        };
        check(0..32, 0, 4);
        check(0..32, 5, 8);
        check(0..32, 100, 8);
        check(0..9, 0, 2);
        check(3..8, 0, 2);
        for small in [3 * MIB..7 * MIB, 30 * MIB..30 * MIB + UNCUT_BYTES_MAX, 0..1] {
            assert_eq!(cut(small.clone(), grid(&small, 0)).collect::<Vec<_>>(), [small]);
        }
    }

    #[test]
    fn pieces_lie_on_the_grid_and_join_without_a_gap() {
        let check = |range: Range<u64>, grid, expected: &[Range<u64>]| {
            assert_eq!(cut(range, grid).collect::<Vec<_>>(), expected);
        };
        check(0..10, 4, &[0..4, 4..8, 8..10]);
        check(5..8, 4, &[5..8]);
        check(3..9, 4, &[3..4, 4..8, 8..9]);
        check(7..7, 4, &[]);
    }
}
