//! One fresh mount by the binary under test, with an empty store and home. Never reads a file of it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::args::Run;
use super::hub::{Hub, REPO};
use super::pattern::Pattern;

pub(super) struct Mount {
    child: Child,
    binary: PathBuf,
    /// Home, store and mount point; removed at drop, after unmounting.
    dir: tempfile::TempDir,
}

const MOUNTED_WITHIN: Duration = Duration::from_secs(60);
const UNMOUNTED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl Mount {
    pub(super) fn start(hub: &Hub, run: &Run, pattern: Pattern) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("weightless-bench-").tempdir()?;
        let point = dir.path().join("mount");
        std::fs::create_dir(&point)?;
        let binary = match &run.weightless {
            Some(binary) => binary.clone(),
            None => std::env::current_exe()?.with_file_name("weightless"),
        };
        let stall_timeout_ms = pattern.stall_timeout_ms().unwrap_or(run.stall_timeout_ms);
        let child = command(&binary, dir.path())
            .arg("mount")
            .arg(REPO)
            .arg(&point)
            .args(["--foreground", "--endpoint", &hub.endpoint])
            .args(["--read-ahead-mb", &run.read_ahead_mb.to_string()])
            .args(["--event-loops", &run.event_loops.to_string()])
            .args(["--stall-timeout-ms", &stall_timeout_ms.to_string()])
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let mut mount = Self { child, binary, dir };
        mount.wait()?;
        Ok(mount)
    }

    pub(super) fn point(&self) -> PathBuf {
        self.dir.path().join("mount")
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks the process what it holds for content, in MiB.
    pub(super) fn held_mib(&self) -> impl Fn() -> Option<f64> + Send + 'static {
        let (binary, dir) = (self.binary.clone(), self.dir.path().to_owned());
        move || {
            let output = command(&binary, &dir).args(["status", "--json"]).stdout(Stdio::piped()).output().ok()?;
            let status: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
            Some(find(&status, "held_bytes")?.as_f64()? / f64::from(1 << 20))
        }
    }

    fn wait(&mut self) -> Result<()> {
        let start = Instant::now();
        while !is_mounted(&self.point())? {
            if let Some(status) = self.child.try_wait()? {
                bail!("the mount ended with {status}");
            }
            if start.elapsed() > MOUNTED_WITHIN {
                bail!("not mounted after {} s", MOUNTED_WITHIN.as_secs());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmount = |arguments: &[&str]| {
            Command::new("fusermount3").args(arguments).arg(self.dir.path().join("mount")).status()
        };
        // Whatever fails here is made good by the next, harder way; the last one cannot fail for a child of ours.
        let _ = unmount(&["-q", "-u"]);
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > UNMOUNTED_WITHIN {
                eprintln!("the mount did not end within {} s of unmounting", UNMOUNTED_WITHIN.as_secs());
                let _ = unmount(&["-q", "-u", "-z"]);
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The binary in a home of its own.
fn command(binary: &Path, dir: &Path) -> Command {
    let mut command = Command::new(binary);
    command
        .env("HOME", dir)
        .env("HF_HOME", dir.join("hf"))
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("XDG_STATE_HOME", dir.join("state"))
        .env("XDG_CONFIG_HOME", dir.join("config"))
        .env("XDG_RUNTIME_DIR", dir)
        .env_remove("HF_TOKEN")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// The first field of that name, wherever it is: this reads one number and leaves the form of the answer alone.
fn find<'a>(value: &'a serde_json::Value, name: &str) -> Option<&'a serde_json::Value> {
    match value {
        serde_json::Value::Object(fields) => {
            fields.get(name).or_else(|| fields.values().find_map(|value| find(value, name)))
        }
        serde_json::Value::Array(values) => values.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

fn is_mounted(point: &Path) -> Result<bool> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    Ok(mounts.lines().any(|line| line.split(' ').nth(4).is_some_and(|at| Path::new(at) == point)))
}
