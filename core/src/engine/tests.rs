//! Several accounts in one engine, against a Hub on loopback.

mod faults;

use super::*;
use crate::net::NetConfig;
use crate::tree::NodeId;
use bytes::Bytes;
use tokio::sync::oneshot;
use weightless_hub_sim::{Content, HubSim, RepoDef, Storage};

const MIB: u64 = 1 << 20;
const REPO: &str = "org/gated";
/// Both ways to bytes.
const FILES: [(&str, Storage); 2] = [("xet", Storage::Xet), ("lfs", Storage::Lfs)];

/// A gated repo, an engine, and who may read.
struct World {
    sim: HubSim,
    engine: Engine,
}

impl World {
    async fn new() -> Self {
        let mut repo = RepoDef::model(REPO).gated();
        for (name, storage) in FILES {
            repo = repo.file_as(name, content(), storage);
        }
        let sim = HubSim::builder().repo(repo).start().await.unwrap();
        let engine = Engine::new(EngineConfig::without_local(ReaderConfig::default()), Handle::current()).unwrap();
        World { sim, engine }
    }

    fn hub(&self, token: Option<&str>) -> Arc<Hub> {
        let net = NetConfig::new(Some(self.sim.endpoint()), &|_| None).unwrap();
        Arc::new(Hub::new(net, token.map(|token| Token::new(token).unwrap())).unwrap())
    }

    async fn mount(&self, hub: &Arc<Hub>) -> Result<Arc<Mount>> {
        self.engine.mount(hub, RepoSpec::parse(REPO, hub.config().endpoint()).unwrap()).await
    }

    /// A mount of an account that may not read any more, as one becomes whose licence was revoked.
    async fn mount_unasked(&self, hub: &Arc<Hub>) -> Arc<Mount> {
        let spec = RepoSpec::parse(REPO, hub.config().endpoint()).unwrap();
        let commit = hub.commit(&spec.repo, "main").await.unwrap();
        self.engine.maker.show(hub, commit, "main".to_owned(), None, NodeId::ROOT).await.unwrap()
    }
}

fn content() -> Content {
    Content::random(1, 80 * MIB)
}

fn open(mount: &Mount, name: &str) -> crate::mount::HandleId {
    mount.open(mount.known(NodeId::ROOT, name).unwrap().id, None).unwrap()
}

async fn read(mount: &Mount, handle: crate::mount::HandleId, offset: u64) -> Result<Bytes> {
    let (reply, answer) = oneshot::channel();
    mount.read(handle, offset, 4096, Box::new(move |data| drop(reply.send(data))));
    answer.await.unwrap().map(|data| data.into_bytes())
}

fn expected(offset: u64) -> Bytes {
    content().read(offset, 4096).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_account_may_read_is_not_given_to_another() {
    let world = World::new().await;
    let (owner, reader, nobody) =
        (world.hub(Some(world.sim.owner_token())), world.hub(Some(world.sim.reader_token())), world.hub(None));
    let mount = world.mount(&owner).await.unwrap();
    for (name, _) in FILES {
        let handle = open(&mount, name);
        assert_eq!(read(&mount, handle, 0).await.unwrap(), expected(0));
        // Blocks are held, tokens and addresses are kept: none of it helps the others.
        for hub in [&reader, &nobody] {
            assert!(matches!(world.mount(hub).await.unwrap_err().kind(), ErrorKind::Gated | ErrorKind::NotLoggedIn));
            let theirs = world.mount_unasked(hub).await;
            let refused = read(&theirs, open(&theirs, name), 0).await.unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::Gated | ErrorKind::NotLoggedIn), "{name}: {refused:?}");
        }
        assert_eq!(
            read(&mount, handle, 40 * MIB).await.unwrap(),
            expected(40 * MIB),
            "their refusals are not the owner's"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mounts_of_one_account_share_tokens_and_content() {
    let world = World::new().await;
    let owner = world.hub(Some(world.sim.owner_token()));
    let (one, two) = (world.mount(&owner).await.unwrap(), world.mount(&owner).await.unwrap());
    let first = open(&one, "xet");
    read(&one, first, 0).await.unwrap();
    assert_eq!(read(&two, open(&two, "xet"), 0).await.unwrap(), expected(0));
    for mount in [&one, &two] {
        // Far from what was read, and long enough for Xet.
        read(mount, open(mount, "xet"), 70 * MIB).await.unwrap();
    }
    let asked = world.engine.transport.statistics();
    assert!(asked.tokens.requests <= 1 && asked.resolves.requests == 1, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_token_takes_effect_without_remounting() {
    let world = World::new().await;
    let token = |text: &str| Some(Token::new(text).unwrap());
    let hub = world.hub(Some(world.sim.owner_token()));
    let mount = world.mount(&hub).await.unwrap();
    for (name, _) in FILES {
        let before = open(&mount, name);
        assert_eq!(read(&mount, before, 0).await.unwrap(), expected(0));
        world.engine.set_token(&hub, token(world.sim.reader_token()));
        assert_eq!(read(&mount, before, 0).await.unwrap(), expected(0), "an open file keeps what it read");
        for (handle, offset) in [(before, 70 * MIB), (open(&mount, name), 0)] {
            let refused = read(&mount, handle, offset).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Gated, "{name} at {offset}");
        }
        world.engine.set_token(&hub, token(world.sim.owner_token()));
        for (handle, offset) in [(before, 70 * MIB), (open(&mount, name), 0)] {
            assert_eq!(read(&mount, handle, offset).await.unwrap(), expected(offset), "{name} at {offset}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewritten_history_is_said_to_be_and_update_shows_the_new_one() {
    let repo = |text: &str| {
        (0..1_000).fold(RepoDef::model("org/new"), |repo, n| repo.file(format!("a/{n}"), "x")).file("b/f", text)
    };
    let sim = HubSim::builder().repo(repo("old")).start().await.unwrap();
    let engine = Engine::new(EngineConfig::without_local(ReaderConfig::default()), Handle::current()).unwrap();
    let net = NetConfig::new(Some(sim.endpoint()), &|_| None).unwrap();
    let hub = Arc::new(Hub::new(net, None).unwrap());
    let old = sim.commit_sha(weightless_hub_sim::RepoKind::Model, "org/new", "main").unwrap();
    let mount = |revision: &str| {
        let spec = RepoSpec::parse(&format!("org/new@{revision}"), hub.config().endpoint()).unwrap();
        engine.mount(&hub, spec)
    };
    let (branch, commit) = (mount("main").await.unwrap(), mount(&old).await.unwrap());
    tokio::task::block_in_place(|| sim.put_repo(repo("new"))).unwrap();
    for (mount, advice) in [(&branch, "`weightless update`"), (&commit, "another revision")] {
        let gone = mount.clone().lookup(NodeId::ROOT, "b".into()).await.unwrap_err();
        assert!(gone.to_string().contains("history was rewritten") && gone.advice().contains(advice), "{gone:?}");
    }
    assert!(engine.update(&hub, &branch, None).await.unwrap());
    let folder = branch.clone().lookup(NodeId::ROOT, "b".into()).await.unwrap().id;
    let file = branch.clone().lookup(folder, "f".into()).await.unwrap().id;
    assert_eq!(read(&branch, branch.open(file, None).unwrap(), 0).await.unwrap(), "new");
}
