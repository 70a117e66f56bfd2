//! Makes mounts: what all of them share, and a number for each. Asks the Hub for nothing but a commit's tree.

use super::origin::HubOrigin;
use crate::Result;
use crate::hub::{Commit, Hub};
use crate::mount::Mount;
use crate::reader::Reader;
use crate::tree::{NodeId, Tree};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::runtime::Handle;
use weightless_plan::MountId;

/// The maker of an engine's mounts.
#[derive(Debug, Clone)]
pub(crate) struct Maker {
    pub(crate) reader: Arc<Reader>,
    pub(crate) runtime: Handle,
    next: Arc<AtomicU32>,
}

impl Maker {
    pub(super) fn new(reader: Arc<Reader>, runtime: Handle) -> Self {
        Maker { reader, runtime, next: Arc::default() }
    }

    /// Shows `commit`, or its folder at `path`, of a repo that the account of `hub` may read. Its root has the id `first`.
    pub(crate) async fn show(
        &self,
        hub: &Arc<Hub>,
        commit: Commit,
        revision: String,
        path: Option<&str>,
        first: NodeId,
    ) -> Result<Arc<Mount>> {
        let tree = Tree::open(hub.clone(), commit.repo.clone(), commit.sha.clone(), path, first).await?;
        let id = MountId(self.next.fetch_add(1, Ordering::Relaxed));
        let origin = Arc::new(HubOrigin(hub.clone()));
        Ok(Mount::new(id, commit, revision, tree, origin, self.reader.clone(), self.runtime.clone()))
    }
}
