//! Whether the Hub has just rejected the account's token: it is not asked again and again with one that it does not take. Asks
//! nothing itself.

use super::View;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a rejected token is not sent again. Another token is, at once; this is for a Hub that was mistaken.
const HELD_MS: u64 = 10_000;

/// What the Hub rejected last. Std: held for a look or a change.
#[derive(Debug, Default)]
pub(super) struct Rejected(Mutex<Option<(View, Instant)>>);

impl Rejected {
    /// Whether the token of `view` is not to be sent now.
    pub(super) fn holds(&self, view: View) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|(of, until)| of == view && Instant::now() < until)
    }

    /// The Hub rejected the token of `view`.
    pub(super) fn set(&self, view: View) {
        let until = Instant::now() + Duration::from_millis(HELD_MS);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((view, until));
    }
}
