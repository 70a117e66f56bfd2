//! The reader without a mount, in a process of its own: what reading costs before a file system is in the way.

use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use weightless_core::engine::{Engine, EngineConfig};
use weightless_core::hub::Hub as AsSeen;
use weightless_core::net::NetConfig;
use weightless_core::reader::ReaderConfig;
use weightless_core::repo::RepoSpec;
use weightless_core::tree::NodeId;

use super::args::Run;
use super::hub::{Hub, REPO};
use super::pattern::Pattern;
use super::process;
use super::sample::{Reads, Sample};

/// The kernel's largest unprivileged read.
const READ_BYTES: u32 = 128 << 10;

/// Starts this program again as [`run`] and takes its figures.
pub(super) fn measure(hub: &Hub, run: &Run, pattern: Pattern) -> Result<Sample> {
    let file = pattern.files().remove(0);
    let output = Command::new(std::env::current_exe()?)
        .args(["drive", "--endpoint", &hub.endpoint, "--read-ahead-mb", &run.read_ahead_mb.to_string(), &file.path])
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

/// Reads one file from start to end, each read after the one before it; prints seconds in all, to the first byte and of CPU, and
/// the peak of memory in MiB.
pub(super) fn run(endpoint: &str, path: &str, read_ahead_mb: u32) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let net = NetConfig::new(Some(endpoint), &|_| None)?;
    let spec = RepoSpec::parse(REPO, net.endpoint())?;
    let hub = Arc::new(AsSeen::new(net, None)?);
    let mut reader = ReaderConfig::default();
    reader.limits.budget_bytes = u64::from(read_ahead_mb) << 20;
    let engine = Engine::new(EngineConfig { reader }, runtime.handle().clone())?;
    let mount = runtime.block_on(engine.mount(&hub, spec))?;
    let mut node = NodeId::ROOT;
    for name in path.split('/') {
        node = runtime.block_on(mount.clone().lookup(node, name.into()))?.id;
    }
    let pid = std::process::id();
    let cpu_before = process::cpu(pid)?;
    let begun = Instant::now();
    let handle = mount.open(node, Some(pid))?;
    let (told, heard) = mpsc::channel();
    let mut first_byte = None;
    let mut offset = 0;
    loop {
        let told = told.clone();
        mount.read(handle, offset, READ_BYTES, Box::new(move |data| drop(told.send(data))));
        let data = heard.recv()??;
        if data.is_empty() {
            break;
        }
        first_byte.get_or_insert_with(|| begun.elapsed());
        offset += data.len() as u64;
    }
    let took = begun.elapsed();
    let cpu = process::cpu(pid)? - cpu_before;
    let seconds = |time: Duration| time.as_secs_f64();
    println!("{} {} {} {}", seconds(took), seconds(first_byte.unwrap_or(took)), seconds(cpu), process::peak_mib(pid)?);
    engine.shut_down();
    Ok(())
}
