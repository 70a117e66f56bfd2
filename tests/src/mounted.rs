//! A Hub with one repo, mounted in this process: the whole path but the command line. Ends in the right order, also when a
//! test fails.

use std::path::{Path, PathBuf};
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
    /// Serves `repo`, which must be called [`REPO`], and mounts it at an empty folder; nothing is kept.
    pub fn new(repo: RepoDef) -> Self {
        Self::with(repo, without_local())
    }

    /// The same, by an engine of this configuration.
    pub fn with(repo: RepoDef, config: EngineConfig) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let hub = runtime.block_on(HubSim::builder().repo(repo).start()).expect("a Hub");
        let net = NetConfig::new(Some(hub.endpoint()), &|_| None).expect("an endpoint");
        Self::seen(runtime, hub, Hub::new(net, None).expect("a client"), config)
    }

    /// Mounts [`REPO`] of a Hub that runs on `runtime`, as `seen`.
    pub fn seen(runtime: Runtime, hub: HubSim, seen: Hub, config: EngineConfig) -> Self {
        let seen = Arc::new(seen);
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("its path");
        let (engine, mount) = mount(&runtime, &seen, &at, config);
        Mounted { mount, engine, seen, hub, runtime, at, _folder: folder }
    }

    /// Mounts again, by another engine: neither it nor the kernel holds anything.
    pub fn again(&mut self, config: EngineConfig) {
        self.runtime.block_on(self.mount.unmount()).expect("nothing is open");
        self.engine.shut_down();
        (self.engine, self.mount) = mount(&self.runtime, &self.seen, &self.at, config);
    }
}

/// An engine that neither keeps nor finds anything on this device.
pub fn without_local() -> EngineConfig {
    EngineConfig::without_local(ReaderConfig::default())
}

fn mount(runtime: &Runtime, seen: &Arc<Hub>, at: &Path, config: EngineConfig) -> (Engine, OsMount<Mount>) {
    let spec = RepoSpec::parse(REPO, seen.config().endpoint()).expect("a repo's name");
    let engine = Engine::new(config, runtime.handle().clone()).expect("an engine");
    let repo = runtime.block_on(engine.mount(seen, spec)).expect("the repo is there");
    let source = MountSource::of(&repo);
    let mount = OsMount::start(repo, &source, at, &MountOptions::default()).expect("it mounts");
    assert_eq!((mount.at(), mount.cleared()), (at, 0));
    (engine, mount)
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.mount.unmount_lazily());
        self.engine.shut_down();
    }
}
