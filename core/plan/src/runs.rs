//! How long a reader's runs are: what it reads from somewhere in the middle before it goes elsewhere. Says how far to read
//! ahead of a short one; never looks at a stream.

use crate::limits::Limits;
use crate::planted::{Bug, planted};

/// Lengths of the runs that ended last, in bytes, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Runs {
    last: [Option<u64>; 3],
    /// Of the last eight runs, the newest in the lowest bit: whether it was beside what others read.
    beside: u8,
}

/// What to expect of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing ended yet.
    Unknown,
    /// Those before were at least so long.
    AtLeast(u64),
    /// Three in a row were so long, give or take a block.
    Alike(u64),
}

impl Runs {
    /// A run ended.
    pub(crate) fn learn(&mut self, bytes: u64) {
        if planted(Bug::RunsForgotten) {
            return;
        }
        self.last.rotate_right(1);
        self.last[0] = Some(bytes);
    }

    /// A run ended, beside what others read or on its own.
    pub(crate) fn learn_place(&mut self, beside_others: bool) {
        self.beside = self.beside << 1 | u8::from(beside_others);
    }

    /// Whether most runs are parts of longer ones that threads take by turns, so that what lies beyond one is read by another.
    pub(crate) fn are_parts(&self) -> bool {
        self.beside.count_ones() > u8::BITS / 2
    }

    /// A run that seemed to have ended after so many bytes went on.
    pub(crate) fn correct(&mut self, bytes: u64, now: u64) {
        if let Some(run) = self.last.iter_mut().find(|run| **run == Some(bytes)) {
            *run = Some(now);
        }
    }

    /// The shortest of the last ones, since what is fetched beyond a run is wasted; of those alike the longest, since a read
    /// starts anywhere in a block and the kernel asks for up to 128 KiB more than it needs. One or two examples may have been
    /// exceptions, so little is risked on them.
    pub(crate) fn expected(&self, limits: &Limits) -> Expected {
        let known = || self.last.iter().flatten().copied();
        let (Some(least), Some(most)) = (known().min(), known().max()) else { return Expected::Unknown };
        let alike = most - least <= limits.block_bytes;
        if known().count() < self.last.len() {
            Expected::AtLeast(if alike { most } else { least }.min(limits.start_window_bytes))
        } else if alike {
            Expected::Alike(most)
        } else {
            Expected::AtLeast(least)
        }
    }
}

/// A run under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// The block it began in, or in which it outlived what was expected.
    from: u64,
    /// Where it ends if it is like those before.
    expected_end: Option<u64>,
    /// What it gets beyond that.
    window: u64,
}

/// How far to read ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aim {
    pub(crate) target: u64,
    /// Length of the fetches; none if their distance to the reader is to say it.
    pub(crate) piece: Option<u64>,
}

impl Run {
    /// A run of which nothing is expected.
    pub(crate) fn unknown(offset: u64, limits: &Limits) -> Run {
        Run { from: offset - offset % limits.block_bytes, expected_end: None, window: limits.first_window_bytes }
    }

    /// A run begins with a read; if those before were alike, all of it is asked for at once.
    pub(crate) fn begin(offset: u64, end: u64, runs: &Runs, limits: &Limits) -> (Run, Option<Aim>) {
        let run = Run::unknown(offset, limits);
        let (bytes, requests) = match runs.expected(limits) {
            Expected::Unknown => return (run, None),
            Expected::AtLeast(bytes) => (bytes, 0),
            Expected::Alike(bytes) => (bytes, 2),
        };
        // A single small read tells nothing of how far one that goes on will go.
        let window = if bytes < limits.near_bytes { run.window } else { bytes.min(run.window) };
        let target = offset + bytes;
        let run = Run { expected_end: Some(target), window, ..run };
        (run, (requests > 0 && target > end).then(|| aim(run.from, target, requests, limits)))
    }

    /// Whether a reader at `pos` is where others still read on.
    pub(crate) fn is_expected_beyond(&self, pos: u64) -> bool {
        self.expected_end.is_some_and(|end| pos <= end)
    }

    /// The reader stepped on from `before` to `pos`, and `target` is what was asked for: perhaps it is time for more. A run gets
    /// what is expected of it; one that outlives that is new. A new one gets a small window, and then, each time it has gone
    /// beyond what was asked for, as much again: it may end anywhere. The first read beyond is not enough, since the kernel reads
    /// more than it needs.
    pub(crate) fn step(&mut self, before: u64, pos: u64, target: u64, limits: &Limits) -> Option<Aim> {
        if let Some(end) = self.expected_end {
            if pos <= end {
                return (target < end).then(|| aim(pos, end, 1, limits));
            }
            if before <= end && !planted(Bug::FirstBeyondCounts) {
                return None;
            }
            *self = Run { window: self.window, ..Run::unknown(end, limits) };
        } else if before <= target && (pos <= target || !planted(Bug::FirstBeyondCounts)) {
            return None;
        }
        let more = (pos - self.from).max(self.window);
        let end = self.from + (pos - self.from).next_multiple_of(limits.block_bytes) + more;
        Some(aim(pos, end - end % limits.block_bytes, 1, limits))
    }
}

/// What lies between, in so many requests unless it is long.
fn aim(from: u64, target: u64, requests: u64, limits: &Limits) -> Aim {
    let blocks = target.div_ceil(limits.block_bytes) - from / limits.block_bytes;
    let short = blocks * limits.block_bytes <= limits.short_run_bytes;
    Aim { target, piece: short.then(|| blocks.div_ceil(requests) * limits.block_bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_run_is_expected_to_be_like_the_last_three() {
        use Expected::{Alike, AtLeast, Unknown};
        let limits = Limits { block_bytes: 4, start_window_bytes: 150, ..Limits::default() };
        let rows: [(&[u64], Expected); 11] = [
            (&[], Unknown),
            (&[100], AtLeast(100)),
            (&[900], AtLeast(150)),
            (&[900, 900], AtLeast(150)),
            (&[900, 900, 900], Alike(900)),
            (&[100, 101], AtLeast(101)),
            (&[100, 104, 101], Alike(104)),
            (&[100, 105, 101], AtLeast(100)),
            (&[7, 100, 100, 100], Alike(100)),
            (&[100, 100, 100, 7], AtLeast(7)),
            (&[100, 100, 100, 900], AtLeast(100)),
        ];
        for (ended, expected) in rows {
            let mut runs = Runs::default();
            for bytes in ended {
                runs.learn(*bytes);
            }
            assert_eq!(runs.expected(&limits), expected, "{ended:?}");
        }
    }

    #[test]
    fn a_run_that_went_on_is_an_example_of_its_whole_length() {
        let mut runs = Runs::default();
        for bytes in [9, 100, 7] {
            runs.learn(bytes);
        }
        runs.correct(100, 120);
        runs.correct(55, 60);
        assert_eq!(runs.last, [Some(7), Some(120), Some(9)]);
    }

    /// Blocks of 4 and a first window of 16 bytes; a run is read 2 bytes at a time from `offset` on.
    #[test]
    fn a_run_is_asked_for_as_far_as_it_is_expected() {
        type Row = (&'static str, &'static [u64], u64, u64, &'static [(u64, u64, Option<u64>)]);
        // What came before, where it begins and its length; at which position it aims where, in fetches of which length.
        let rows: [Row; 7] = [
            ("one read", &[], 100, 2, &[]),
            ("nothing known", &[], 100, 20, &[(104, 120, Some(16))]),
            ("nothing known, long", &[], 100, 26, &[(104, 120, Some(16)), (124, 148, None)]),
            ("one alike", &[12], 102, 12, &[(106, 114, Some(12))]),
            ("three alike", &[12, 12, 12], 102, 12, &[(104, 114, Some(8))]),
            ("the first read beyond", &[12, 12, 12], 102, 14, &[(104, 114, Some(8))]),
            ("longer than expected", &[12, 12, 12], 102, 16, &[(104, 114, Some(8)), (118, 132, Some(16))]),
        ];
        let limits =
            Limits { block_bytes: 4, near_bytes: 4, first_window_bytes: 16, short_run_bytes: 20, ..Limits::default() };
        for (name, before, offset, len, aims) in rows {
            let mut runs = Runs::default();
            before.iter().for_each(|bytes| runs.learn(*bytes));
            let (mut run, first) = Run::begin(offset, offset + 2, &runs, &limits);
            let mut target = first.map_or(0, |aim| aim.target);
            let mut seen: Vec<_> = first.map(|aim| (offset + 2, aim.target, aim.piece)).into_iter().collect();
            for pos in (offset + 4..=offset + len).step_by(2) {
                if let Some(aim) = run.step(pos - 2, pos, target, &limits) {
                    seen.push((pos, aim.target, aim.piece));
                    target = aim.target;
                }
            }
            assert_eq!(seen, aims, "{name}");
        }
    }
}
