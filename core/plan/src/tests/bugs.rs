//! Each planted bug is caught by the tables, the search or the walks.

use super::{search, tables, walks};
use crate::planted::{ALL, plant};

#[test]
fn every_planted_bug_is_caught() {
    let tables: [fn(); 6] = [
        tables::a_read_that_needs_memory_does_not_pass_one_that_queues,
        tables::a_read_that_joined_a_failed_fetch_tries_once_more_itself,
        tables::silence_stalls_three_attempts_that_deliver_nothing_fail,
        tables::a_read_waits_half_a_minute_for_what_is_away_and_the_next_ones_not_again,
        tables::a_block_read_in_part_stays_for_a_late_reader_of_the_rest,
        tables::a_direct_handle_fetches_again_what_it_read_and_goes_on_inside_a_block,
    ];
    // In blocks of 256 KiB, so they take longer.
    let policy: [fn(); 4] = [
        tables::a_run_gets_what_those_before_it_had_and_no_more,
        tables::a_stream_does_not_take_over_what_another_asked_for_long_ago,
        tables::a_stream_does_not_read_ahead_where_one_that_stopped_began,
        tables::a_pread_of_4_mib_from_the_middle_takes_two_requests,
    ];
    let fails = |tables: &[fn()]| tables.iter().any(|table| std::panic::catch_unwind(table).is_err());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for bug in ALL {
        plant(Some(bug));
        let caught = fails(&tables)
            || std::panic::catch_unwind(|| search::every_small_world(4)).is_err()
            || fails(&policy)
            || (0..60).any(|seed| std::panic::catch_unwind(|| walks::walk(seed, 400)).is_err());
        if !caught {
            missed.push(bug);
        }
    }
    plant(None);
    std::panic::set_hook(hook);
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
