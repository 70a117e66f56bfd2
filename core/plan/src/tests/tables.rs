//! Behaviours of the reader, a promise a test.

use super::world::World;
use crate::*;

const MIB: u64 = 1024 * 1024;
const KIB: u64 = 1024;

fn big(budget_mib: u64) -> World {
    World::new(Limits::with_budget(budget_mib * MIB))
}

/// What was asked for, as (first byte, bytes) in KiB.
fn asked_kib(w: &World) -> Vec<(u64, u64)> {
    w.asked.iter().map(|(_, b)| (u64::from(b.start) * 256, u64::from(b.end - b.start) * 256)).collect()
}

#[test]
fn a_probe_costs_one_mib_and_a_large_first_read_asks_for_more_at_once() {
    let rows: [(u32, &[(u64, u64)], u64); 2] =
        [(16 * 1024, &[(0, 1024)], MIB), (128 * 1024, &[(0, 1024), (1024, 1024), (2048, 2048)], 64 * MIB)];
    for (len, first, bytes) in rows {
        let mut w = big(512);
        let h = w.open(1, 1000 * MIB);
        assert!(w.read(h, 0, len).is_some());
        assert_eq!(asked_kib(&w)[..first.len()], *first, "{len}");
        assert!((bytes / 2..=bytes).contains(&w.asked_bytes()), "{len}: {}", w.asked_bytes());
        assert!(w.flying.values().next().is_some_and(|a| a.awaited));
        w.end();
    }
}

#[test]
fn random_reads_cost_a_block_each() {
    let mut w = big(512);
    let h = w.open(1, 1000 * MIB);
    let mut at = 7u64;
    for _ in 0..200 {
        at = at.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        w.read(h, (at >> 20) % (1000 * MIB / 4096) * 4096, 4096);
        w.complete_all();
    }
    assert!(w.asked_bytes() <= 200 * 400 * KIB, "{} KiB a read", w.asked_bytes() / 200 / KIB);
    w.end();
}
