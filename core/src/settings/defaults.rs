//! What stands for a setting that is absent. All defaults are here, each with its reason.

use super::Machine;
use std::path::{Path, PathBuf};
use weightless_control::settings::Settings;
use weightless_plan::Limits;

/// More than this fills no link better, and a laptop has other uses for it.
const BUDGET_BYTES_MAX: u64 = 1 << 30;
/// Room for a few streams of 1 MiB fetches, also in the smallest container.
const BUDGET_BYTES_MIN: u64 = 16 << 20;
/// One loop would let a slow copy of one reader hold up all others.
const EVENT_LOOPS_MIN: usize = 2;
/// What four threads answer, hits from memory, is already beyond any link; each further one costs its stack and buffers.
const EVENT_LOOPS_MAX: usize = 4;
/// One line per surprise, nothing per read.
pub(super) const LOG_LEVEL: &str = "info";
/// In the home folder: where people look, on every system; the name says whose it is.
const MOUNT_FOLDER: &str = "Weightless";

/// Two or three models of the size that fits a laptop's memory, so that going back and forth between them costs nothing; a
/// disk of 256 GB does not miss it, and less room is left to `STORE_KEEP_FREE_GB`.
pub(super) const STORE_MAX_GB: u32 = 50;
/// What systems want for updates, sleep and swap before they complain.
pub(super) const STORE_KEEP_FREE_GB: u32 = 10;

/// Memory for file content on a machine, or in a container, with this much RAM: a quarter, since page cache and programs need
/// the rest; at least 16 MiB, at most 1 GiB. Where the RAM is not known, half of the most.
pub fn budget_bytes(ram_bytes: Option<u64>) -> u64 {
    ram_bytes.map_or(BUDGET_BYTES_MAX / 2, |ram| (ram / 4).clamp(BUDGET_BYTES_MIN, BUDGET_BYTES_MAX))
}

/// The plan's number, 30 s: longer than any healthy pause of a data host, shorter than people's patience.
pub(super) fn stall_ms() -> u64 {
    Limits::default().stall_ms
}

pub(super) fn event_loops(cores: usize) -> usize {
    cores.clamp(EVENT_LOOPS_MIN, EVENT_LOOPS_MAX)
}

/// Without a home folder it is `/Weightless`: what `HOME=/` means, which containers set for users that they do not know.
pub fn mount_folder(home: Option<&Path>) -> PathBuf {
    home.unwrap_or(Path::new("/")).join(MOUNT_FOLDER)
}

/// Between two questions whether a mounted revision has a newer commit: one request in ten minutes for each mount that is used is
/// nothing to the Hub, and people who wait for a commit know when it comes.
pub(super) const REFRESH_S: u64 = 600;

/// All of them, in the units of the file. Absent: nothing stands for it (no proxy but the environment's, no CA file, no port).
pub(super) fn settings(machine: &Machine, hub: &str) -> Settings {
    let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Settings {
        read_ahead_mb: Some(narrow(budget_bytes(machine.ram_bytes) >> 20)),
        bandwidth_cap_kb: None,
        stall_timeout_ms: Some(narrow(stall_ms())),
        event_loops: u16::try_from(event_loops(machine.cores)).ok(),
        refresh_s: u32::try_from(REFRESH_S).ok(),
        endpoint: Some(hub.to_owned()),
        proxy: None,
        ca_file: None,
        mount_folder: Some(mount_folder(machine.home.as_deref()).display().to_string()),
        log_level: Some(LOG_LEVEL.to_owned()),
        store_max_gb: Some(STORE_MAX_GB),
        store_keep_free_gb: Some(STORE_KEEP_FREE_GB),
        metrics_port: None,
    }
}
