//! Seeded random walks against the byte oracle. `SEED=n cargo test -p weightless-plan walks` replays one.

use super::world::World;
use crate::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Blocks of 4 bytes, cells of 4 blocks, windows to match.
pub(crate) fn tiny(budget_bytes: u64) -> Limits {
    Limits {
        block_bytes: 4,
        cell_bytes: 16,
        budget_bytes,
        read_bytes_max: 12,
        behind_file_bytes: 16,
        behind_bytes: 64,
        streams_max: 3,
        sweep_reads: 16,
        sweep_ms: 100,
        near_bytes: 8,
        start_window_bytes: 32,
        step_window_bytes: 8,
        first_window_bytes: 16,
        short_run_bytes: 20,
        fast_window_bytes: 32,
        window_bytes_max: 64,
        jump_bytes: 16,
        disorder_bytes: 8,
        eager_read_bytes: 6,
        in_flight_start_bytes: 64,
        in_flight_bytes_min: 8,
        in_flight_bytes_max: 64,
        ..Limits::default()
    }
}

pub(crate) fn walk(seed: u64, steps: u32) {
    let rng = &mut StdRng::seed_from_u64(seed);
    let budget = rng.random_range(4..40) * 4;
    let mut limits = tiny(budget.max(tiny(64).budget_bytes_min()));
    if rng.random_bool(0.3) {
        limits.deadline_ms = 15_000;
    }
    let mut w = World::new(limits);
    let sizes: Vec<u64> = (0..3).map(|_| rng.random_range(1..200)).collect();
    let mut heads: Vec<(HandleId, u64)> = Vec::new();
    for _ in 0..steps {
        match rng.random_range(0..100) {
            0..6 if heads.len() < 5 => {
                let content = rng.random_range(0..3u8);
                let mode = if rng.random_bool(0.15) { Mode::Direct } else { Mode::Cached };
                let mount = MountId(rng.random_range(0..2));
                let handle = w.open_as(content, sizes[usize::from(content)], mount, mode);
                heads.push((handle, 0));
            }
            6..9 if !heads.is_empty() => {
                let (handle, _) = heads.swap_remove(rng.random_range(0..heads.len()));
                w.close(handle);
            }
            9..50 if !heads.is_empty() => {
                let at = rng.random_range(0..heads.len());
                let (handle, head) = heads[at];
                let size = w.sizes[&w.handles[&handle]];
                let offset = if rng.random_bool(0.75) { head } else { rng.random_range(0..size + 4) };
                let len = rng.random_range(1..=12);
                w.read(handle, offset, len);
                heads[at].1 = offset + u64::from(len);
            }
            50..53 => {
                if let Some(read) = pick(rng, w.waiting.keys()) {
                    w.cancel(read);
                }
            }
            53..58 => {
                if let Some(fetch) = pick(rng, w.flying.keys()) {
                    w.send(fetch);
                }
            }
            58..75 => {
                if let Some(fetch) = pick(rng, w.flying.keys()) {
                    let ix = rng.random_range(w.flying[&fetch].blocks.clone());
                    w.bring(fetch, ix);
                }
            }
            75..90 => {
                if let Some(fetch) = pick(rng, w.flying.keys()) {
                    w.complete(fetch);
                }
            }
            90..94 => {
                if let Some(fetch) = pick(rng, w.flying.keys()) {
                    let outcome = match rng.random_range(0..5) {
                        0 => Outcome::Fatal,
                        3 => Outcome::Away,
                        2 => Outcome::Complete,
                        1 => Outcome::RetryAt(w.now.after(3_000)),
                        _ => Outcome::Retry,
                    };
                    w.settle(fetch, outcome);
                }
            }
            94..97 => w.pass(rng.random_range(0..12_000)),
            97 => {
                w.plan.set_weight(MountId(rng.random_range(0..2)), rng.random_range(1..4));
                w.act();
            }
            98 => {
                w.now = w.now.after(100_000);
                w.plan.woke(w.now);
                w.act();
            }
            _ => {}
        }
    }
    // With a network that works again, every read ends.
    for _ in 0..200 {
        if w.waiting.is_empty() {
            break;
        }
        w.complete_all();
        w.pass(1_000);
    }
    assert!(w.waiting.is_empty(), "a read is stuck: {:?}", w.plan.reads);
    w.end();
}

fn pick<'a, T: Copy + 'a>(rng: &mut StdRng, all: impl ExactSizeIterator<Item = &'a T> + Clone) -> Option<T> {
    let len = all.len();
    (len > 0).then(|| *all.clone().nth(rng.random_range(0..len)).expect("within"))
}

#[test]
fn random_walks_keep_every_invariant() {
    if let Ok(seed) = std::env::var("SEED") {
        walk(seed.parse().expect("SEED is a number"), 400);
        return;
    }
    for seed in 0..400 {
        if std::panic::catch_unwind(|| walk(seed, 400)).is_err() {
            panic!("SEED={seed} cargo test -p weightless-plan walks");
        }
    }
}
