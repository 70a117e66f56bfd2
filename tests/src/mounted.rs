//! A Hub with one repo, mounted in this process: the whole path but the command line. Ends in the right order, also when a
//! test fails.

use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weightless_core::engine::{Engine, EngineConfig};
use weightless_core::hub::Hub;
use weightless_core::mount::Mount;
use weightless_core::net::NetConfig;
use weightless_core::reader::ReaderConfig;
use weightless_core::repo::RepoSpec;
use weightless_hub_sim::{HubSim, RepoDef};
use weightless_platform::mounts::MountSource;
use weightless_platform::{MountOptions, OsMount};

/// The id of the repo that tests mount.
pub const REPO: &str = "org/folder";

/// A Hub with one repo, mounted at `at`. Fields are dropped in their order: the mount before what serves it.
pub struct Mounted {
    /// The mount.
    pub mount: OsMount<Mount>,
    /// What it is of.
    pub engine: Engine,
    /// The Hub that it comes from, as nobody in particular sees it.
    pub seen: Arc<Hub>,
    /// That Hub.
    pub hub: HubSim,
    /// Where all of it runs.
    pub runtime: Runtime,
    /// The mount point.
    pub at: PathBuf,
    _folder: TempDir,
}

impl Mounted {
    /// Serves `repo`, which must be called [`REPO`], and mounts it at an empty folder.
    pub fn new(repo: RepoDef) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let hub = runtime.block_on(HubSim::builder().repo(repo).start()).expect("a Hub");
        let net = NetConfig::new(Some(hub.endpoint()), &|_| None).expect("an endpoint");
        let spec = RepoSpec::parse(REPO, net.endpoint()).expect("a repo's name");
        let seen = Arc::new(Hub::new(net, None).expect("a client"));
        let config = EngineConfig { reader: ReaderConfig::default() };
        let engine = Engine::new(config, runtime.handle().clone()).expect("an engine");
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("its path");
        let repo = runtime.block_on(engine.mount(&seen, spec)).expect("the repo is there");
        let source = MountSource::of(&repo);
        let mount = OsMount::start(repo, &source, &at, &MountOptions::default()).expect("it mounts");
        assert_eq!((mount.at(), mount.cleared()), (at.as_path(), 0));
        Mounted { mount, engine, seen, hub, runtime, at, _folder: folder }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.mount.unmount_lazily());
        self.engine.shut_down();
    }
}
