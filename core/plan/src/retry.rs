//! What follows an attempt that did not bring everything. Pure; never starts anything.

use crate::fetches::Span;
use crate::limits::Limits;
use crate::{Outcome, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The rest of the span fails.
    Fail,
    /// Another attempt at this moment.
    At(Time),
}

/// Counts the attempt and says what is next. Progress resets the count and goes on at once; a moment that the server named
/// is kept and does not count, but nobody waits so long for read-ahead.
pub(crate) fn after(
    outcome: Outcome,
    stalled: bool,
    delivered: u32,
    span: &mut Span,
    now: Time,
    limits: &Limits,
) -> Next {
    if delivered > 0 {
        span.empty_handed = 0;
    }
    let outcome = if stalled { Outcome::Retry } else { outcome };
    match outcome {
        Outcome::Fatal => return Next::Fail,
        Outcome::RetryAt(at) => return if span.waits > 0 { Next::At(at) } else { Next::Fail },
        // A fetch that says it is complete and is not broke off.
        Outcome::Complete | Outcome::Cancelled | Outcome::Retry => {}
    }
    if delivered > 0 {
        return Next::At(now);
    }
    span.empty_handed += 1;
    if span.empty_handed >= limits.attempts_max {
        return Next::Fail;
    }
    Next::At(now.after(pause_ms(span.empty_handed, limits)))
}

/// Pause after this many attempts in a row that delivered nothing.
fn pause_ms(empty_handed: u32, limits: &Limits) -> u64 {
    limits.retry_ms * 5u64.saturating_pow(empty_handed.saturating_sub(1))
}
