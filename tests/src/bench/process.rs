//! What Linux says of a process: CPU time and peak memory. Never of this one's readers.

use std::time::Duration;

use anyhow::{Context, Result};

/// User and system time so far, in ticks of 10 ms.
pub(super) fn cpu(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may hold spaces; fields 14 and 15 are the twelfth and thirteenth after it.
    let (_, after_name) = stat.rsplit_once(") ").context("no name in stat")?;
    let ticks = after_name.split(' ').skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// The memory it has resident now, in MiB.
pub(super) fn rss_mib(pid: u32) -> Result<f64> {
    status_mib(pid, "VmRSS:")
}

/// The most memory it has had resident, in MiB.
pub(super) fn peak_mib(pid: u32) -> Result<f64> {
    status_mib(pid, "VmHWM:")
}

fn status_mib(pid: u32, name: &'static str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).context(name)?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}
