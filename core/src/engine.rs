//! Owns the network configuration, the reader and the mounts' ids of one process. Knows no file-system interface.

mod origin;

use self::origin::HubOrigin;
use crate::hub::Hub;
use crate::mount::Mount;
use crate::net::NetConfig;
use crate::reader::{Reader, ReaderConfig};
use crate::repo::RepoSpec;
use crate::token::Token;
use crate::transport::Transport;
use crate::tree::Tree;
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::runtime::Handle;
use weightless_plan::MountId;

/// What an engine is told once.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// How the network is reached.
    pub net: NetConfig,
    /// Who asks; `None` is anonymous.
    pub token: Option<Token>,
    /// Memory and patience of the reader.
    pub reader: ReaderConfig,
}

/// Hub, reader and mounts of one process.
#[derive(Debug)]
pub struct Engine {
    hub: Arc<Hub>,
    reader: Arc<Reader>,
    runtime: Handle,
    mount_next: AtomicU32,
}

impl Engine {
    /// Starts the reader on `runtime`; asks nothing of the network.
    ///
    /// # Errors
    /// A configuration that contradicts itself.
    pub fn new(config: EngineConfig, runtime: Handle) -> Result<Self> {
        let hub = Arc::new(Hub::new(config.net, config.token)?);
        let origin = Arc::new(HubOrigin(hub.clone()));
        let transport = Arc::new(Transport::new(hub.config().client_builder(), origin)?);
        let reader = Reader::new(config.reader, transport, runtime.clone())
            .map_err(|error| Error::new(ErrorKind::InvalidInput, "the memory budget").because(error))?;
        Ok(Engine { hub, reader: Arc::new(reader), runtime, mount_next: AtomicU32::new(0) })
    }

    /// The Hub, for questions that need no mount.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The reader's account.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Resolves a revision and loads the root folder: two requests for a small repo, one more if it is gated.
    ///
    /// # Errors
    /// What the Hub says of the repo, the revision or the folder.
    pub async fn mount(&self, spec: RepoSpec) -> Result<Arc<Mount>> {
        let revision = spec.revision.unwrap_or_else(|| "main".to_owned());
        let commit = self.hub.commit(&spec.repo, &revision).await?;
        // A gated repo shows its names to everybody; whoever may not read it learns so now and not file by file.
        self.hub.check_access(&commit).await?;
        let tree = Tree::open(self.hub.clone(), commit.repo.clone(), commit.sha.clone(), spec.path.as_deref()).await?;
        let id = MountId(self.mount_next.fetch_add(1, Ordering::Relaxed));
        Ok(Mount::new(id, commit, revision, tree, self.reader.clone(), self.runtime.clone()))
    }

    /// Fails what waits; called last.
    pub fn shut_down(&self) {
        self.reader.shut_down();
    }
}
