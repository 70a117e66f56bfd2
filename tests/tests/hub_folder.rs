//! The Hub folder, mounted: every repo is there under its name, looking around asks nobody, and what is not used is let go of
//! without anybody noticing.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weightless_core::engine::{Engine, EngineConfig};
use weightless_core::folder::{FolderConfig, FolderEvent, HubFolder, Recent};
use weightless_core::hub::Hub;
use weightless_core::net::NetConfig;
use weightless_core::reader::ReaderConfig;
use weightless_hub_sim::{Content, HubSim, RepoDef, RepoKind};
use weightless_platform::mounts::MountSource;
use weightless_platform::{MountOptions, OsMount};

const IDLE: Duration = Duration::from_secs(600);
const WEIGHTS_BYTES: u64 = 3_000_000;
/// Bounds waits for the kernel, so that a broken folder fails its test instead of holding the run.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Hub as a folder of this system. Fields are dropped in their order: the mount before what serves it.
struct World {
    mount: OsMount<HubFolder>,
    engine: Engine,
    hub: HubSim,
    runtime: Runtime,
    told: Arc<Mutex<Vec<String>>>,
    at: PathBuf,
    _folder: TempDir,
}

impl World {
    fn new(recent: &[&str]) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let hub = runtime.block_on(HubSim::builder().repos(repos()).start()).expect("a Hub");
        let net = NetConfig::new(Some(hub.endpoint()), &|_| None).expect("an endpoint");
        let seen = Arc::new(Hub::new(net, None).expect("a client"));
        let config = EngineConfig::without_local(ReaderConfig::default());
        let engine = Engine::new(config, runtime.handle().clone()).expect("an engine");
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        let recent = recent.iter().map(|path| Recent { path: (*path).into(), modified: std::time::UNIX_EPOCH });
        let volume = engine.folder(FolderConfig {
            recent: recent.collect(),
            idle: IDLE,
            ..FolderConfig::new(
                Box::new(move || Box::pin(std::future::ready(Ok(seen.clone())))),
                Box::new(move |event| {
                    tell.lock().expect("no panic").push(match event {
                        FolderEvent::InUse { path, .. } => format!("+{path}"),
                        FolderEvent::LetGo { path } => format!("-{path}"),
                        FolderEvent::Problem(problem) => format!("!{}", problem.path),
                    });
                }),
            )
        });
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("its path");
        let mount = OsMount::start(volume, &MountSource::HubFolder, &at, &MountOptions::default()).expect("it mounts");
        World { mount, engine, hub, runtime, told, at, _folder: folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.at.join(path)
    }

    /// Requests since the last call.
    fn requests(&self) -> u64 {
        let counters = self.hub.network().counters();
        let count = counters.snapshot().requests_in_all();
        counters.reset();
        count
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().expect("no panic"))
    }

    /// Nobody has used anything for a while.
    fn sweep(&self) {
        self.mount.volume().sweep(tokio::time::Instant::now() + IDLE);
    }

    fn knows(&self, inode: u64) -> bool {
        use weightless_core::volume::Volume;
        self.mount.volume().node(weightless_core::tree::NodeId(inode)).is_some()
    }

    #[track_caller]
    fn until(&self, is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < PATIENCE, "it never came to be so");
            std::thread::yield_now();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.runtime.block_on(self.mount.unmount_lazily());
        self.engine.shut_down();
    }
}

fn weights() -> Content {
    Content::random(7, WEIGHTS_BYTES)
}

fn repos() -> Vec<RepoDef> {
    vec![
        RepoDef::model("org/model")
            .file("config.json", Content::text("{\"v\": 1}"))
            .file("model.safetensors", weights())
            .tag("v1")
            .file("config.json", Content::text("{\"v\": 2}")),
        RepoDef::model("org/gated").gated().file("config.json", Content::text("{}")),
        RepoDef::model("org/private").private().file("config.json", Content::text("{}")),
        RepoDef::dataset("org/data").file("train.csv", Content::text("a,b\n")),
        RepoDef::space("org/app").file("app.py", Content::text("print()\n")),
    ]
}

fn names(at: &Path) -> BTreeSet<String> {
    fs::read_dir(at)
        .expect("it lists")
        .map(|entry| entry.expect("an entry").file_name().into_string().unwrap())
        .collect()
}

/// Loads a model as a library does that is given a folder: what is there, the configuration, the weights.
fn load(at: &Path) -> (String, Vec<u8>) {
    assert!(fs::metadata(at).expect("it is there").is_dir());
    assert!(!at.join("adapter_config.json").exists());
    let config = fs::read_to_string(at.join("config.json")).expect("a configuration");
    let file = File::open(at.join("model.safetensors")).expect("weights");
    let mut bytes = vec![0; file.metadata().expect("a size").len() as usize];
    file.read_exact_at(&mut bytes, 0).expect("all of it");
    (config, bytes)
}

#[test]
fn programs_load_a_model_by_its_name_and_two_revisions_side_by_side() {
    let world = World::new(&[]);
    let expected = weights().to_bytes().expect("bytes");
    for (path, config) in
        [("org/model", "{\"v\": 2}"), ("org/model@v1", "{\"v\": 1}"), ("org/model@main", "{\"v\": 2}")]
    {
        let (found, bytes) = load(&world.at(path));
        assert_eq!(found, config, "{path}");
        assert!(bytes == expected, "{path} differs");
    }
    assert_eq!(fs::read_to_string(world.at("datasets/org/data/train.csv")).unwrap(), "a,b\n");
    assert_eq!(fs::read_to_string(world.at("spaces/org/app/app.py")).unwrap(), "print()\n");
    assert_eq!(names(&world.at("org")), ["model", "model@main", "model@v1"].map(String::from).into());
    let modified = fs::metadata(world.at("org/model")).unwrap().modified().unwrap();
    assert!(modified > std::time::UNIX_EPOCH);
    // A name is the folder that it was: the same node under either spelling of its way.
    let inode = |path: &str| fs::metadata(world.at(path)).unwrap().ino();
    assert_eq!(inode("org/model/."), inode("org/model/../../org/model"));
    assert_ne!(inode("org/model"), inode("org/model@main"));
}

#[test]
fn looking_around_asks_nobody() {
    let world = World::new(&["org/model", "org/model@v1", "datasets/far/away", "spaces/org/app"]);
    let find = |depth: &str| {
        let said = Command::new("find").arg(&world.at).args(["-maxdepth", depth, "-ls"]).output().expect("find runs");
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stdout).unwrap().lines().count()
    };
    assert_eq!(names(&world.at), ["datasets", "org", "spaces"].map(String::from).into());
    // The root; three in it; model, model@v1, far, and the account of the Space.
    assert_eq!(find("2"), 8);
    // As a shell completes, and a file manager counts.
    for folder in ["", "org", "datasets", "datasets/far", "spaces", "spaces/org"] {
        for name in names(&world.at(folder)) {
            let at = world.at(folder).join(name);
            assert!(fs::symlink_metadata(&at).unwrap().is_dir() && at.exists());
        }
    }
    assert!(Command::new("ls").arg("-la").arg(&world.at).stdout(Stdio::null()).status().unwrap().success());
    for folder in ["", "org", "datasets", "datasets/far"] {
        for name in [
            ".git",
            ".DS_Store",
            "desktop.ini",
            "autorun.inf",
            ".hidden",
            "Thumbs.db",
            "a b",
            "x:y",
            "é",
            ".Trash-1000",
        ] {
            let error = fs::metadata(world.at(folder).join(name)).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{folder}/{name}");
        }
    }
    assert!(!world.at("pyproject.toml").exists());
    assert_eq!(world.requests(), 0);
    assert_eq!(world.told(), [""; 0]);
    assert!(fs::create_dir(world.at("mine")).is_err() && File::create(world.at("org/mine")).is_err());
}

#[test]
fn a_name_that_leads_nowhere_costs_one_request_and_says_why() {
    let world = World::new(&["org/model"]);
    for (path, expected, cost) in [
        ("org/absent", rustix::io::Errno::NOENT, 1),
        ("org/model@absent", rustix::io::Errno::NOENT, 1),
        ("org/private", rustix::io::Errno::NOENT, 1),
        // One for the commit, which everybody may see, and one to hear who may read.
        ("org/gated", rustix::io::Errno::ACCESS, 2),
    ] {
        let failed = || fs::metadata(world.at(path)).unwrap_err().raw_os_error();
        assert_eq!(failed(), Some(expected.raw_os_error()), "{path}");
        assert_eq!(world.requests(), cost, "{path}");
        assert_eq!(failed(), Some(expected.raw_os_error()), "{path}");
        assert!(fs::read(world.at(path).join("config.json")).is_err());
        assert_eq!(world.requests(), 0, "{path}");
    }
    let problems: Vec<String> = world.mount.volume().problems().into_iter().map(|problem| problem.path).collect();
    assert_eq!(problems, ["org/gated", "org/private", "org/model@absent", "org/absent"]);
}

#[test]
fn what_is_not_used_is_let_go_of_and_comes_back_at_the_commit_of_then() {
    let world = World::new(&[]);
    let at = world.at("org/model/config.json");
    let mut file = File::open(&at).unwrap();
    assert_eq!(world.told(), ["+org/model"]);
    world
        .hub
        .push(RepoKind::Model, "org/model", "main")
        .file("config.json", Content::text("{\"v\": 3}"))
        .commit("newer")
        .unwrap();
    world.sweep();
    assert_eq!(world.told(), [""; 0], "its file is open");
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "{\"v\": 2}", "a mount shows one commit");
    drop(file);
    assert_eq!(fs::read_to_string(&at).unwrap(), "{\"v\": 2}");

    let inode = fs::metadata(&at).unwrap().ino();
    world.until(|| {
        // The close is told to us a moment after it happened.
        world.sweep();
        world.told().contains(&"-org/model".to_owned())
    });
    // The kernel is made to forget its names, and says so.
    world.until(|| {
        world.sweep();
        !world.knows(inode)
    });
    world.requests();
    assert_eq!(fs::read_to_string(&at).unwrap(), "{\"v\": 3}");
    assert_ne!(fs::metadata(&at).unwrap().ino(), inode, "a node is one content for ever");
    assert_eq!(world.told(), ["+org/model"]);
}

#[test]
fn a_program_whose_working_folder_it_is_notices_nothing() {
    let world = World::new(&[]);
    let mut child = Command::new("sh")
        .args(["-c", "echo; while read -r _; do /bin/pwd && cat config.json && echo; done"])
        .current_dir(world.at("org/model"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut stdin = child.stdin.take().unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "");
    let inode = fs::metadata(world.at("org/model")).unwrap().ino();
    let mut look = || {
        stdin.write_all(b"\n").unwrap();
        [lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap()]
    };
    let expected = [world.at("org/model").to_str().unwrap().to_owned(), "{\"v\": 2}".to_owned()];
    assert_eq!(look(), expected);
    world.until(|| {
        world.sweep();
        world.told().contains(&"-org/model".to_owned())
    });
    world.requests();
    assert_eq!(look(), expected);
    assert_eq!(fs::metadata(world.at("org/model")).unwrap().ino(), inode);
    assert_eq!(world.told(), ["+org/model"], "it is in use again");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
