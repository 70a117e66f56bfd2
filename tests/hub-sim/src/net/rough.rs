//! Faults that happen on their own, by a seed. Never two in a row for the same bytes: whoever asks again for what a
//! fault took gets it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::route::{Route, Site};
use super::script::{Step, expired, latency_ms, rate_limited, reset, serve, stall, status, truncate};

/// How often which fault happens, in thousandths of the requests that may fail (uploads and commits may not).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rough {
    /// The same seed and the same order of requests give the same faults.
    pub seed: u64,
    /// Answered with a 5xx, a 429, an expired URL, a reset or a close before the head.
    pub failures_per_mille: u64,
    /// Reset or closed within the body.
    pub resets_per_mille: u64,
    /// Silent within the body until the client gives up.
    pub stalls_per_mille: u64,
    /// Half a second late.
    pub delays_per_mille: u64,
}

impl Default for Rough {
    fn default() -> Self {
        Self { seed: 1, failures_per_mille: 10, resets_per_mille: 10, stalls_per_mille: 4, delays_per_mille: 20 }
    }
}

/// A fault comes within so many bytes of a body.
const FAULT_WITHIN_BYTES: u64 = 4 << 20;
const DELAY_MS: u64 = 500;
/// How many faults wait for their retry; beyond that the oldest is forgotten and its retry may fail again.
const OWED_MAX: usize = 4096;

/// Draws the faults of a rough link.
#[derive(Default)]
pub(super) struct Dice {
    state: Mutex<Drawn>,
}

#[derive(Default)]
struct Drawn {
    draws: u64,
    /// Paths whose next request from within the range must be served.
    owed: VecDeque<Owed>,
}

struct Owed {
    path: String,
    from: u64,
    to: u64,
}

impl Dice {
    pub(super) fn steps(
        &self,
        rough: &Rough,
        (site, route): (Site, Route),
        path: &str,
        range: Option<&str>,
    ) -> Option<Vec<Step>> {
        if matches!(route, Route::Upload | Route::Commit | Route::Preupload | Route::Lfs) {
            return None;
        }
        let (from, to) = bounds(range);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) =
            state.owed.iter().position(|owed| owed.path == path && owed.from <= from && from <= owed.to)
        {
            state.owed.remove(index);
            return None;
        }
        state.draws += 1;
        let draw = mix(rough.seed ^ state.draws.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let steps = fault(rough, site, draw)?;
        if state.owed.len() == OWED_MAX {
            state.owed.pop_front();
        }
        state.owed.push_back(Owed { path: path.to_owned(), from, to });
        Some(steps)
    }
}

fn fault(rough: &Rough, site: Site, draw: u64) -> Option<Vec<Step>> {
    let kind = mix(draw);
    let at = mix(kind) % FAULT_WITHIN_BYTES;
    let mut roll = draw % 1000;
    let mut falls = |per_mille: u64| {
        let hit = roll < per_mille;
        roll = roll.wrapping_sub(per_mille);
        hit
    };
    if falls(rough.failures_per_mille) {
        return Some(vec![match kind % 6 {
            0 => status(500),
            1 => status(502),
            2 => rate_limited(1),
            3 => reset(),
            4 if site == Site::Data => expired(),
            _ => status(503),
        }]);
    }
    if falls(rough.resets_per_mille) {
        return Some(vec![serve(at), if kind.is_multiple_of(2) { reset() } else { truncate() }]);
    }
    if falls(rough.stalls_per_mille) {
        return Some(vec![serve(at), stall()]);
    }
    falls(rough.delays_per_mille).then(|| vec![latency_ms(DELAY_MS)])
}

/// The first and last byte of a single range; everything where there is none.
fn bounds(range: Option<&str>) -> (u64, u64) {
    let parse = || {
        let (from, to) = range?.strip_prefix("bytes=")?.split_once('-')?;
        Some((from.parse().ok()?, to.parse().unwrap_or(u64::MAX)))
    };
    parse().unwrap_or((0, u64::MAX))
}

/// SplitMix64's output function.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const XORB: (Site, Route) = (Site::Data, Route::XorbData);

    #[test]
    fn faults_come_as_often_as_told_and_repeat_by_seed() {
        let draw = |seed| {
            let (dice, rough) = (Dice::default(), Rough { seed, ..Rough::default() });
            (0..10_000).map(|n| dice.steps(&rough, XORB, &format!("/{n}"), None)).collect::<Vec<_>>()
        };
        let faults = draw(7);
        let count = faults.iter().flatten().count();
        assert!((300..600).contains(&count), "{count} of 10,000 at 44 per mille");
        assert_eq!(faults, draw(7));
        assert_ne!(faults, draw(8));
    }

    #[test]
    fn what_a_fault_took_is_served_when_asked_again() {
        let (dice, rough) = (Dice::default(), Rough { failures_per_mille: 1000, ..Rough::default() });
        let cases = [
            (Some("bytes=0-99"), Some("bytes=50-99")),
            (None, Some("bytes=7-")),
            (Some("bytes=9-9"), Some("bytes=9-9")),
        ];
        for (first, again) in cases {
            assert!(dice.steps(&rough, XORB, "/a", first).is_some(), "{first:?}");
            assert_eq!(dice.steps(&rough, XORB, "/a", again), None, "{again:?}");
        }
    }

    #[test]
    fn uploads_never_fail() {
        let (dice, rough) = (Dice::default(), Rough { failures_per_mille: 1000, ..Rough::default() });
        for route in [Route::Upload, Route::Commit, Route::Preupload, Route::Lfs] {
            assert_eq!(dice.steps(&rough, (Site::Hub, route), "/a", None), None);
        }
    }
}
