//! The ways to get at the files that are compared. Never reads; patterns do.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::args::Run;
use super::baseline::Baseline;
use super::drive;
use super::hub::{Hub, REPO};
use super::mount::Mount;
use super::pattern::Pattern;
use super::process;
use super::sample::{Reads, Sample};
use super::watch::Watch;

#[derive(Clone, Debug)]
pub(super) enum Arm {
    /// A fresh mount of ours.
    Mount,
    /// The reader in a process of its own, without a mount; or what could be in its place.
    Driver(Option<Baseline>),
    /// The official client, one whole file.
    Download { python: PathBuf },
    /// A folder that somebody else has mounted.
    Folder { folder: PathBuf, control: String, pid: Option<u32> },
}

impl Arm {
    /// The arms of a round. The first comes last again where there are several: if its two rows differ, so may others.
    pub(super) fn of(run: &Run, pattern: Pattern) -> Vec<Self> {
        if let (Some(folder), Some(control)) = (&run.folder, &run.control) {
            return vec![Self::Folder { folder: folder.clone(), control: control.clone(), pid: run.pid }];
        }
        match &run.python {
            _ if pattern.is_driven() && run.baselines => {
                [None, Some(Baseline::Reconstructor), Some(Baseline::Terms), None].map(Self::Driver).to_vec()
            }
            _ if pattern.is_driven() => vec![Self::Driver(None)],
            Some(python) if pattern.whole_file().is_some() => {
                vec![Self::Mount, Self::Download { python: python.clone() }, Self::Mount]
            }
            _ => vec![Self::Mount],
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::Driver(by) => by.map_or("driver", Baseline::name),
            Self::Download { .. } => "hf_hub_download",
            Self::Folder { .. } => "folder",
        }
    }

    /// Runs the pattern once.
    pub(super) fn measure(&self, hub: &Hub, run: &Run, pattern: Pattern) -> Result<Sample> {
        match self {
            Self::Mount => {
                let mount = Mount::start(hub, run, pattern)?;
                let point = mount.point();
                let _warm = pattern.warm_up(&point)?;
                let pid = mount.pid();
                let watch = Watch::start(pid, mount.held_mib());
                let sample = observe(hub, Some(pid), || pattern.read(&point));
                let rss = watch.end()?;
                Ok(Sample { rss: Some(rss), ..sample? })
            }
            Self::Driver(by) => {
                hub.reset_counters()?;
                let driven = drive::measure(hub, run, pattern, *by)?;
                let counters = hub.counters()?;
                Ok(Sample {
                    requests: counters.requests_in_all(),
                    data_requests: counters.data_requests(),
                    bytes_fetched: counters.data_bytes(),
                    ..driven
                })
            }
            Self::Download { python } => observe(hub, None, || download(hub, python, pattern)),
            Self::Folder { folder, control, pid } => {
                let hub = Hub::attach(control)?;
                let _warm = pattern.warm_up(folder)?;
                observe(&hub, *pid, || pattern.read(folder))
            }
        }
    }
}

fn observe(hub: &Hub, pid: Option<u32>, read: impl FnOnce() -> Result<Reads>) -> Result<Sample> {
    hub.reset_counters()?;
    let cpu_before = pid.map(process::cpu).transpose()?;
    let reads = read()?;
    let cpu_after = pid.map(process::cpu).transpose()?;
    let counters = hub.counters()?;
    Ok(Sample {
        reads,
        requests: counters.requests_in_all(),
        data_requests: counters.data_requests(),
        bytes_fetched: counters.data_bytes(),
        peak_mib: pid.map(process::peak_mib).transpose()?,
        rss: None,
        cpu: cpu_after.zip(cpu_before).map(|(after, before)| after.saturating_sub(before)),
    })
}

/// Times the call alone, not the interpreter's start nor the import.
const DOWNLOAD: &str = "\
import os, sys, time
from huggingface_hub import hf_hub_download
start = time.perf_counter()
path = hf_hub_download(sys.argv[1], sys.argv[2], local_dir=sys.argv[3])
print(time.perf_counter() - start, os.path.getsize(path))
";

fn download(hub: &Hub, python: &PathBuf, pattern: Pattern) -> Result<Reads> {
    let file = pattern.whole_file().context("not a pattern of one whole file")?;
    let dir = tempfile::Builder::new().prefix("weightless-bench-").tempdir()?;
    let output = Command::new(python)
        .args(["-c", DOWNLOAD, REPO, &file.path])
        .arg(dir.path().join("files"))
        .env("HF_ENDPOINT", &hub.endpoint)
        .env("HF_HOME", dir.path().join("hf"))
        .env("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        .env("HF_HUB_DISABLE_TELEMETRY", "1")
        .env("HF_XET_TELEMETRY_ENABLED", "0")
        .env_remove("HF_TOKEN")
        .output()
        .context("cannot start python")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = String::from_utf8(output.stdout)?;
    let (seconds, bytes) = line.trim().split_once(' ').context("no figures")?;
    let took = Duration::from_secs_f64(seconds.parse()?);
    Ok(Reads { took, bytes: bytes.parse()?, first_byte: took, ..Reads::default() })
}
