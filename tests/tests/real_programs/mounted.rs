//! A repo in three places: as a local folder, on a Hub on loopback, and mounted from there by the real binary.

use std::ffi::OsStr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use weightless_hub_sim::{HubSim, RepoDef};

const REPO: &str = "org/programs";

/// Unmounts and removes everything when dropped, also after a failed assertion.
pub(crate) struct Mounted {
    home: tempfile::TempDir,
    mount: PathBuf,
    copy: PathBuf,
    hub: HubSim,
    /// The Hub lives on it.
    _runtime: tokio::runtime::Runtime,
}

impl Mounted {
    /// Mounts a repo of what `fill` writes into the local folder.
    pub(crate) fn of(fill: impl FnOnce(&Path) -> io::Result<()>) -> Self {
        let home = tempfile::Builder::new().prefix("wl-programs-").tempdir().expect("a home");
        let copy = home.path().join("copy");
        fs::create_dir(&copy).expect("the local folder");
        fs::DirBuilder::new().mode(0o700).create(home.path().join("run")).expect("the runtime folder");
        fill(&copy).expect("the local folder is filled");
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let repo = RepoDef::model(REPO).dir(&copy).expect("the repo");
        let hub = runtime.block_on(HubSim::builder().repo(repo).start()).expect("the Hub");
        let mounted = Mounted { mount: home.path().join("mount"), copy, hub, home, _runtime: runtime };
        run(mounted.weightless(["mount", REPO]).arg(&mounted.mount));
        mounted
    }

    pub(crate) fn mount(&self) -> &Path {
        &self.mount
    }

    pub(crate) fn copy(&self) -> &Path {
        &self.copy
    }

    /// A further path in the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn weightless<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(binary());
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("XDG_RUNTIME_DIR", self.home.path().join("run"))
            .env("HF_ENDPOINT", self.hub.endpoint());
        command
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.weightless(["unmount", "--all", "--lazy"]).status();
        // No mount is left when the binary has done its work, and then this complains.
        let _ = Command::new("fusermount3").args(["-u", "-z"]).arg(&self.mount).stderr(Stdio::null()).status();
    }
}

/// The binary beside this test's own: cargo names it only to the tests of its own crate.
fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let binary = test.ancestors().nth(2).expect("target/PROFILE/deps").join("weightless");
    assert!(binary.exists(), "{} is not built: `cargo build -p weightless-cli`", binary.display());
    binary
}

/// Runs a command that must succeed and gives what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
