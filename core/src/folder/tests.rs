//! The Hub folder without a kernel, against a Hub on loopback whose requests are counted.

use super::*;
use crate::engine::{Engine, EngineConfig};
use crate::net::NetConfig;
use crate::reader::ReaderConfig;
use crate::token::Token;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::oneshot;
use weightless_hub_sim::net::rate_limited;
use weightless_hub_sim::{Content, HubSim, RepoDef};

const IDLE: Duration = Duration::from_secs(600);

/// A Hub, a folder that shows it, and what the folder told.
struct World {
    sim: HubSim,
    _engine: Engine,
    hub: Arc<Hub>,
    folder: Arc<HubFolder>,
    told: Arc<Mutex<Vec<String>>>,
}

fn repos() -> Vec<RepoDef> {
    let model = |id: &str| {
        RepoDef::model(id).file("config.json", Content::text("{}")).file("a/weights", Content::random(1, 100_000))
    };
    vec![
        model("org/model").tag("v1").file("new.txt", Content::text("later")),
        model("org/other"),
        model("lonely"),
        RepoDef::dataset("org/data").file("train.csv", Content::text("a,b\n")),
        RepoDef::space("org/app").file("app.py", Content::text("print()\n")),
        model("org/private").private(),
        model("org/gated").gated(),
    ]
}

impl World {
    async fn new() -> Self {
        World::with(Vec::new()).await
    }

    /// A folder in which `recent` was used before.
    async fn with(recent: Vec<&str>) -> Self {
        let sim = HubSim::builder().repos(repos()).start().await.unwrap();
        let engine = Engine::new(EngineConfig::without_local(ReaderConfig::default()), Handle::current()).unwrap();
        let net = NetConfig::new(Some(sim.endpoint()), &|_| None).unwrap();
        let hub = Arc::new(Hub::new(net, None).unwrap());
        let told = Arc::new(Mutex::new(Vec::new()));
        let (asked, tell) = (hub.clone(), told.clone());
        let config = FolderConfig {
            recent: recent
                .into_iter()
                .map(|path| Recent { path: path.into(), modified: SystemTime::UNIX_EPOCH })
                .collect(),
            idle: IDLE,
            ..FolderConfig::new(
                Box::new(move || std::future::ready(Ok(asked.clone())).boxed()),
                Box::new(move |event| {
                    tell.lock().unwrap().push(match event {
                        FolderEvent::InUse { path, .. } => format!("+{path}"),
                        FolderEvent::LetGo { path } => format!("-{path}"),
                        FolderEvent::Problem(problem) => format!("!{}", problem.path),
                    });
                }),
            )
        };
        let folder = engine.folder(config);
        World { sim, _engine: engine, hub, folder, told }
    }

    async fn find(&self, path: &str) -> Result<Node> {
        let mut node = self.folder.node(NodeId::ROOT).unwrap();
        for name in path.split('/') {
            node = self.folder.clone().lookup(node.id, name.into()).await?;
            let again = self.folder.node(node.id).unwrap();
            assert_eq!((again.id, again.parent, &again.name), (node.id, node.parent, &node.name));
        }
        Ok(node)
    }

    async fn names(&self, path: &str) -> Vec<String> {
        let id = if path.is_empty() { NodeId::ROOT } else { self.find(path).await.unwrap().id };
        let listed = self.folder.clone().read_dir(id).await.unwrap();
        for node in &listed.entries {
            assert_eq!(node.parent, id);
        }
        listed.entries.iter().map(|node| node.name.to_string()).collect()
    }

    async fn read(&self, path: &str) -> Result<Vec<u8>> {
        let node = self.find(path).await?;
        let handle = self.folder.open(node.id, None)?;
        let (reply, answer) = oneshot::channel();
        self.folder.read(handle, 0, 1 << 20, Box::new(move |data| drop(reply.send(data))));
        let data = answer.await.unwrap();
        self.folder.close(node.id, handle);
        Ok(data?.into_bytes().to_vec())
    }

    /// Requests since the last call.
    fn requests(&self) -> u64 {
        let counters = self.sim.network().counters();
        let count = counters.snapshot().requests_in_all();
        counters.reset();
        count
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }

    fn sweep(&self, idle: Duration) {
        self.folder.sweep(Instant::now() + idle);
    }
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.map(drop).expect_err("an error").kind()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_repo_is_there_under_its_name() {
    let world = World::new().await;
    for (path, names) in [
        ("org/model", &["a", "config.json", "new.txt"][..]),
        ("org/model@v1", &["a", "config.json"]),
        ("org/model@main", &["a", "config.json", "new.txt"]),
        ("datasets/org/data", &["train.csv"]),
        ("spaces/org/app", &["app.py"]),
        ("lonely", &["a", "config.json"]),
    ] {
        assert_eq!(world.names(path).await, names, "{path}");
    }
    assert_eq!(world.read("org/model/new.txt").await.unwrap(), b"later");
    assert_eq!(world.read("datasets/org/data/train.csv").await.unwrap(), b"a,b\n");
    let (one, two) = (world.find("org/model/a").await.unwrap(), world.find("org/model@v1/a").await.unwrap());
    assert_ne!(one.id, two.id, "two revisions are two trees");
    assert_eq!(kind(world.find("org/model/absent").await), ErrorKind::EntryNotFound);
    assert_eq!(kind(world.find("org/model/config.json/x").await), ErrorKind::NotADirectory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_costs_one_request_and_its_tree_another_once_somebody_goes_in() {
    let world = World::new().await;
    world.find("org").await.unwrap();
    assert_eq!(world.requests(), 1, "it might be a repo without an account");
    let asked = join_all((0..8).map(|_| world.find("org/model"))).await;
    let ids: Vec<NodeId> = asked.into_iter().map(|node| node.unwrap().id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(world.requests(), 1);
    world.names("org/model").await;
    assert_eq!(world.requests(), 1);
    world.names("org/model/a").await;
    world.find("org/model/config.json").await.unwrap();
    assert_eq!(world.requests(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_leads_nowhere_is_asked_for_once_and_again_for_another_account() {
    let world = World::new().await;
    world.find("org").await.unwrap();
    world.requests();
    let asked = join_all((0..8).map(|_| world.find("org/absent"))).await;
    assert!(asked.into_iter().all(|found| kind(found) == ErrorKind::RepoNotFound));
    assert_eq!(world.requests(), 1);
    for name in ["org/absent", "org/absent/config.json"] {
        assert_eq!(kind(world.find(name).await), ErrorKind::RepoNotFound);
    }
    assert_eq!(world.requests(), 0);
    assert_eq!(kind(world.find("org/model@absent").await), ErrorKind::RevisionNotFound);
    assert_eq!(kind(world.find("org/private").await), ErrorKind::RepoNotFound);
    world.requests();
    // Who logs in sees at once what was hidden.
    world.hub.set_token(Some(Token::new(world.sim.owner_token()).unwrap()));
    assert_eq!(world.read("org/private/config.json").await.unwrap(), b"{}");
    let problems: Vec<String> = world.folder.problems().into_iter().map(|problem| problem.path).collect();
    assert_eq!(problems, ["org/model@absent", "org/absent"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_can_be_no_repo_are_never_asked_for() {
    let world = World::new().await;
    for path in [".git", ".DS_Store", "desktop.ini", "autorun.inf", "a b", "package.json", "models", "datasets/.git"] {
        assert_eq!(kind(world.find(path).await), ErrorKind::EntryNotFound, "{path}");
    }
    for (place, name) in [(NodeId::ROOT, "a\0b"), (NodeId::ROOT, "..")] {
        assert_eq!(kind(world.folder.clone().lookup(place, name.into()).await), ErrorKind::EntryNotFound);
    }
    world.find("spaces/org").await.unwrap();
    assert_eq!(world.requests(), 0, "a Space always has an account");
    world.find("org").await.unwrap();
    world.requests();
    for name in [".git", ".DS_Store", "._model", "Thumbs.db", "model@", "model@a b", "a--b", "x.git"] {
        assert_eq!(kind(world.find(&format!("org/{name}")).await), ErrorKind::EntryNotFound, "{name}");
    }
    assert_eq!(world.requests(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gated_repo_says_so_at_its_name() {
    let world = World::new().await;
    assert!(matches!(kind(world.find("org/gated").await), ErrorKind::Gated | ErrorKind::NotLoggedIn));
    let problems = world.folder.problems();
    assert_eq!(problems[0].path, "org/gated");
    assert!(problems[0].error.advice().contains("licence"), "{:?}", problems[0].error);
    assert_eq!(world.told(), ["!org/gated"]);
    world.requests();
    world.find("org/gated").await.unwrap_err();
    assert_eq!(world.requests(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listing_shows_what_was_used_and_asks_nobody() {
    let world = World::with(vec!["other/kept", "datasets/far/away@v1", "what ever"]).await;
    assert_eq!(world.names("").await, ["datasets", "other", "spaces"]);
    assert_eq!(world.names("other").await, ["kept"]);
    assert_eq!(world.names("datasets").await, ["far"]);
    assert_eq!(world.names("datasets/far").await, ["away@v1"]);
    assert_eq!(world.names("spaces").await, [""; 0]);
    // Everything that is listed can be looked at.
    world.find("other/kept").await.unwrap();
    world.find("datasets/far/away@v1").await.unwrap();
    assert_eq!(world.requests(), 0);

    // Looking at a name is no use of it; going in is.
    world.find("org/model").await.unwrap();
    assert_eq!(world.names("").await, ["datasets", "other", "spaces"]);
    world.names("org/model").await;
    world.names("lonely").await;
    assert_eq!(world.names("").await, ["datasets", "org", "other", "spaces"]);
    assert_eq!(world.names("org").await, ["model"]);
    let recent: Vec<String> = world.folder.recent().into_iter().map(|recent| recent.path).collect();
    assert_eq!(recent[..2], ["org/model", "other/kept"]);
    assert_eq!(world.told(), ["+org/model", "+lonely"]);

    // What is gone from the Hub goes from the list when somebody finds out.
    let id = world.find("other/kept").await.unwrap().id;
    assert_eq!(kind(world.folder.clone().read_dir(id).await), ErrorKind::RepoNotFound);
    assert_eq!(world.names("").await, ["datasets", "org", "spaces"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_used_is_let_go_of_and_comes_back() {
    let world = World::new().await;
    let file = world.find("org/model/config.json").await.unwrap();
    let handle = world.folder.open(file.id, None).unwrap();
    assert_eq!(world.told(), ["+org/model"]);
    world.sweep(IDLE);
    assert_eq!(world.told(), [""; 0], "a file is open");
    world.folder.close(file.id, handle);
    world.sweep(IDLE / 2);
    assert_eq!(world.told(), [""; 0], "it was used lately");
    world.sweep(IDLE);
    assert_eq!(world.told(), ["-org/model"]);
    assert!(world.folder.node(file.id).is_none());
    assert_eq!(kind(world.folder.open(file.id, None)), ErrorKind::Stale);
    assert_eq!(kind(world.folder.clone().lookup(file.id, "x".into()).await), ErrorKind::Stale);

    // Still listed, not asked for until it is used, and never under an id that was another's.
    world.requests();
    assert_eq!(world.names("org").await, ["model"]);
    assert_eq!(world.requests(), 0);
    let again = world.find("org/model/config.json").await.unwrap();
    assert_ne!(again.id, file.id);
    assert_eq!(world.requests(), 2);
    assert_eq!(world.told(), ["+org/model"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_kernel_still_knows_comes_back_as_what_it_was() {
    let world = World::new().await;
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let (sender, receiver) = std::sync::mpsc::channel();
    let seen = dropped.clone();
    world.folder.attach(Box::new(move |name| {
        seen.lock().unwrap().push(name.path.clone());
        let _ = sender.send(());
    }));
    let root = world.find("org/model").await.unwrap();
    let file = world.find("org/model/config.json").await.unwrap();
    for id in [root.id, file.id, file.id] {
        world.folder.told(id);
    }
    world.sweep(IDLE);
    assert_eq!(world.told(), ["+org/model", "-org/model"]);
    receiver.recv().unwrap();
    assert_eq!(*dropped.lock().unwrap(), ["org/model"]);

    // A program that was there all the time goes on, and asks for nothing.
    world.requests();
    let handle = world.folder.open(file.id, None).unwrap();
    world.folder.close(file.id, handle);
    assert_eq!(world.find("org/model/config.json").await.unwrap().id, file.id);
    assert_eq!((world.requests(), world.told()), (0, vec!["+org/model".to_owned()]));

    // Once the kernel has forgotten all of it, it is gone with the next sweep that finds it idle.
    world.folder.forgotten(file.id, 2);
    world.sweep(IDLE);
    assert!(world.folder.node(file.id).is_some());
    world.folder.forgotten(root.id, 1);
    world.sweep(IDLE);
    assert!(world.folder.node(file.id).is_none() && world.folder.node(root.id).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repo_that_was_mounted_stays_until_it_is_unmounted() {
    let world = World::new().await;
    let spec = |text: &str| RepoSpec::parse(text, world.hub.config().endpoint()).unwrap();
    let mount = world.folder.keep("org/model@v1", spec("org/model@v1"), &world.hub).await.unwrap();
    let part = RepoSpec { path: Some("a".into()), ..spec("org/other") };
    world.folder.keep("org/other:a", part, &world.hub).await.unwrap();
    world.sweep(IDLE * 2);
    assert_eq!(world.told(), [""; 0]);
    world.requests();
    assert_eq!(world.names("org").await, ["model@v1", "other:a"]);
    assert_eq!(world.names("org/other:a").await, ["weights"]);
    let file = world.find("org/model@v1/config.json").await.unwrap();
    assert_eq!(mount.node(file.id).unwrap().name, file.name);
    assert_eq!(world.requests(), 0);
    world.folder.let_go("org/model@v1").await;
    world.folder.let_go("org/other:a").await;
    assert_eq!(world.names("").await, ["datasets", "spaces"]);
    assert!(world.folder.node(file.id).is_none());
    assert_eq!(kind(world.folder.keep("org/x y", spec("org/absent"), &world.hub).await), ErrorKind::RepoNotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_wants_a_rest_gets_one() {
    let world = World::new().await;
    world.find("org").await.unwrap();
    world.sim.network().script().on("/api/models/").always().run([rate_limited(30)]);
    assert_eq!(kind(world.find("org/model").await), ErrorKind::RateLimited);
    world.requests();
    let error = world.find("org/other").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert!(error.wait_asked().is_some_and(|wait| wait <= Duration::from_secs(30)));
    assert_eq!(world.requests(), 0);
}
