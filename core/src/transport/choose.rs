//! Learns which way answers small reads sooner: Xet, or plain ranges of the file's data URL. Pure: is told how long reads
//! took, never looks at a clock.
//!
//! A small read by Xet costs a reconstruction and a signed range unless the reconstruction is at hand; a plain one costs a
//! redirect per file and then one request a read. Which is sooner depends on where the two services are.

use std::time::Duration;

/// A new time counts this share in the estimate: a fourth, so that four reads are believed and one outlier is not.
const NEWS_SHARE: u32 = 4;
/// A failed read counts as one that took this long: longer than any that is worth waiting for.
const FAILED: Duration = Duration::from_secs(5);
/// Small reads after which the way not taken is tried again, since networks change.
const RETRY_READS: u32 = 64;
/// Small reads that a file's first one is expected to be followed by, over which the cost of finding its place is spread.
const READS_TO_COME: u32 = 3;

/// A way to a file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Signed ranges of xorbs.
    Xet,
    /// Ranges of the file.
    Plain,
}

/// Whether what must be asked before the bytes is at hand: a reconstruction for Xet, a location for plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Warm,
    Cold,
}

/// What is known of the two ways; one for each repo.
#[derive(Debug, Default, Clone)]
pub(crate) struct Chooser {
    /// By way and start; zero where nothing is known, which makes the unknown worth a try.
    estimates: [[Duration; 2]; 2],
    /// Reads since the way not taken was tried.
    reads: u32,
}

impl Chooser {
    /// The way for the next small read of a file.
    pub(crate) fn choose(&mut self, xet: Start, plain: Start) -> Way {
        let xet_cost = self.estimate(Way::Xet, xet);
        let warm = self.estimate(Way::Plain, Start::Warm);
        let plain_cost = match plain {
            Start::Warm => warm,
            Start::Cold => (self.estimate(Way::Plain, Start::Cold) + warm * READS_TO_COME) / (READS_TO_COME + 1),
        };
        let (better, other) = if xet_cost <= plain_cost { (Way::Xet, Way::Plain) } else { (Way::Plain, Way::Xet) };
        self.reads += 1;
        if self.reads < RETRY_READS {
            return better;
        }
        self.reads = 0;
        other
    }

    /// A small read took `time` from asking to its last byte, or failed.
    pub(crate) fn learn(&mut self, way: Way, start: Start, time: Option<Duration>) {
        let time = time.unwrap_or(FAILED).min(FAILED);
        let estimate = &mut self.estimates[way as usize][start as usize];
        *estimate = if estimate.is_zero() { time } else { (*estimate * (NEWS_SHARE - 1) + time) / NEWS_SHARE };
    }

    fn estimate(&self, way: Way, start: Start) -> Duration {
        self.estimates[way as usize][start as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Start::{Cold, Warm};
    use Way::{Plain, Xet};

    /// Reads one file, of which neither way knows anything at first, by what each way and start takes; a time of 0 fails.
    /// Returns the ways taken. Xet stays cold, as random reads do.
    fn reads(chooser: &mut Chooser, count: usize, xet_ms: u64, plain_ms: [u64; 2]) -> Vec<Way> {
        let mut plain = Cold;
        (0..count)
            .map(|_| {
                let way = chooser.choose(Cold, plain);
                let (start, ms) = match (way, plain) {
                    (Xet, _) => (Cold, xet_ms),
                    (Plain, Warm) => (Warm, plain_ms[0]),
                    (Plain, Cold) => (Cold, plain_ms[1]),
                };
                let time = (ms > 0).then(|| Duration::from_millis(ms));
                chooser.learn(way, start, time);
                if way == Plain && time.is_some() {
                    plain = Warm;
                }
                way
            })
            .collect()
    }

    #[test]
    fn each_way_is_tried_and_the_sooner_one_kept() {
        let check = |name: &str, xet_ms, plain_ms, expected: &[Way], then: Way| {
            let ways = reads(&mut Chooser::default(), 40, xet_ms, plain_ms);
            assert_eq!(&ways[..expected.len()], expected, "{name}");
            assert!(ways[expected.len()..].iter().all(|way| *way == then), "{name}: {ways:?}");
        };
        check("one round trip beats two", 100, [50, 100], &[Xet, Plain, Plain], Plain);
        check("a far plain host is left alone", 100, [200, 400], &[Xet, Plain, Plain], Xet);
        check("a plain host that refuses is left alone", 100, [0, 0], &[Xet, Plain], Xet);
        check("a Xet service that fails is left alone", 0, [50, 100], &[Xet, Plain], Plain);
    }

    #[test]
    fn a_reconstruction_at_hand_is_used() {
        let mut chooser = Chooser::default();
        reads(&mut chooser, 10, 100, [50, 100]);
        for (xet, plain, expected) in [(Warm, Cold, Xet), (Cold, Warm, Plain), (Cold, Cold, Plain)] {
            chooser.learn(Xet, Warm, Some(Duration::from_millis(50)));
            assert_eq!(chooser.choose(xet, plain), expected, "{xet:?} {plain:?}");
        }
    }

    #[test]
    fn the_other_way_is_tried_again_now_and_then_and_taken_when_it_is_better_now() {
        let mut chooser = Chooser::default();
        reads(&mut chooser, 10, 100, [50, 100]);
        let ways = reads(&mut chooser, 2 * RETRY_READS as usize, 100, [50, 100]);
        assert_eq!(ways.iter().filter(|way| **way == Xet).count(), 2);
        let ways = reads(&mut chooser, 8 * RETRY_READS as usize, 20, [50, 100]);
        assert_eq!(ways.last(), Some(&Xet));
    }
}
