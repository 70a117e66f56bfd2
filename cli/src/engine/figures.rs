//! How much goes through, how fast, and what waits: counters of the reader and the mounts, looked at twice a second while
//! somebody watches or reads.

use super::host::Host;
use super::meter::Meter;
use super::unix_s;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use weightless_control::stats::{FILES_MAX, FileStats, Local, Memory, MountStats, Network, Stats, Waiting};
use weightless_core::mount::OpenFileStats;
use weightless_core::reader::WaitsFor;
use weightless_platform::programs::{self, Program};

/// Between two looks while files are open or somebody watches.
const BUSY_LOOK_MS: u64 = 500;
/// Between two looks otherwise; only to notice that files were opened.
const IDLE_LOOK_MS: u64 = 5_000;

/// The past of all counters.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Held for a sample or a copy; std because of that.
    past: Mutex<Past>,
    watchers: Arc<AtomicUsize>,
    start: Instant,
}

#[derive(Debug, Default)]
struct Past {
    total: Meter,
    mounts: HashMap<String, Meter>,
    files: HashMap<(String, u64), OpenFile>,
    /// What was made of it last, and when.
    last: Option<(Duration, Arc<Stats>)>,
}

/// An open file that was seen before.
#[derive(Debug)]
struct OpenFile {
    meter: Meter,
    /// Asked once: the process may be gone later, or another under its number.
    program: Option<Program>,
}

/// Somebody watches, until this is dropped.
#[derive(Debug)]
pub(crate) struct Watching(Option<Arc<AtomicUsize>>);

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(watchers) = &self.0 {
            watchers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Default for Figures {
    fn default() -> Self {
        Figures { past: Mutex::default(), watchers: Arc::default(), start: Instant::now() }
    }
}

impl Figures {
    /// A client begins to listen; `stats` says whether it wants figures.
    pub(crate) fn watch(&self, stats: bool) -> Watching {
        Watching(stats.then(|| {
            self.watchers.fetch_add(1, Ordering::Relaxed);
            self.watchers.clone()
        }))
    }

    /// Samples from time to time, as often as it is worth; never resolves.
    pub(crate) async fn run(&self, host: &Host) {
        loop {
            let is_busy = self.watchers.load(Ordering::Relaxed) > 0
                || host.mounts.hosted().iter().any(|hosted| hosted.mount().open_files() > 0);
            self.stats(host, Duration::from_millis(BUSY_LOOK_MS / 2));
            let pause_ms = if is_busy { BUSY_LOOK_MS } else { IDLE_LOOK_MS };
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        }
    }

    /// The figures of this moment, or those taken last, if that is not longer ago than `age_max`: all who watch share them.
    pub(crate) fn stats(&self, host: &Host, age_max: Duration) -> Arc<Stats> {
        let now = self.start.elapsed();
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        match &past.last {
            Some((at, stats)) if now.saturating_sub(*at) < age_max => stats.clone(),
            _ => {
                let stats = Arc::new(past.take(host, now));
                past.last = Some((now, stats.clone()));
                stats
            }
        }
    }
}

impl Past {
    /// Looks at every counter once, and remembers it.
    fn take(&mut self, host: &Host, now: Duration) -> Stats {
        let (memory, network) = reader_figures(host);
        if let Ok(stats) = host.engine.reader().stats() {
            self.total.sample(now, stats.counts.read_bytes, host.engine.reader().wire_bytes());
        }
        let (mut mounts, mut files) = (Vec::new(), Vec::new());
        let (mut dirs, mut handles) = (HashSet::new(), HashSet::new());
        for hosted in host.mounts.hosted() {
            let dir = hosted.dir();
            let counters = hosted.mount().counters();
            let delivered = counters.delivered_bytes.load(Ordering::Relaxed);
            let fetched = counters.fetched_bytes.load(Ordering::Relaxed);
            let meter = self.mounts.entry(dir.clone()).or_default();
            meter.sample(now, delivered, fetched);
            let open = hosted.mount().files();
            mounts.push(MountStats {
                traffic: meter.traffic(),
                open_files: open.len() as u64,
                waiting: open.iter().find_map(|file| file.waits_for).map(waiting),
                dir: dir.clone(),
            });
            for file in open {
                let key = (dir.clone(), file.handle.0);
                let seen = self.files.entry(key.clone()).or_insert_with(|| OpenFile {
                    meter: Meter::default(),
                    program: file.opener.and_then(programs::of_thread),
                });
                seen.meter.sample(now, file.delivered_bytes, file.fetched_bytes);
                files.push(file_stats(&dir, file, seen));
                handles.insert(key);
            }
            dirs.insert(dir);
        }
        self.mounts.retain(|dir, _| dirs.contains(dir));
        self.files.retain(|key, _| handles.contains(key));
        files.sort_by_key(|file| std::cmp::Reverse(file.traffic.delivered_rate_10s));
        files.truncate(FILES_MAX);
        Stats {
            at_unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            total: self.total.traffic(),
            memory,
            network,
            local: local_figures(host),
            mounts,
            files,
        }
    }
}

fn file_stats(dir: &str, file: OpenFileStats, seen: &OpenFile) -> FileStats {
    let program = seen.program.as_ref();
    FileStats {
        dir: dir.to_owned(),
        path: file.path.to_string(),
        size: file.size,
        pid: program.map(|program| program.pid).or(file.opener),
        program: program.map(|program| program.name.clone()),
        opened_unix_s: unix_s(file.opened_at),
        traffic: seen.meter.traffic(),
        waiting: file.waits_for.map(waiting),
    }
}

fn waiting(waits_for: WaitsFor) -> Waiting {
    match waits_for {
        WaitsFor::Budget => Waiting::Budget,
        WaitsFor::Link => Waiting::Link,
        WaitsFor::Retry(span) => Waiting::Retry { in_s: span.as_secs() },
        WaitsFor::HubLimit(span) => Waiting::HubLimit { in_s: span.as_secs() },
    }
}

fn local_figures(host: &Host) -> Local {
    let local = host.engine.local();
    let store = local.store.as_ref();
    Local {
        store_bytes: local.store_bytes,
        hub_cache_bytes: local.hub_cache_bytes,
        kept_bytes: store.map_or(0, |store| store.used_bytes),
        dropped_blocks: store.map_or(0, |store| store.dropped_blocks),
    }
}

fn reader_figures(host: &Host) -> (Memory, Network) {
    let Ok(stats) = host.engine.reader().stats() else { return (Memory::default(), Network::default()) };
    let memory = Memory {
        budget_bytes: host.budget_bytes(),
        used_bytes: stats.charged_bytes,
        ahead_bytes: stats.ahead_held_bytes,
        behind_bytes: stats.behind_bytes,
        in_flight_bytes: stats.awaited_bytes + stats.ahead_flying_bytes,
    };
    let network = Network {
        requests: stats.counts.fetches,
        retries: stats.counts.retries,
        in_flight: stats.fetches_in_flight as u64,
        link_rate: stats.link_bytes_per_second,
        reads: stats.counts.reads,
        memory_hits: stats.counts.hits,
        waiting_reads: stats.waiting_reads as u64,
    };
    (memory, network)
}
