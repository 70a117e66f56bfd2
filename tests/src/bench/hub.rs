//! The Hub under the benchmarks, in a process of its own. Never decides what is read.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;
use weightless_hub_sim::net::{Link, Network, Profile, Remote, Sharing, Snapshot};
use weightless_hub_sim::{HubSim, RepoDef};

use super::pattern::Pattern;

/// The repo that holds the files.
pub(super) const REPO: &str = "bench/files";

pub(super) struct Hub {
    pub(super) endpoint: String,
    pub(super) link: Link,
    remote: Remote,
    runtime: Runtime,
    child: Option<Child>,
}

impl Hub {
    /// Starts this program again as a Hub with the files of `pattern`.
    pub(super) fn start(profile: Profile, fifo: bool, pattern: Pattern) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", "--profile", profile.name(), &pattern.name()])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the Hub")?;
        let mut endpoint = String::new();
        BufReader::new(child.stdout.take().context("the Hub has no output")?).read_line(&mut endpoint)?;
        let mut hub = Self::attach(endpoint.trim())?;
        hub.child = Some(child);
        if fifo {
            hub.link = hub.link.sharing(Sharing::FirstInFirstOut);
            hub.runtime.block_on(hub.remote.set_link(&hub.link))?;
        }
        Ok(hub)
    }

    /// A Hub that runs already.
    pub(super) fn attach(endpoint: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let remote = Remote::new(endpoint)?;
        let link = runtime.block_on(remote.link()).with_context(|| format!("{endpoint} does not answer"))?;
        Ok(Self { endpoint: endpoint.to_owned(), link, remote, runtime, child: None })
    }

    pub(super) fn reset_counters(&self) -> Result<()> {
        Ok(self.runtime.block_on(self.remote.reset())?)
    }

    pub(super) fn counters(&self) -> Result<Snapshot> {
        Ok(self.runtime.block_on(self.remote.counters())?)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Fails only where it has ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Serves until this process is ended.
pub(super) fn serve(profile: Profile, port: u16, patterns: &[Pattern]) -> Result<()> {
    let patterns = if patterns.is_empty() { &Pattern::ALL } else { patterns };
    let mut files: Vec<_> = patterns.iter().flat_map(|pattern| pattern.files()).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    let repo = files.into_iter().fold(RepoDef::model(REPO), |repo, file| {
        let content = file.content();
        repo.file(file.path, content)
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let network = Network::with_link(profile.link());
        let sim = HubSim::builder().network(network).port(port).repo(repo).start().await?;
        println!("{}", sim.endpoint());
        std::future::pending::<()>().await;
        Ok(())
    })
}
