//! One fresh mount by the binary under test, with an empty store and home. Never reads a file of it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weightless_control::mounts::Status;
use weightless_control::{Client, Hello};

use super::args::Run;
use super::hub::{Hub, REPO};
use super::pattern::Pattern;

pub(super) struct Mount {
    child: Child,
    /// Home, store and mount point; removed at drop, after unmounting.
    dir: tempfile::TempDir,
}

const MOUNTED_WITHIN: Duration = Duration::from_secs(60);
const UNMOUNTED_WITHIN: Duration = Duration::from_secs(10);
/// Slower, and the look of that second is left out.
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);
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
        let child = Command::new(&binary)
            .arg("mount")
            .arg(REPO)
            .arg(&point)
            .args(["--foreground", "--endpoint", &hub.endpoint])
            .args(["--read-ahead-mb", &run.read_ahead_mb.to_string()])
            .args(["--event-loops", &run.event_loops.to_string()])
            .args(["--stall-timeout-ms", &stall_timeout_ms.to_string()])
            // Each pattern is about the network, and a round must not find what the one before has read.
            .args((!run.store).then_some("--no-store"))
            .env("HOME", dir.path())
            .env("HF_HOME", dir.path().join("hf"))
            .env("XDG_CACHE_HOME", dir.path().join("cache"))
            .env("XDG_STATE_HOME", dir.path().join("state"))
            .env("XDG_CONFIG_HOME", dir.path().join("config"))
            .env("XDG_RUNTIME_DIR", dir.path())
            .env_remove("HF_TOKEN")
            .env_remove("HF_HUB_CACHE")
            .env_remove("WEIGHTLESS_CACHE")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let mut mount = Self { child, dir };
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
        let sockets = self.dir.path().join("weightless");
        move || {
            let mut entries = std::fs::read_dir(&sockets).ok()?.flatten();
            let socket = entries.find(|entry| entry.path().extension().is_some_and(|extension| extension == "sock"))?;
            let mut client = Client::connect(&socket.path(), &Hello::new("bench"), ANSWERS_WITHIN).ok()?;
            Some(client.call(&Status {}).ok()?.engine.held_bytes as f64 / f64::from(1 << 20))
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

fn is_mounted(point: &Path) -> Result<bool> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    Ok(mounts.lines().any(|line| line.split(' ').nth(4).is_some_and(|at| Path::new(at) == point)))
}
