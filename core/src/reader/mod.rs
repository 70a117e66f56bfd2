//! Runs the plan: owns its mutex, performs its fetches, completes waiting reads. Decides nothing and never waits under the
//! mutex.
//!
//! | file | noun |
//! | --- | --- |
//! | `driver` | [`Reader`]: the mutex around the plan, and what happens around each call of it |
//! | `fetch` | one fetch in flight: its task, its sink, its blocks as they fill |
//! | `block` | [`Block`] and the pool that block buffers come from and go back to |
//! | `lately` | reads that failed after a long wait, for the kernel's own retries |
//! | `stats` | what went through each open file, and what its reads wait for |
//! | `clock` | the plan's time: counts only while the engine runs |
//!
//! Architecture Invariant: the mutex is taken for one call of the plan and the actions that it asks for, and released before
//! any of them is performed: no reply, spawn or wake-up happens under it.

mod block;
mod clock;
mod driver;
mod fetch;
mod lately;
mod stats;
#[cfg(test)]
mod tests;

pub use block::{Block, BlockPool};
pub use driver::{Counters, OpenFile, ReadData, Reader, ReaderConfig, Reply};
pub use fetch::Fetcher;
pub use stats::{FileStats, WaitsFor};
