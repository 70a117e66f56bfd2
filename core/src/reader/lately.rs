//! Reads that failed after a long wait, remembered for a moment. The kernel answers a failed READ by asking again at once, page
//! by page, and a mapped fault asks a third time: without this, a program that meets a silent network waits for two or
//! three deadlines instead of one. Never fails a read that memory can answer.

use crate::Error;
use std::collections::VecDeque;
use std::ops::Range;
use weightless_plan::{BlockIx, ContentKey, Time};

/// A read that failed sooner than this is not remembered: asking again costs little, and may help.
const LONG_WAIT_MS: u64 = 5_000;
/// How long a failure is remembered. The kernel's own retries follow within milliseconds; a person's take longer.
const REMEMBERED_MS: u64 = 5_000;
/// Failures remembered: the reads of a mount that wait at once are 256 at most.
const FAILURES_MAX: usize = 256;

/// The failures of the last seconds, oldest first.
#[derive(Debug, Default)]
pub(super) struct Lately {
    failures: VecDeque<Failed>,
}

#[derive(Debug)]
struct Failed {
    content: ContentKey,
    blocks: Range<u32>,
    until: Time,
    error: Error,
}

impl Lately {
    /// A read of `blocks` that began to wait at `since` failed.
    pub(super) fn failed(&mut self, now: Time, since: Time, content: ContentKey, blocks: Range<u32>, error: &Error) {
        if now < since.after(LONG_WAIT_MS) {
            return;
        }
        while self.failures.len() >= FAILURES_MAX || self.failures.front().is_some_and(|oldest| oldest.until <= now) {
            self.failures.pop_front();
        }
        self.failures.push_back(Failed { content, blocks, until: now.after(REMEMBERED_MS), error: error.clone() });
    }

    /// Why a read of any of `blocks` failed just now.
    pub(super) fn error(&self, now: Time, content: ContentKey, blocks: &Range<u32>) -> Option<&Error> {
        self.failures
            .iter()
            .rev()
            .take_while(|failed| now < failed.until)
            .find(|failed| {
                failed.content == content && failed.blocks.start < blocks.end && blocks.start < failed.blocks.end
            })
            .map(|failed| &failed.error)
    }

    /// A block came after all.
    pub(super) fn arrived(&mut self, content: ContentKey, block: BlockIx) {
        self.failures.retain(|failed| failed.content != content || !failed.blocks.contains(&block.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind::{Deadline, Stalled};

    #[test]
    fn a_failure_is_told_again_for_its_blocks_and_its_moment() {
        let mut lately = Lately::default();
        let (one, two) = (ContentKey([1; 32]), ContentKey([2; 32]));
        let at = Time;
        lately.failed(at(45_000), at(0), one, 4..6, &Error::new(Deadline, ""));
        lately.failed(at(46_000), at(1_000), one, 8..9, &Error::new(Stalled, ""));
        lately.failed(at(46_000), at(46_000 - LONG_WAIT_MS + 1), two, 0..9, &Error::new(Stalled, ""));
        let told = |lately: &Lately, now, content, blocks: Range<u32>| {
            lately.error(at(now), content, &blocks).map(Error::kind)
        };
        for (now, content, blocks, expected) in [
            (46_000, one, 5..6, Some(Deadline)),
            (46_000, one, 3..5, Some(Deadline)),
            (46_000, one, 0..20, Some(Stalled)),
            (46_000, one, 3..4, None),
            (46_000, one, 6..8, None),
            (46_000, two, 0..9, None),
            (45_000 + REMEMBERED_MS, one, 4..5, None),
            (45_000 + REMEMBERED_MS, one, 8..9, Some(Stalled)),
            (46_000 + REMEMBERED_MS, one, 8..9, None),
        ] {
            assert_eq!(told(&lately, now, content, blocks.clone()), expected, "{now} {blocks:?}");
        }
        lately.arrived(one, BlockIx(5));
        assert_eq!(told(&lately, 46_000, one, 4..5), None, "the network is back");
        for n in 0..2 * FAILURES_MAX as u32 {
            lately.failed(at(46_000), at(0), one, n..n + 1, &Error::new(Deadline, ""));
        }
        assert_eq!(lately.failures.len(), FAILURES_MAX);
    }
}
