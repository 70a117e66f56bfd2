//! A mount on networks as they are: through proxies, behind certificates of others, past what expires.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Duration;
use tokio::runtime::Runtime;
use weightless_core::engine::Engine;
use weightless_core::hub::Hub;
use weightless_core::net::NetConfig;
use weightless_core::repo::RepoSpec;
use weightless_core::token::Token;
use weightless_core::{ErrorKind, Result};
use weightless_hub_sim::net::{Route, Site, expired, status};
use weightless_hub_sim::{Content, HubSim, RepoDef, Storage};
use weightless_tests::gateway::Gateway;
use weightless_tests::mounted::{Mounted, REPO, without_local};

const MIB: u64 = 1 << 20;

#[test]
fn two_gibibytes_are_read_while_tokens_and_links_expire() {
    let content = Content::repeating(1, 5 << 30);
    let mounted = Mounted::new(RepoDef::model(REPO).file_as("big", content.clone(), Storage::Xet));
    // Renewed half a minute before they expire, so asked again each second; and some that the service does not take any more.
    mounted.hub.set_xet_token_lifetime(Duration::from_secs(31));
    let script = mounted.hub.network().script();
    let rejected: Vec<_> = (2..8).map(|n| script.on(Route::Reconstruction).nth(n * 5).run([status(401)])).collect();
    let refused: Vec<_> = (1..20).map(|n| script.on(Route::XorbData).nth(n * 10).run([expired()])).collect();

    let file = File::open(mounted.at.join("big")).expect("it opens");
    let mut buffer = vec![0; MIB as usize];
    for at in (0..2 << 30).step_by(MIB as usize) {
        file.read_exact_at(&mut buffer, at).unwrap_or_else(|error| panic!("at {at}: {error}"));
        assert!(buffer == content.read(at, buffer.len()).expect("its bytes"), "other bytes at {at}");
    }
    let met = |rules: &[_]| rules.iter().filter(|rule| script.fired(**rule) > 0).count();
    assert!(met(&rejected) >= 3 && met(&refused) >= 10, "{} and {}", met(&rejected), met(&refused));
    let asked = mounted.hub.network().counters().snapshot();
    assert!(asked.requests(Route::XetToken) > met(&rejected) as u64, "{asked:?}");
    assert!(asked.bytes(Route::XorbData) > 1 << 30, "most of it by the way whose tokens expire: {asked:?}");
}

const NAMES: [(&str, Site); 3] =
    [("hub.weightless.test", Site::Hub), ("cas.weightless.test", Site::Cas), ("data.weightless.test", Site::Data)];

/// A Hub whose names lead nowhere but through the gateway.
fn behind_a_gateway(runtime: &Runtime, repo: RepoDef) -> (HubSim, Gateway) {
    let [hub, cas, data] = NAMES.map(|(name, _)| format!("https://{name}"));
    let sim = HubSim::builder().repo(repo).announced(&hub, &cas, &data).start();
    let sim = runtime.block_on(sim).expect("a Hub");
    let hosts = NAMES.map(|(name, site)| (name, sim.bound(site)));
    let gateway = runtime.block_on(Gateway::start(&hosts)).expect("a gateway");
    (sim, gateway)
}

#[test]
fn a_proxy_is_the_only_way_and_nobody_but_the_hub_sees_the_token() {
    for scheme in ["http", "socks5h"] {
        let files = [
            ("xet", Content::random(1, 9 * MIB), Storage::Xet),
            ("lfs", Content::random(2, 3 * MIB), Storage::Lfs),
            ("git", Content::text("# hello\n"), Storage::Git),
        ];
        let repo = files.iter().fold(RepoDef::model(REPO).private(), |repo, (name, content, storage)| {
            repo.file_as(*name, content.clone(), *storage)
        });
        let runtime = Runtime::new().expect("a runtime");
        let (sim, gateway) = behind_a_gateway(&runtime, repo);
        let net = NetConfig::new(Some(sim.endpoint()), &|_| None)
            .and_then(|net| net.with_proxy(&format!("{scheme}://{}", gateway.address())))
            .expect("a network");
        let seen = |net: &NetConfig| {
            let token = Token::new(sim.owner_token()).expect("a token");
            Hub::new(net.clone(), Some(token)).expect("a client")
        };

        // Before its authority is known, with a sentence of its own.
        let refused = runtime.block_on(mount_once(seen(&net))).expect_err("it is not trusted");
        assert_eq!(refused.kind(), ErrorKind::TlsUntrusted, "{refused:?}");
        assert!(refused.to_string().contains("certificate is not trusted"), "{refused}");
        assert!(refused.advice().contains("CA certificate"), "{}", refused.advice());
        assert_eq!(sim.network().counters().snapshot().requests_in_all(), 0);

        let net = net.with_extra_ca(gateway.authority().as_bytes()).expect("an authority");
        let seen = seen(&net);
        let owner = format!("Bearer {}", sim.owner_token());
        let mounted = Mounted::seen(runtime, sim, seen, without_local());
        for (name, content, _) in &files {
            let bytes = fs::read(mounted.at.join(name)).unwrap_or_else(|error| panic!("{scheme}, {name}: {error}"));
            assert!(bytes == content.to_bytes().expect("bytes"), "{scheme}, {name}");
        }
        let counters = mounted.hub.network().counters();
        let counts = counters.snapshot();
        for (name, site) in NAMES {
            let opened = counts.connections[&site].opened;
            assert!(opened > 0, "{scheme}: nothing was asked of {name}");
            assert_eq!(opened, gateway.carried(name), "{scheme}: a connection to {name} passed the proxy by");
        }
        for request in counters.requests() {
            let sent = request.authorization.as_deref();
            match request.site {
                Site::Hub => assert_eq!(sent, Some(&*owner), "{request:?}"),
                Site::Cas => assert!(sent.is_some_and(|sent| sent.starts_with("Bearer xet_")), "{request:?}"),
                Site::Data => assert_eq!(sent, None, "{request:?}"),
            }
        }
    }
}

async fn mount_once(hub: Hub) -> Result<()> {
    let engine = Engine::new(without_local(), tokio::runtime::Handle::current())?;
    let spec = RepoSpec::parse(REPO, hub.config().endpoint())?;
    engine.mount(&hub.into(), spec).await.map(drop)
}
