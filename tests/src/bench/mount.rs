//! One fresh mount by the binary under test, with an empty store and home. Never reads a file of it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::args::Run;
use super::hub::{Hub, REPO};

pub(super) struct Mount {
    child: Child,
    /// Home, store and mount point; removed at drop, after unmounting.
    dir: tempfile::TempDir,
}

const MOUNTED_WITHIN: Duration = Duration::from_secs(60);
const UNMOUNTED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl Mount {
    pub(super) fn start(hub: &Hub, run: &Run) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("weightless-bench-").tempdir()?;
        let point = dir.path().join("mount");
        std::fs::create_dir(&point)?;
        let binary = match &run.weightless {
            Some(binary) => binary.clone(),
            None => std::env::current_exe()?.with_file_name("weightless"),
        };
        let child = Command::new(&binary)
            .arg("mount")
            .arg(REPO)
            .arg(&point)
            .args(["--foreground", "--endpoint", &hub.endpoint])
            .args(["--read-ahead-mb", &run.read_ahead_mb.to_string()])
            .args(["--event-loops", &run.event_loops.to_string()])
            .args(["--stall-timeout-ms", &run.stall_timeout_ms.to_string()])
            .env("HOME", dir.path())
            .env("HF_HOME", dir.path().join("hf"))
            .env("XDG_CACHE_HOME", dir.path().join("cache"))
            .env("XDG_STATE_HOME", dir.path().join("state"))
            .env("XDG_CONFIG_HOME", dir.path().join("config"))
            .env("XDG_RUNTIME_DIR", dir.path())
            .env_remove("HF_TOKEN")
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
