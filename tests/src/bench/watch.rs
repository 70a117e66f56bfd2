//! Looks at a process every second while something is read from it: its resident memory, and what it says that it holds
//! for content. Never decides what is too much.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};

use super::process;

/// Memory over a run, in MiB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rss {
    pub(super) first: f64,
    pub(super) last: f64,
    /// The most that was seen.
    pub(super) peak: f64,
    /// The most by which it was above what the process said that it holds, where it said so.
    pub(super) above_held: Option<f64>,
}

const EVERY: Duration = Duration::from_secs(1);

pub(super) struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Result<Rss>>,
}

impl Watch {
    /// Looks once at once, then every second. `held_mib` asks the process.
    pub(super) fn start(pid: u32, held_mib: impl Fn() -> Option<f64> + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let first = process::rss_mib(pid)?;
            let mut rss = Rss { first, last: first, peak: first, above_held: None };
            loop {
                let ended = !matches!(stopped.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout));
                rss.last = process::rss_mib(pid)?;
                rss.peak = rss.peak.max(rss.last);
                if ended {
                    return Ok(rss);
                }
                if let Some(held) = held_mib() {
                    rss.above_held = Some(rss.above_held.unwrap_or(0.0).max(rss.last - held));
                }
            }
        });
        Watch { stop, thread }
    }

    pub(super) fn end(self) -> Result<Rss> {
        // A thread that has ended by itself tells why below.
        let _ = self.stop.send(());
        self.thread.join().ok().context("the watch panicked")?
    }
}
