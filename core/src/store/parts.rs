//! Which blocks of a fetch come from this device and which from the network. Pure.

use std::ops::Range;

/// A run of held blocks this short between missing ones is fetched with them: another request costs more than 512 KiB, and a
/// file of which every second block is held must not become a hundred requests.
const BRIDGE_BLOCKS_MAX: u32 = 2;

/// What becomes of the blocks of a fetch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Parts {
    /// Runs to be read here.
    pub(super) held: Vec<Range<u32>>,
    /// Runs to be fetched.
    pub(super) missing: Vec<Range<u32>>,
}

/// Cuts `blocks`, of which `is_held` are here.
pub(super) fn cut(blocks: Range<u32>, is_held: impl Fn(u32) -> bool) -> Parts {
    let mut runs: Vec<(bool, Range<u32>)> = Vec::new();
    for block in blocks.clone() {
        let held = is_held(block);
        match runs.last_mut() {
            Some((of, run)) if *of == held => run.end += 1,
            _ => runs.push((held, block..block + 1)),
        }
    }
    let mut parts = Parts::default();
    let mut missing: Option<Range<u32>> = None;
    for (held, run) in runs {
        let is_bridge = held && missing.is_some() && run.end < blocks.end && run.end - run.start <= BRIDGE_BLOCKS_MAX;
        match (held && !is_bridge, &mut missing) {
            (true, _) => {
                parts.missing.extend(missing.take());
                parts.held.push(run);
            }
            (false, Some(open)) => open.end = run.end,
            (false, None) => missing = Some(run),
        }
    }
    parts.missing.extend(missing);
    parts
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one run of blocks is what is meant")]
mod tests {
    use super::*;

    #[test]
    fn each_block_comes_from_one_place() {
        /// `#` is held.
        #[track_caller]
        fn check(map: &str, held: &[Range<u32>], missing: &[Range<u32>]) {
            let parts = cut(10..10 + map.len() as u32, |block| map.as_bytes()[(block - 10) as usize] == b'#');
            assert_eq!((&parts.held[..], &parts.missing[..]), (held, missing), "{map}");
        }
        check("", &[], &[]);
        check("####", &[10..14], &[]);
        check("....", &[], &[10..14]);
        check("##..", &[10..12], &[12..14]);
        check("..##", &[12..14], &[10..12]);
        check("#.#", &[10..11, 12..13], &[11..12]);
        check(".#.", &[], &[10..13]);
        check(".##.", &[], &[10..14]);
        check(".###.", &[11..14], &[10..11, 14..15]);
        check(".#.#.###..#", &[15..18, 20..21], &[10..15, 18..20]);
    }
}
