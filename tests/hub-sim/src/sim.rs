//! Starts the three hosts and hands out what tests compare with.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::api::{OWNER_TOKEN, READER_TOKEN};
use crate::hub::{Addresses, Hub, Lifetimes};
use crate::net::{Network, Site};
use crate::repo::{Change, RepoDef, RepoKind, Storage, Stored};
use crate::xet::XetStore;
use crate::{Content, api, cas, data};

/// Xorbs above this sum lie in files: a few benchmark files fit, a CI machine's memory is spared.
const XORB_MEMORY_BYTES_MAX: u64 = 512 << 20;
/// As long as the Hub signs addresses for.
const SIGNED_URL_LIFETIME: Duration = Duration::from_secs(3_600);
/// About what the Hub gives.
const XET_TOKEN_LIFETIME: Duration = Duration::from_secs(900);

/// Collects what to serve.
pub struct HubSimBuilder {
    repos: Vec<RepoDef>,
    port: u16,
    lifetimes: Lifetimes,
    network: Network,
    announced: Option<Addresses>,
}

/// A running Hub. Dropping it closes the listeners and removes what it stored.
pub struct HubSim {
    hub: Arc<Hub>,
    network: Network,
    bound: [SocketAddr; Site::ALL.len()],
    serving: Vec<AbortHandle>,
    /// Removed at drop.
    _dir: tempfile::TempDir,
}

/// What a repo file is, for comparing.
#[derive(Debug, Clone)]
pub struct FileFacts {
    /// The bytes, unless the file was uploaded through Xet.
    pub content: Option<Content>,
    /// Length in bytes.
    pub size: u64,
    /// The git blob's id.
    pub oid: String,
    /// The SHA-256 of a file in LFS or Xet.
    pub sha256: Option<String>,
    /// The Xet hash of a file in Xet.
    pub xet_hash: Option<String>,
}

impl HubSimBuilder {
    /// Serves this repo too.
    pub fn repo(mut self, repo: RepoDef) -> Self {
        self.repos.push(repo);
        self
    }

    /// Serves these repos too.
    pub fn repos(mut self, repos: impl IntoIterator<Item = RepoDef>) -> Self {
        self.repos.extend(repos);
        self
    }

    /// The Hub's port; by default any free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The network to serve over; by default one as fast as the machine and without faults.
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Names the hosts by these addresses, without a slash at the end, rather than by where they listen: for a gateway in front
    /// of them.
    pub fn announced(mut self, hub: &str, cas: &str, data: &str) -> Self {
        self.announced = Some(Addresses { hub: hub.to_owned(), cas: cas.to_owned(), data: data.to_owned() });
        self
    }

    /// How long signed addresses are valid, in whole seconds.
    pub fn signed_url_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetimes.signed_url = lifetime;
        self
    }

    /// How long Xet tokens are valid, in whole seconds.
    pub fn xet_token_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetimes.xet_token = lifetime;
        self
    }

    /// Stores all contents and listens. Needs a Tokio runtime; what is served runs on it.
    pub async fn start(self) -> io::Result<HubSim> {
        let dir = tempfile::Builder::new().prefix("hub-sim-").tempdir()?;
        let hub_listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await?;
        let cas_listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        // Another host than the Hub's: clients must not take its redirects for the Hub's own.
        let data_listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).await?;
        let bound = [hub_listener.local_addr()?, cas_listener.local_addr()?, data_listener.local_addr()?];
        let [hub, cas, data] = bound.map(|address| format!("http://{address}"));
        let addresses = self.announced.unwrap_or(Addresses { hub, cas, data });
        let store = Arc::new(XetStore::new(dir.path().to_path_buf(), XORB_MEMORY_BYTES_MAX));
        let hub = Arc::new(Hub::new(addresses, store, self.lifetimes));
        let filled = hub.clone();
        let (repos, network) = (self.repos, self.network);
        tokio::task::spawn_blocking(move || fill(&filled, repos)).await.map_err(io::Error::other)??;
        let serving = vec![
            serve(&network, hub_listener, Site::Hub, api::router(hub.clone())),
            serve(&network, cas_listener, Site::Cas, cas::router(hub.clone())),
            serve(&network, data_listener, Site::Data, data::router(hub.clone())),
        ];
        Ok(HubSim { hub, network, bound, serving, _dir: dir })
    }
}

fn fill(hub: &Hub, repos: Vec<RepoDef>) -> io::Result<()> {
    for def in repos {
        let (repo, former_ids) = def.build(&hub.preparer)?;
        hub.put(repo, former_ids);
    }
    Ok(())
}

fn serve(network: &Network, listener: TcpListener, site: Site, router: axum::Router) -> AbortHandle {
    let network = network.clone();
    let task = tokio::spawn(async move {
        if let Err(error) = network.serve(listener, site, router).await {
            tracing::error!(%error, ?site, "a host of the simulator stopped");
        }
    });
    task.abort_handle()
}

impl HubSim {
    /// A Hub without repos, to be filled.
    pub fn builder() -> HubSimBuilder {
        let lifetimes = Lifetimes { signed_url: SIGNED_URL_LIFETIME, xet_token: XET_TOKEN_LIFETIME };
        HubSimBuilder { repos: Vec::new(), port: 0, lifetimes, network: Network::new(), announced: None }
    }

    /// The Hub's address, for `HF_ENDPOINT`: no slash at the end.
    pub fn endpoint(&self) -> &str {
        &self.hub.addresses.hub
    }

    /// The network in front of the three hosts: its link, its faults, its counters.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Where a host listens.
    pub fn bound(&self, site: Site) -> SocketAddr {
        self.bound[site as usize]
    }

    /// The Xet service's address.
    pub fn cas_endpoint(&self) -> &str {
        &self.hub.addresses.cas
    }

    /// The data host's address.
    pub fn data_endpoint(&self) -> &str {
        &self.hub.addresses.data
    }

    /// The token of an account that sees and may write everything.
    pub fn owner_token(&self) -> &'static str {
        OWNER_TOKEN
    }

    /// The token of an account that sees public repos and has accepted no licence.
    pub fn reader_token(&self) -> &'static str {
        READER_TOKEN
    }

    /// Adds a repo or replaces it while serving. Blocks while contents are stored.
    pub fn put_repo(&self, def: RepoDef) -> io::Result<()> {
        fill(&self.hub, vec![def])
    }

    /// Takes a repo away; says whether there was one.
    pub fn remove_repo(&self, kind: RepoKind, id: &str) -> bool {
        self.hub.remove(kind, id)
    }

    /// Starts a commit on a branch of a repo that is being served.
    pub fn push(&self, kind: RepoKind, id: impl Into<String>, branch: impl Into<String>) -> Push<'_> {
        Push { sim: self, kind, id: id.into(), branch: branch.into(), changes: Vec::new() }
    }

    /// The commit id that a revision names.
    pub fn commit_sha(&self, kind: RepoKind, id: &str, revision: &str) -> Option<String> {
        let repo = self.hub.repo(kind, id)?;
        Some(repo.commits[repo.resolve(revision)?].sha.clone())
    }

    /// A file of a revision.
    pub fn file(&self, kind: RepoKind, id: &str, revision: &str, path: &str) -> Option<FileFacts> {
        let repo = self.hub.repo(kind, id)?;
        let entry = repo.commits[repo.resolve(revision)?].tree.files.get(path)?.clone();
        let (content, sha256, xet_hash) = match &entry.stored {
            Stored::Git(content) => (Some(content.clone()), None, None),
            Stored::Lfs { sha256, content } => (Some(content.clone()), Some(sha256.clone()), None),
            Stored::Xet { sha256, file, content } => (content.clone(), Some(sha256.clone()), Some(file.hash.hex())),
        };
        Some(FileFacts { content, size: entry.size, oid: entry.oid.clone(), sha256, xet_hash })
    }

    /// The paths of all files of a revision, sorted.
    pub fn paths(&self, kind: RepoKind, id: &str, revision: &str) -> Option<Vec<String>> {
        let repo = self.hub.repo(kind, id)?;
        Some(repo.commits[repo.resolve(revision)?].tree.files.keys().cloned().collect())
    }

    /// From now on, how long newly signed addresses are valid; zero makes them expired at once.
    pub fn set_signed_url_lifetime(&self, lifetime: Duration) {
        self.hub.set_lifetimes(|lifetimes| lifetimes.signed_url = lifetime);
    }

    /// From now on, how long new Xet tokens are valid; zero makes them expired at once.
    pub fn set_xet_token_lifetime(&self, lifetime: Duration) {
        self.hub.set_lifetimes(|lifetimes| lifetimes.xet_token = lifetime);
    }
}

impl fmt::Debug for HubSim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubSim").field("endpoint", &self.endpoint()).finish_non_exhaustive()
    }
}

impl Drop for HubSim {
    fn drop(&mut self) {
        for task in &self.serving {
            task.abort();
        }
    }
}

/// A commit in the making, on a repo that is being served.
#[derive(Debug)]
#[must_use = "nothing changes before `commit`"]
pub struct Push<'a> {
    sim: &'a HubSim,
    kind: RepoKind,
    id: String,
    branch: String,
    changes: Vec<Change>,
}

impl Push<'_> {
    /// Puts a file, kept as the Hub decides.
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Content>) -> Self {
        self.changes.push(Change::Put { path: path.into(), content: content.into(), storage: None });
        self
    }

    /// Puts a file and says how it is kept.
    pub fn file_as(mut self, path: impl Into<String>, content: impl Into<Content>, storage: Storage) -> Self {
        self.changes.push(Change::Put { path: path.into(), content: content.into(), storage: Some(storage) });
        self
    }

    /// Removes a file or a whole folder.
    pub fn remove(mut self, path: impl Into<String>) -> Self {
        self.changes.push(Change::Remove { path: path.into() });
        self
    }

    /// Commits, and gives the new commit's id. Blocks while contents are stored.
    pub fn commit(self, title: impl Into<String>) -> io::Result<String> {
        let title = title.into();
        let hub = &self.sim.hub;
        hub.update(self.kind, &self.id, |repo| {
            repo.commit_changes(&self.branch, title, String::new(), "sim", &self.changes, &hub.preparer)
        })
    }
}
