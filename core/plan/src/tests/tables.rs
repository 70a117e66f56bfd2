//! Behaviours of the reader, a promise a test.

use super::walks::tiny;
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
    type Row = (u32, &'static [(u64, u64)], u64);
    let rows: [Row; 2] =
        [(16 * 1024, &[(0, 1024)], MIB), (128 * 1024, &[(0, 1024), (1024, 1024), (2048, 2048)], 64 * MIB)];
    for (len, first, bytes) in rows {
        let mut w = big(512);
        let h = w.open(1, 1000 * MIB);
        assert!(w.read(h, 0, len).is_some());
        assert_eq!(asked_kib(&w)[..first.len()], *first, "{len}");
        assert!((bytes / 2..=bytes).contains(&w.asked_bytes()), "{len}: {}", w.asked_bytes());
        assert!(w.flying.values().next().is_some_and(|a| a.urgency == Urgency::Soon));
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

/// Tiny blocks without any read-ahead: a read's own fetches only.
fn alone(budget: u64) -> World {
    World::new(Limits { near_bytes: 1 << 40, eager_read_bytes: 1 << 40, ..tiny(budget) })
}

fn only_fetch(w: &World) -> FetchId {
    assert_eq!(w.flying.len(), 1, "{:?}", w.flying);
    *w.flying.keys().next().expect("one")
}

#[test]
fn a_second_reader_shares_the_fetch_across_handles_and_mounts() {
    let mut w = alone(64);
    let (a, b) = (w.open_as(1, 100, MountId(0), Mode::Cached), w.open_as(1, 100, MountId(1), Mode::Cached));
    let (x, y) = (w.read(a, 40, 8), w.read(b, 44, 4));
    assert_eq!(w.asked.len(), 1);
    w.complete_all();
    for read in [x, y] {
        assert_eq!(w.finished.get(&read.expect("waits")), Some(&Ok(())));
    }
    assert_eq!(w.read(b, 40, 8), None, "and its blocks");
    w.end();
}

#[test]
fn reads_at_and_past_the_end_are_empty_and_ask_nothing() {
    let mut w = alone(64);
    for (size, offset, len) in [(0, 0, 4), (10, 10, 1), (10, 400, 12), (10, 3, 0)] {
        let h = w.open(2, size);
        assert_eq!(w.read(h, offset, len), None);
        w.close(h);
    }
    assert!(w.asked.is_empty());
    w.end();
}

#[test]
pub(crate) fn a_read_that_needs_memory_does_not_pass_one_that_queues() {
    let mut w = alone(16);
    let (a, b, c) = (w.open(1, 100), w.open(2, 100), w.open(3, 100));
    w.read(a, 0, 8);
    let big = w.read(b, 0, 12).expect("queues");
    let small = w.read(c, 0, 4).expect("queues behind");
    assert_eq!(w.asked.len(), 1, "the small one would fit, but it came later");
    assert_eq!(w.plan.stats().queued_reads, 2);
    w.complete_all();
    assert!(w.finished.contains_key(&big) && w.finished.contains_key(&small));
    w.end();
}

#[test]
pub(crate) fn a_read_that_joined_a_failed_fetch_tries_once_more_itself() {
    let mut w = alone(64);
    let h = w.open(1, 100);
    let (first, joined) = (w.read(h, 40, 4).expect("waits"), w.read(h, 40, 4).expect("waits"));
    let fetch = only_fetch(&w);
    w.settle(fetch, Outcome::Fatal);
    assert_eq!(w.finished.get(&first), Some(&Err(Failure::Fetch(fetch))));
    assert!(!w.finished.contains_key(&joined));
    let again = only_fetch(&w);
    w.settle(again, Outcome::Fatal);
    assert_eq!(w.finished.get(&joined), Some(&Err(Failure::Fetch(again))), "once");
    w.end();
}

#[test]
pub(crate) fn silence_stalls_three_attempts_that_deliver_nothing_fail() {
    let mut w = World::new(Limits { deadline_ms: 1_000_000, hedge_ms: 1_000_000, ..alone(64).plan.limits.clone() });
    let h = w.open(1, 100);
    let read = w.read(h, 40, 4).expect("waits");
    for attempt in 1..=3 {
        let fetch = only_fetch(&w);
        w.pass(100_000);
        assert!(w.cancels.len() < attempt, "no stall before it is sent");
        w.send(fetch);
        w.pass(29_000);
        w.plan.received(w.now, fetch, 1);
        w.pass(29_999);
        assert!(w.cancels.len() < attempt, "bytes start the timer again");
        w.pass(1);
        assert_eq!(w.cancels.last(), Some(&fetch));
        w.settle(fetch, Outcome::Cancelled);
        w.pass(5_000);
    }
    assert!(matches!(w.finished.get(&read), Some(Err(Failure::Fetch(_)))));
    assert_eq!(w.plan.stats().counts.stalls, 3);
    w.end();
}

/// Lets every attempt meet nobody until `read` has finished or `ms` have passed; returns how long it took and the attempts.
fn away(w: &mut World, read: ReadId, ms: u64) -> (u64, usize) {
    let (began, mut attempts) = (w.now, 0);
    while !w.finished.contains_key(&read) && w.now < began.after(ms) {
        match w.flying.keys().next().copied() {
            Some(fetch) => {
                attempts += 1;
                w.settle(fetch, Outcome::Away);
            }
            None => w.pass(100),
        }
    }
    (w.now.0 - began.0, attempts)
}

#[test]
pub(crate) fn a_read_waits_half_a_minute_for_what_is_away_and_the_next_ones_not_again() {
    let mut w = alone(64);
    let (h, other) = (w.open(1, 100), w.open(2, 100));
    let read = w.read(h, 40, 4).expect("waits");
    let (took, attempts) = away(&mut w, read, 60_000);
    assert!(matches!(w.finished.get(&read), Some(Err(Failure::Fetch(_)))), "with the network's own error");
    assert!((30_000..34_000).contains(&took) && (10..15).contains(&attempts), "{took} ms, {attempts} attempts");
    // It goes on: nobody waits for it a second time.
    for _ in 0..2 {
        let read = w.read(other, 40, 4).expect("waits");
        let (took, attempts) = away(&mut w, read, 60_000);
        assert_eq!(attempts, 3);
        assert!(took < 2_000, "{took} ms");
    }
    // Something comes, so the next one is another outage; it ends while a read waits.
    let read = w.read(h, 0, 4).expect("waits");
    w.complete_all();
    assert_eq!(w.finished.get(&read), Some(&Ok(())));
    let read = w.read(other, 60, 4).expect("waits");
    away(&mut w, read, 20_000);
    w.pass(3_000);
    w.complete_all();
    assert_eq!(w.finished.get(&read), Some(&Ok(())));
    w.end();
}

#[test]
fn an_outage_of_long_ago_and_one_before_a_sleep_do_not_count() {
    type Between = fn(&mut World);
    let rows: [(&str, Between, bool); 3] = [
        ("at once", |_| (), false),
        ("a minute later", |w| w.pass(60_000), true),
        ("after a sleep", |w| w.plan.woke(w.now), true),
    ];
    for (name, between, is_borne) in rows {
        let mut w = alone(64);
        let h = w.open(1, 100);
        let read = w.read(h, 40, 4).expect("waits");
        away(&mut w, read, 60_000);
        between(&mut w);
        let read = w.read(h, 40, 4).expect("waits");
        let (took, _) = away(&mut w, read, 60_000);
        assert_eq!(took > 20_000, is_borne, "{name}: {took} ms");
        w.end();
    }
}

#[test]
fn read_ahead_gives_up_on_what_is_away_after_three_attempts() {
    let mut w = alone(64);
    let h = w.open(1, 100);
    let read = w.read(h, 0, 4).expect("waits");
    w.complete(only_fetch(&w));
    assert_eq!(w.finished.get(&read), Some(&Ok(())));
    let mut attempts = 0;
    while let Some(fetch) = w.flying.keys().next().copied() {
        attempts += 1;
        w.settle(fetch, Outcome::Away);
        w.pass(3_000);
    }
    assert!(attempts % 3 == 0 && attempts <= 12, "{attempts}");
    w.end();
}

#[test]
fn progress_resets_the_count_and_goes_on_at_the_first_missing_block() {
    let mut w = World::new(Limits { read_bytes_max: 40, ..alone(200).plan.limits.clone() });
    let h = w.open(1, 400);
    let read = w.read(h, 64, 40).expect("waits");
    w.complete(*w.flying.keys().next_back().expect("cells"));
    w.complete(*w.flying.keys().next_back().expect("cells"));
    for (delivered, expected) in [(None, 16..20), (None, 16..20), (Some(16), 16..20), (None, 17..20), (None, 17..20)] {
        let fetch = only_fetch(&w);
        assert_eq!(w.flying[&fetch].blocks, expected);
        if let Some(ix) = delivered {
            w.bring(fetch, ix);
        }
        w.settle(fetch, Outcome::Retry);
        w.pass(2_000);
    }
    w.complete_all();
    assert_eq!(w.finished.get(&read), Some(&Ok(())));
    w.end();
}

#[test]
fn a_silent_awaited_fetch_gets_a_second_attempt_after_ten_seconds() {
    for winner in [0, 1] {
        let mut w = alone(64);
        let h = w.open(1, 100);
        let read = w.read(h, 40, 4).expect("waits");
        let fetch = only_fetch(&w);
        w.send(fetch);
        w.pass(9_999);
        assert_eq!(w.flying.len(), 1);
        w.pass(1);
        assert_eq!(w.flying.len(), 2);
        let which = *w.flying.keys().nth(winner).expect("two");
        w.complete(which);
        assert_eq!(w.finished.get(&read), Some(&Ok(())));
        assert_eq!(w.cancels.len(), 1, "the other is cancelled");
        w.complete_all();
        w.end();
    }
}

#[test]
fn a_read_fails_at_its_deadline_and_its_fetch_goes_on() {
    let mut w = alone(64);
    let h = w.open(1, 100);
    let read = w.read(h, 40, 4).expect("waits");
    w.pass(44_999);
    assert!(!w.finished.contains_key(&read));
    w.pass(1);
    assert_eq!(w.finished.get(&read), Some(&Err(Failure::Deadline)));
    assert!(w.cancels.is_empty());
    w.complete_all();
    assert_eq!(w.read(h, 40, 4), None);
    w.end();
}

#[test]
fn a_read_fails_with_its_first_failed_block_also_behind_a_stalled_one() {
    for blocks in [8u32, 40] {
        let mut w = World::new(Limits { read_bytes_max: 160, ..alone(1_000).plan.limits.clone() });
        let h = w.open(1, 1_000);
        let read = w.read(h, 64, blocks * 4).expect("waits");
        let (first, last) = (*w.flying.keys().next().expect("cells"), *w.flying.keys().next_back().expect("cells"));
        assert_ne!(first, last);
        w.send(first);
        w.pass(5_000);
        w.settle(last, Outcome::Fatal);
        assert_eq!(w.finished.get(&read), Some(&Err(Failure::Fetch(last))), "{blocks} blocks");
        w.end();
    }
}

#[test]
pub(crate) fn a_direct_handle_fetches_again_what_it_read_and_goes_on_inside_a_block() {
    let mut w = alone(64);
    let h = w.open_as(1, 100, MountId(0), Mode::Direct);
    for (offset, len, waits) in
        [(40, 2, true), (42, 2, false), (40, 4, true), (40, 4, true), (44, 2, true), (45, 1, true)]
    {
        assert_eq!(w.read(h, offset, len).is_some(), waits, "{offset}+{len}");
        w.complete_all();
    }
    w.end();
}

#[test]
fn closing_cancels_what_nobody_else_wants() {
    let mut w = alone(64);
    let (a, b) = (w.open(1, 100), w.open(1, 100));
    let (x, y, z) = (w.read(a, 0, 4).expect("x"), w.read(a, 40, 4).expect("y"), w.read(b, 40, 4).expect("z"));
    w.close(a);
    for read in [x, y] {
        assert_eq!(w.finished.get(&read), Some(&Err(Failure::Closed)));
    }
    assert_eq!(w.cancels.len(), 1);
    w.complete_all();
    assert_eq!(w.finished.get(&z), Some(&Ok(())));
    assert_eq!(w.read(a, 0, 4).map(|read| w.finished[&read]), Some(Err(Failure::Closed)), "a closed handle");
    w.end();
}

#[test]
fn the_blocks_of_a_cancelled_read_are_read_ahead_again() {
    let mut w = alone(64);
    let h = w.open(1, 100);
    let read = w.read(h, 40, 4).expect("waits");
    w.cancel(read);
    assert_eq!(w.finished.get(&read), Some(&Err(Failure::Closed)));
    assert_eq!(w.plan.stats().ahead_flying_bytes, 4);
    w.complete_all();
    assert_eq!(w.read(h, 40, 4), None);
    w.end();
}

#[test]
fn idle_readers_give_back_everything_after_two_minutes() {
    let mut w = big(512);
    for n in 0..200 {
        let h = w.open(n, 100 * MIB);
        w.read(h, 0, 4096);
    }
    w.complete_all();
    assert!(w.plan.stats().charged_bytes >= 100 * MIB);
    w.pass(130_000);
    assert_eq!(w.plan.stats().charged_bytes, 0);
    assert_eq!(w.plan.next_timeout(), None, "and nothing wakes the engine");
    w.end();
}

#[test]
fn shares_follow_weights_and_have_no_floor() {
    for (weights, budget_mib, expected_mib) in [([1, 1], 512, [256, 256]), ([3, 1], 512, [384, 128])] {
        let mut w = big(budget_mib);
        let handles: Vec<HandleId> =
            (0..2).map(|n| w.open_as(n, 2_000 * MIB, MountId(u32::from(n)), Mode::Cached)).collect();
        for (n, weight) in weights.iter().enumerate() {
            w.plan.set_weight(MountId(n as u32), *weight);
        }
        for h in &handles {
            w.read(*h, 0, 128 * 1024);
        }
        for (h, mib) in handles.iter().zip(expected_mib) {
            let (_, share) = w.plan.handle_bytes(*h).expect("open");
            assert!(share <= mib * MIB && share > mib * MIB * 99 / 100, "{share}");
        }
        w.end();
    }
    let mut w = World::new(Limits::with_budget(2 * MIB));
    let handles: Vec<HandleId> = (0..8).map(|n| w.open(n, 100 * MIB)).collect();
    for h in &handles {
        w.read(*h, 0, 128 * 1024);
        w.complete_all();
    }
    assert!(w.plan.handles.values().any(|h| h.refused), "refused readers count");
    w.end();
}

#[test]
fn a_read_short_of_memory_takes_unread_blocks_at_once() {
    let mut w = World::new(tiny(40));
    let (a, b) = (w.open(1, 1_000), w.open(2, 1_000));
    w.read(a, 0, 8);
    w.complete_all();
    assert!(w.plan.stats().ahead_held_bytes > 0);
    for n in 0..4 {
        let read = w.read(b, 100 + n * 40, 8).expect("waits");
        assert!(w.flying.values().any(|f| f.urgency == Urgency::Soon), "it does not queue");
        w.complete_all();
        assert_eq!(w.finished.get(&read), Some(&Ok(())));
    }
    w.end();
}

#[test]
fn a_rate_limit_is_waited_out_and_stops_read_ahead() {
    let mut w = alone(64);
    let h = w.open(1, 100);
    let read = w.read(h, 40, 4).expect("waits");
    let until = w.now.after(20_000);
    let fetch = only_fetch(&w);
    w.settle(fetch, Outcome::RetryAt(until));
    w.pass(19_999);
    assert!(w.flying.is_empty());
    w.pass(1);
    w.complete_all();
    assert_eq!(w.finished.get(&read), Some(&Ok(())));
    w.end();
}

#[test]
fn limits_that_could_not_hold_the_largest_read_are_refused() {
    let least = Limits::default().budget_bytes_min();
    assert_eq!(least, MIB + 256 * KIB);
    assert_eq!(Plan::<()>::new(Limits::with_budget(least - 1)).err(), Some(LimitsError::Budget { least }));
    let mut w = big(64);
    assert!(w.plan.set_limits(w.now, Limits::with_budget(least)).is_ok());
    let other = Limits { block_bytes: 4, cell_bytes: 16, ..Limits::default() };
    assert_eq!(w.plan.set_limits(w.now, other), Err(LimitsError::Block));
    let h = w.open(1, 100 * MIB);
    let read = w.read(h, 0, 2 * 1024 * 1024).expect("waits");
    assert_eq!(w.finished.get(&read), Some(&Err(Failure::TooLarge)));
    w.end();
}

#[test]
fn a_budget_that_shrinks_is_reached_and_queued_reads_are_judged_again() {
    let mut w = big(256);
    let h = w.open(1, 1_000 * MIB);
    w.read(h, 0, 128 * 1024);
    w.complete_all();
    assert!(w.plan.stats().charged_bytes > 32 * MIB);
    w.plan.set_limits(w.now, Limits::with_budget(8 * MIB)).expect("valid");
    w.act();
    assert!(w.plan.stats().charged_bytes <= 8 * MIB);
    w.end();
}

#[test]
fn waking_starts_timers_again() {
    let mut w = alone(64);
    let h = w.open(1, 100);
    let read = w.read(h, 40, 4).expect("waits");
    let fetch = only_fetch(&w);
    w.send(fetch);
    w.now = w.now.after(3_600_000);
    w.plan.woke(w.now);
    w.act();
    w.pass(9_000);
    assert!(!w.finished.contains_key(&read) && w.flying.len() == 1);
    w.complete_all();
    w.end();
}

#[test]
fn shutting_down_ends_everything() {
    let mut w = big(64);
    let h = w.open(1, 100 * MIB);
    let read = w.read(h, 0, 128 * 1024).expect("waits");
    w.handles.clear();
    w.plan.shut_down(w.now);
    w.act();
    assert_eq!(w.finished.get(&read), Some(&Err(Failure::Closed)));
    assert!(w.flying.values().all(|f| f.cancelled));
    let late = w.read(h, 0, 1).expect("waits");
    assert_eq!(w.finished.get(&late), Some(&Err(Failure::Closed)));
    w.complete_all();
    w.end();
}

#[test]
fn no_fetch_crosses_a_cell_and_streams_are_bounded() {
    let mut w = big(512);
    let h = w.open(1, 4_000 * MIB);
    for n in 0..40u64 {
        for step in 0..3 {
            w.read(h, n * 97 * MIB + 100 * KIB + step * 128 * KIB, 128 * 1024);
            w.complete_all();
        }
    }
    for (_, blocks) in &w.asked {
        assert_eq!(blocks.start / 128, (blocks.end - 1) / 128, "{blocks:?}");
    }
    assert_eq!(w.plan.handles[&h].streams.iter().count(), 32);
    w.end();
}

#[test]
fn blocks_already_read_keep_to_their_limit() {
    let mut w = big(512);
    let h = w.open(1, 200 * MIB);
    for n in 0..800u64 {
        w.read(h, n * 128 * KIB, 128 * 1024);
        w.complete_all();
        assert!(w.plan.stats().behind_bytes <= 8 * MIB + 256 * KIB);
    }
    assert_eq!(w.read(h, 100 * MIB - 8 * MIB + 512 * KIB, 4096), None);
    w.end();
}

#[test]
pub(crate) fn a_block_read_in_part_stays_for_a_late_reader_of_the_rest() {
    const HALF: u64 = 128 * KIB;
    // Of block 0 one half is read, then a scan passes far beyond what is kept; the other half comes late. Other streams may keep
    // so many last blocks that there is no place for more.
    for (first, late, others) in [(0, HALF, 0), (HALF, 0, 0), (0, HALF, 40)] {
        let mut w = big(512);
        let (scan, other) = (w.open(1, 1_000 * MIB), w.open(1, 1_000 * MIB));
        w.read(other, first, HALF as u32);
        w.complete_all();
        for n in 0..others {
            let h = w.open(1, 1_000 * MIB);
            w.read(h, (100 + 17 * n) * MIB, 256 * 1024);
            w.complete_all();
        }
        for n in 0..32 * MIB / HALF {
            w.read(scan, MIB + n * HALF, HALF as u32);
            w.complete_all();
        }
        assert!(w.plan.stats().behind_bytes <= 8 * MIB + (others + 2) * 256 * KIB);
        assert_eq!(w.read(other, late, HALF as u32), None, "the half at {late} is there");
        assert!(w.plan.halves.is_empty(), "and the block is like others from now on");
        w.end();
    }
}

#[test]
fn blocks_read_in_part_keep_to_the_limit_and_go_oldest_first() {
    let mut w = World::new(Limits { parts_file_bytes: 8 * MIB, ..Limits::with_budget(512 * MIB) });
    let h = w.open(1, 1_000 * MIB);
    for n in 1..100u64 {
        w.read(h, n * 9 * MIB, 4096);
        w.complete_all();
        assert!(w.plan.stats().charged_bytes <= 16 * MIB + 256 * KIB, "{:?}", w.plan.stats());
    }
    assert_eq!(w.read(h, 99 * 9 * MIB + 8192, 4096), None);
    assert!(w.read(h, 9 * MIB + 8192, 4096).is_some());
    w.end();
}

/// A buffered pread as Linux sends it, answered at once: 128 KiB at a time from the page it starts in, and once more.
fn pread(w: &mut World, h: HandleId, offset: u64, len: u64) {
    let start = offset - offset % (4 * KIB);
    for n in 0..=(offset + len - start).div_ceil(128 * KIB) {
        w.read(h, start + n * 128 * KIB, 128 * 1024);
        w.complete_all();
    }
}

#[test]
pub(crate) fn a_pread_of_4_mib_from_the_middle_takes_two_requests() {
    // Preads of so many KiB before it, by this handle or another; requests, and blocks that it needs and asks for. Where it
    // starts elsewhere in a block than those before, the kernel's read beyond takes a third, for which nobody waits.
    for (before, other, offset, requests, blocks) in [
        (&[][..], false, 500 * MIB, 2, 17),
        (&[], false, 500 * MIB + 12_345, 2, 18),
        (&[4], false, 500 * MIB, 3, 18),
        (&[4096], false, 500 * MIB, 2, 17),
        (&[4096, 4096], false, 500 * MIB + 12_345, 3, 18),
        (&[4096, 4096, 4096], false, 500 * MIB, 2, 17),
        (&[4096, 4096, 4096], false, 500 * MIB + 12_345, 3, 18),
        (&[4096, 4096, 4096, 4096], true, 500 * MIB, 2, 17),
        (&[9000, 4096, 4096, 4096], false, 500 * MIB, 2, 17),
    ] {
        let mut w = big(512);
        let h = w.open(1, 1_000 * MIB);
        for (n, kib) in before.iter().enumerate() {
            pread(&mut w, h, (100 + 40 * n as u64) * MIB, kib * KIB);
        }
        w.asked.clear();
        let h = if other { w.open(1, 1_000 * MIB) } else { h };
        pread(&mut w, h, offset, 4 * MIB);
        let asked: u32 = w.asked.iter().map(|(_, blocks)| blocks.end - blocks.start).sum();
        assert_eq!((w.asked.len(), asked), (requests, blocks), "{before:?} {other} {offset}: {:?}", asked_kib(&w));
        w.end();
    }
}

#[test]
pub(crate) fn a_run_gets_what_those_before_it_had_and_no_more() {
    // Runs of 1 MiB, then one that goes on: what is asked for beyond what is read stays small.
    let mut w = big(512);
    let h = w.open(1, 1_000 * MIB);
    for n in 0..6 {
        pread(&mut w, h, (100 + 40 * n) * MIB, MIB);
    }
    let once = 5 * 256 * KIB;
    assert_eq!(w.asked_bytes(), 6 * once + 3 * MIB, "only the first costs more: {:?}", asked_kib(&w));
    pread(&mut w, h, 500 * MIB, 6 * MIB);
    assert!(w.asked_bytes() <= 6 * once + 3 * MIB + 10 * MIB, "{:?}", asked_kib(&w));
    w.end();
}

#[test]
pub(crate) fn a_stream_does_not_take_over_what_another_asked_for_long_ago() {
    let mut w = World::new(Limits { behind_file_bytes: MIB, ..Limits::with_budget(64 * MIB) });
    let h = w.open(1, 1_000 * MIB);
    let scan = |w: &mut World, from: u64, mib: u64| {
        for n in 0..mib * 8 {
            w.read(h, from + n * 128 * KIB, 128 * 1024);
            w.complete_all();
        }
    };
    scan(&mut w, 100 * MIB, 20);
    scan(&mut w, 500 * MIB, 4);
    let before = w.asked.len();
    // Inside of what the first one read, most of which has gone.
    scan(&mut w, 105 * MIB, 10);
    assert!(w.asked.len() - before < 20, "a request a read: {:?}", &asked_kib(&w)[before..]);
    w.end();
}

#[test]
pub(crate) fn a_stream_does_not_read_ahead_where_one_that_stopped_began() {
    let mut w = World::new(Limits { sweep_reads: 16, ..Limits::with_budget(512 * MIB) });
    let h = w.open(1, 1_000 * MIB);
    let scan = |w: &mut World, range: Range<u64>| {
        for n in 0..range.end - range.start {
            w.read(h, range.start * MIB + n * MIB, 1024 * 1024);
            w.complete_all();
        }
    };
    scan(&mut w, 200..225);
    w.pass(5_000);
    // Enough reads that the first stream has stopped, and most of what it read is gone.
    scan(&mut w, 300..340);
    assert_eq!(w.plan.handles[&h].streams.iter().count(), 1);
    w.asked.clear();
    scan(&mut w, 160..200);
    assert_eq!(asked_kib(&w).iter().map(|(from, len)| from + len).max(), Some(200 * 1024));
    w.end();
}

/// Two threads take tensors of 2 MiB by turns, each a run that begins where another's ends. After some of them the next one,
/// elsewhere, is read ahead as the beginning of a scan; after runs that lie alone it is not.
#[test]
pub(crate) fn a_run_among_runs_that_join_is_read_ahead_as_a_scan() {
    for (gap, bytes) in [(0, 8 * MIB..33 * MIB), (15 * MIB, 0..5 * MIB)] {
        let mut w = big(1024);
        let h = w.open(1, 8_000 * MIB);
        let tensor = |n: u64| 100 * MIB + n * (2 * MIB + gap);
        for pair in 0..10 {
            for part in 0..16 {
                for n in [2 * pair, 2 * pair + 1] {
                    w.read(h, tensor(n) + part * 128 * KIB, 128 * 1024);
                    w.complete_all();
                }
            }
        }
        let before = w.asked_bytes();
        for part in 0..2 {
            w.read(h, 5_000 * MIB + part * 128 * KIB, 128 * 1024);
        }
        let asked = w.asked_bytes() - before;
        assert!(bytes.contains(&asked), "{gap} apart: {} KiB", asked / KIB);
        w.complete_all();
        w.end();
    }
}
