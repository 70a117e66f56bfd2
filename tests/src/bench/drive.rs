//! The reader without a mount, in a process of its own: what reading costs before a file system is in the way.

use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use weightless_core::engine::{Engine, EngineConfig};
use weightless_core::hub::Hub as AsSeen;
use weightless_core::mount::Mount;
use weightless_core::net::NetConfig;
use weightless_core::reader::ReaderConfig;
use weightless_core::repo::RepoSpec;
use weightless_core::tree::NodeId;

use super::args::{Drive, Run};
use super::baseline::Baseline;
use super::hub::{Hub, REPO};
use super::pattern::Pattern;
use super::process;
use super::sample::{Reads, Sample};

/// The kernel's largest unprivileged read.
const READ_BYTES: u32 = 128 << 10;

/// Starts this program again as [`run`] and takes its figures.
pub(super) fn measure(hub: &Hub, run: &Run, pattern: Pattern, by: Option<Baseline>) -> Result<Sample> {
    let file = pattern.files().remove(0);
    let by = by.and_then(|by| by.to_possible_value());
    let output = Command::new(std::env::current_exe()?)
        .args(["drive", "--endpoint", &hub.endpoint, "--read-ahead-mb", &run.read_ahead_mb.to_string(), &file.path])
        .args(by.iter().flat_map(|by| ["--by", by.get_name()]))
        .env("HF_XET_TELEMETRY_ENABLED", "0")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start the reader")?;
    ensure!(output.status.success(), "the reader ended with {}", output.status);
    let line = String::from_utf8(output.stdout)?;
    let figures: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [took, first_byte, cpu, peak_mib] = figures[..] else { anyhow::bail!("no figures but {line:?}") };
    let reads = Reads {
        took: Duration::from_secs_f64(took),
        first_byte: Duration::from_secs_f64(first_byte),
        bytes: file.len,
        ..Reads::default()
    };
    Ok(Sample { reads, peak_mib: Some(peak_mib), cpu: Some(Duration::from_secs_f64(cpu)), ..Sample::default() })
}

/// Reads one file from start to end; prints seconds in all, to the first byte and of CPU, and the peak of memory in MiB.
pub(super) fn run(order: &Drive) -> Result<()> {
    let Drive { endpoint, path, read_ahead_mb, by } = order;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let net = NetConfig::new(Some(endpoint.as_str()), &|_| None)?;
    let spec = RepoSpec::parse(REPO, net.endpoint())?;
    let hub = Arc::new(AsSeen::new(net, None)?);
    let mut reader = ReaderConfig::default();
    reader.limits.budget_bytes = u64::from(*read_ahead_mb) << 20;
    let engine = Engine::new(EngineConfig::without_local(reader), runtime.handle().clone())?;
    let mount = runtime.block_on(engine.mount(&hub, spec))?;
    let mut node = NodeId::ROOT;
    for name in path.split('/') {
        node = runtime.block_on(mount.clone().lookup(node, name.into()))?.id;
    }
    let pid = std::process::id();
    let cpu_before = process::cpu(pid)?;
    let begun = Instant::now();
    let first_byte = match by {
        Some(by) => runtime.block_on(by.read(&hub, &mount, node, *read_ahead_mb, begun))?,
        None => read(&mount, node, begun)?,
    };
    let took = begun.elapsed();
    let cpu = process::cpu(pid)? - cpu_before;
    let seconds = |time: Duration| time.as_secs_f64();
    println!("{} {} {} {}", seconds(took), seconds(first_byte), seconds(cpu), process::peak_mib(pid)?);
    engine.shut_down();
    Ok(())
}

/// Each read after the one before it, by the reader; returns the time to the first bytes.
fn read(mount: &Mount, node: NodeId, begun: Instant) -> Result<Duration> {
    let handle = mount.open(node, Some(std::process::id()))?;
    let (told, heard) = mpsc::channel();
    let mut first_byte = None;
    let mut offset = 0;
    loop {
        let told = told.clone();
        mount.read(handle, offset, READ_BYTES, Box::new(move |data| drop(told.send(data))));
        let data = heard.recv()??;
        if data.is_empty() {
            return first_byte.context("an empty file");
        }
        first_byte.get_or_insert_with(|| begun.elapsed());
        offset += data.len() as u64;
    }
}
