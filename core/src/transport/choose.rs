//! Chooses the way to a file's bytes: Xet, or plain ranges of the file's data URL. Pure: is told the time and what came of
//! earlier choices; asks nobody.
//!
//! A read by Xet costs a reconstruction and a signed range unless the reconstruction is at hand; a plain one costs a redirect
//! per file and then one request a read. Which answers sooner depends on where the two services are, so it is learned where the
//! first byte matters; what is read ahead goes by Xet, whose ranges come side by side from a data host near by. A repo's first
//! bytes come the plain way, three round trips from nothing, while Xet (five) is asked for its token and greeted beside.

use std::time::Duration;
use tokio::time::Instant;

/// A new time counts this share in the estimate: a fourth, so that four reads are believed and one outlier is not.
const NEWS_SHARE: u32 = 4;
/// A failed read counts as one that took this long: longer than any that is worth waiting for.
const FAILED: Duration = Duration::from_secs(5);
/// Small reads after which the way not taken is tried again, since networks change.
const RETRY_READS: u32 = 64;
/// Small reads that a file's first one is expected to be followed by, over which the cost of finding its place is spread.
const READS_TO_COME: u32 = 3;
/// Xet that was silent for longer counts as cold: its connections may be closed by then (reqwest keeps idle ones for 90 s).
const WARM_MS: u64 = 60_000;

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

/// What is to be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// Its first byte matters; what either way knows already.
    FirstByte { xet: Start, plain: Start },
    /// Its bytes a second matter.
    Bulk,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Take(Way),
    /// Take the plain way and greet Xet beside, for what follows.
    PlainAndGreet,
}

/// What is known of the two ways; one for each repo.
#[derive(Debug, Default, Clone)]
pub(crate) struct Chooser {
    /// By way and start, to the first byte; zero where nothing is known, which makes the unknown worth a try.
    estimates: [[Duration; 2]; 2],
    /// Reads since the way not taken was tried.
    reads: u32,
    xet_answered: Option<Instant>,
    /// Xet is being greeted.
    greeting: bool,
    /// Fetches while Xet was cold.
    cold_fetches: u32,
    /// The plain way failed when it was last taken.
    plain_failed: bool,
}

impl Chooser {
    /// The way for the next fetch.
    pub(crate) fn choose(&mut self, want: Want, now: Instant) -> Choice {
        let warm = self.xet_answered.is_some_and(|at| now.duration_since(at) < Duration::from_millis(WARM_MS));
        if !warm && !self.plain_failed {
            self.cold_fetches += 1;
            // One small read may be all that is ever wanted of a repo.
            let more_to_come = want == Want::Bulk || self.cold_fetches > 1;
            return if more_to_come && !std::mem::replace(&mut self.greeting, true) {
                Choice::PlainAndGreet
            } else {
                Choice::Take(Way::Plain)
            };
        }
        Choice::Take(match want {
            Want::FirstByte { xet, plain } => self.sooner(xet, plain),
            Want::Bulk => Way::Xet,
        })
    }

    fn sooner(&mut self, xet: Start, plain: Start) -> Way {
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

    /// A read whose first byte mattered waited `time` for it, or failed.
    pub(crate) fn learn(&mut self, way: Way, start: Start, time: Option<Duration>) {
        let time = time.unwrap_or(FAILED).min(FAILED);
        let estimate = &mut self.estimates[way as usize][start as usize];
        *estimate = if estimate.is_zero() { time } else { (*estimate * (NEWS_SHARE - 1) + time) / NEWS_SHARE };
    }

    /// A fetch ended.
    pub(crate) fn ended(&mut self, way: Way, worked: bool, now: Instant) {
        match way {
            Way::Xet if worked => self.xet_answered = Some(now),
            Way::Xet => {}
            Way::Plain => self.plain_failed = !worked,
        }
    }

    /// Xet answered the greeting, or did not.
    pub(crate) fn greeted(&mut self, answered: bool, now: Instant) {
        self.greeting = false;
        self.ended(Way::Xet, answered, now);
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

    /// One for which Xet is warm.
    fn warm() -> Chooser {
        let mut chooser = Chooser::default();
        chooser.ended(Xet, true, Instant::now());
        chooser
    }

    fn way(chooser: &mut Chooser, xet: Start, plain: Start) -> Way {
        match chooser.choose(Want::FirstByte { xet, plain }, Instant::now()) {
            Choice::Take(way) => way,
            Choice::PlainAndGreet => Plain,
        }
    }

    /// Reads one file, of which neither way knows anything at first, by what each way and start takes; a time of 0 fails.
    /// Returns the ways taken. Xet stays cold, as random reads do.
    fn reads(chooser: &mut Chooser, count: usize, xet_ms: u64, plain_ms: [u64; 2]) -> Vec<Way> {
        let mut plain = Cold;
        (0..count)
            .map(|_| {
                let way = way(chooser, Cold, plain);
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
            let ways = reads(&mut warm(), 40, xet_ms, plain_ms);
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
        let mut chooser = warm();
        reads(&mut chooser, 10, 100, [50, 100]);
        for (xet, plain, expected) in [(Warm, Cold, Xet), (Cold, Warm, Plain), (Cold, Cold, Plain)] {
            chooser.learn(Xet, Warm, Some(Duration::from_millis(50)));
            assert_eq!(way(&mut chooser, xet, plain), expected, "{xet:?} {plain:?}");
        }
    }

    #[test]
    fn the_other_way_is_tried_again_now_and_then_and_taken_when_it_is_better_now() {
        let mut chooser = warm();
        reads(&mut chooser, 10, 100, [50, 100]);
        let ways = reads(&mut chooser, 2 * RETRY_READS as usize, 100, [50, 100]);
        assert_eq!(ways.iter().filter(|way| **way == Xet).count(), 2);
        let ways = reads(&mut chooser, 8 * RETRY_READS as usize, 20, [50, 100]);
        assert_eq!(ways.last(), Some(&Xet));
    }

    #[test]
    fn a_repo_begins_the_plain_way_and_greets_xet_beside() {
        use Choice::{PlainAndGreet, Take};
        let small = Want::FirstByte { xet: Cold, plain: Cold };
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut chooser = Chooser::default();
        // One small read asks nothing more; a second, or a large one, is a beginning.
        assert_eq!(chooser.clone().choose(Want::Bulk, start), PlainAndGreet);
        assert_eq!(chooser.choose(small, start), Take(Plain));
        assert_eq!(chooser.choose(small, start), PlainAndGreet);
        for want in [small, Want::Bulk] {
            assert_eq!(chooser.choose(want, start), Take(Plain), "greeted once");
        }
        // No answer: greeted again by the next.
        chooser.greeted(false, start);
        assert_eq!(chooser.choose(Want::Bulk, start), PlainAndGreet);
        chooser.greeted(true, start);
        assert_eq!(chooser.choose(Want::Bulk, at(WARM_MS - 1)), Take(Xet));
        // After a silence it is cold again, unless it was used meanwhile.
        assert_eq!(chooser.clone().choose(Want::Bulk, at(WARM_MS)), PlainAndGreet);
        chooser.ended(Xet, true, at(1));
        assert_eq!(chooser.choose(Want::Bulk, at(WARM_MS)), Take(Xet));
        // Where the plain way fails, Xet is not waited for.
        let mut chooser = Chooser::default();
        chooser.ended(Plain, false, start);
        assert_eq!(chooser.choose(Want::Bulk, start), Take(Xet));
    }
}
