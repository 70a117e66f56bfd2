//! Whether the network may be used: one switch for all who were made with it, thrown while they live.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Paused or not. Clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Pauses, or goes on. What is under way ends by itself.
    pub fn set_paused(&self, paused: bool) {
        self.0.store(paused, Ordering::Release);
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
