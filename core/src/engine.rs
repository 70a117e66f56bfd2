//! Owns what all mounts of a process share: the reader with its memory, the transport, the ids. Each mount brings its Hub: an
//! endpoint and who asks there. Knows no file-system interface.

mod maker;
mod origin;
#[cfg(test)]
mod tests;

pub(crate) use self::maker::Maker;
use crate::folder::{FolderConfig, HubFolder};
use crate::hub::Hub;
use crate::mount::Mount;
use crate::reader::{Reader, ReaderConfig};
use crate::repo::RepoSpec;
use crate::store::{HubCache, LocalFetcher, LocalStats, Store, StoreConfig};
use crate::token::Token;
use crate::transport::{Statistics, Transport};
use crate::tree::{NodeId, Tree};
use crate::{Error, ErrorKind, Result};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How long the system may take to forget the names of a mount that moves.
const FORGET_MS: u64 = 2_000;

/// At the end the store is waited for so long: what it has not written by then is fetched again some day.
const STORE_END: Duration = Duration::from_secs(2);

/// What an engine is told once.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Memory and patience of the reader.
    pub reader: ReaderConfig,
    /// What was read once is kept here; without it nothing is.
    pub store: Option<StoreConfig>,
    /// Files that are there already are read there; without it none is.
    pub hub_cache: Option<HubCache>,
    /// How many connections carry content at once, where the user says so; see [`connections_max`](crate::transport::connections_max).
    pub connections_max: Option<NonZeroUsize>,
}

impl EngineConfig {
    /// One that neither keeps nor finds anything on this device.
    pub fn without_local(reader: ReaderConfig) -> Self {
        EngineConfig { reader, store: None, hub_cache: None, connections_max: None }
    }
}

/// What all mounts of an engine do, as of now.
#[derive(Debug, Clone)]
pub struct EngineStats {
    /// Memory that the reader may use.
    pub budget_bytes: u64,
    /// The reader: what memory is used for, reads and how many of them memory answered, fetches in flight, attempts after a
    /// failed one, what the link was seen to carry.
    pub reader: weightless_plan::Stats,
    /// Requests and bytes by what they were for: the two ways to content, and what had to be asked before.
    pub asked: Statistics,
    /// Bytes of content off the network.
    pub wire_bytes: u64,
    /// What came from this device, and what is kept there.
    pub local: LocalStats,
}

/// Reader, transport and mounts of one process.
#[derive(Debug)]
pub struct Engine {
    transport: Transport,
    store: Option<Arc<Store>>,
    local: Arc<LocalFetcher>,
    maker: Maker,
}

impl Engine {
    /// Starts the reader on `runtime`; asks nothing of the network.
    ///
    /// # Errors
    /// A configuration that contradicts itself.
    pub fn new(config: EngineConfig, runtime: Handle) -> Result<Self> {
        let transport = Transport::new(config.connections_max);
        let store = config.store.map(|config| Arc::new(Store::open(config)));
        let local = Arc::new(LocalFetcher::new(store.clone(), config.hub_cache, Arc::new(transport.clone())));
        let reader = Reader::new(config.reader, local.clone(), runtime.clone()).map_err(|error| {
            Error::new(ErrorKind::InvalidInput, "the memory budget").saying(error.to_string()).because(error)
        })?;
        Ok(Engine { transport, store, local, maker: Maker::new(Arc::new(reader), runtime) })
    }

    /// What all mounts together do.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] after a bug in the reader.
    pub fn stats(&self) -> Result<EngineStats> {
        let budget_bytes = self.reader().limits()?.budget_bytes;
        Ok(EngineStats {
            budget_bytes,
            reader: self.reader().stats()?,
            asked: self.transport.statistics(),
            wire_bytes: self.reader().wire_bytes(),
            local: self.local.stats(),
        })
    }

    /// The local store, if there is one.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref()
    }

    /// What came from this device, and what is kept there.
    pub fn local(&self) -> LocalStats {
        self.local.stats()
    }

    /// The reader's account.
    pub fn reader(&self) -> &Reader {
        &self.maker.reader
    }

    /// Resolves a revision of a repo of `hub` and loads the root folder: two requests for a small repo, one more if it is gated.
    /// Mounts of one endpoint and account are given the same `hub`: they share connections, tokens and content.
    ///
    /// # Errors
    /// What the Hub says of the repo, the revision or the folder.
    pub async fn mount(&self, hub: &Arc<Hub>, spec: RepoSpec) -> Result<Arc<Mount>> {
        let revision = spec.revision.unwrap_or_else(|| "main".to_owned());
        let commit = hub.commit(&spec.repo, &revision).await?;
        // A gated repo shows its names to everybody; whoever may not read it learns so now and not file by file.
        hub.check_access(&commit).await?;
        self.maker.show(hub, commit, revision, spec.path.as_deref(), NodeId::ROOT).await
    }

    /// Moves a mount to the commit that its revision stands for now, or its folder at `path` of that: new opens and look-ups see it
    /// at once and as a whole. `false` if that is the commit which is shown.
    ///
    /// # Errors
    /// What the Hub says of the repo, the revision or the folder; the mount then shows what it did.
    pub async fn update(&self, hub: &Arc<Hub>, mount: &Mount, path: Option<&str>) -> Result<bool> {
        let _moving = mount.to_move().await;
        let Some(root) = mount.next_root() else {
            return Err(Error::new(ErrorKind::InvalidInput, mount.repo().to_string())
                .saying("a repo of the Hub folder moves by itself once nobody has used it for a while")
                .advise(""));
        };
        let commit = hub.commit(mount.repo(), mount.revision()).await?;
        if commit.sha == mount.commit() {
            return Ok(false);
        }
        hub.check_access(&commit).await?;
        let tree = Tree::open(hub.clone(), commit.repo.clone(), commit.sha.clone(), path, root).await?;
        let forgetting = mount.show(commit, tree);
        // A system that is busy holds nobody up: whoever opens by an old name is sent to look it up.
        let _ = tokio::time::timeout(Duration::from_millis(FORGET_MS), forgetting).await;
        Ok(true)
    }

    /// All of the Hub as one folder; asks nobody until somebody looks into it.
    pub fn folder(&self, config: FolderConfig) -> Arc<HubFolder> {
        HubFolder::new(self.maker.clone(), config)
    }

    /// Caps what content takes of the network, in bytes a second; `None` is no cap. Takes effect at once.
    pub fn set_bandwidth_cap(&self, bytes_per_s: Option<u64>) {
        self.transport.set_bandwidth_cap(bytes_per_s);
    }

    /// Changes who asks at `hub` while its mounts live: the next question goes with `token`, and what was answered to the old one
    /// (tokens for data, signed addresses) is dropped. Files that are open keep what they have read; files opened from now on
    /// get nothing that was fetched for the old account.
    pub fn set_token(&self, hub: &Hub, token: Option<Token>) {
        if let Some(ended) = hub.set_token(token) {
            self.transport.forget(ended);
        }
    }

    /// Fails what waits, and gives the store a moment for what it has not written yet; called last.
    pub fn shut_down(&self) {
        self.reader().shut_down();
        if let Some(store) = &self.store {
            store.flush(STORE_END);
        }
    }
}
