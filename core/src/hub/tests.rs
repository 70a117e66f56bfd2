use super::*;
use crate::repo::RepoKind;
use crate::testing::{Reply, Seen, Server};
use crate::{Error, ErrorKind};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const SHA: &str = "607a30d783dfa663caf39e06633721c8d4cfcd7e";
const BEARER: &str = "Bearer hf_secret";

fn hub(server: &Server) -> Hub {
    let config = NetConfig::new(Some(server.url.as_str()), &|_| None).unwrap();
    Hub::new(config, Some(Token::new("hf_secret").unwrap())).unwrap()
}

fn repo() -> RepoId {
    RepoId::new(RepoKind::Dataset, "org/name").unwrap()
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.map(drop).expect_err("an error").kind()
}

#[tokio::test]
async fn a_revision_is_one_request_and_tells_the_repos_name_of_today() {
    let server = Server::start(|_| {
        Reply::json(json!({ "_id": "1", "id": "new-org/Name", "sha": SHA, "lastModified": "2024-02-19T10:57:45.000Z" }))
    })
    .await;
    let commit = hub(&server).commit(&repo(), "refs/pr/2").await.unwrap();
    assert_eq!(&*commit.sha, SHA);
    assert_eq!(commit.repo.to_string(), "datasets/new-org/Name");
    assert_eq!(commit.modified, SystemTime::UNIX_EPOCH + Duration::from_secs(1_708_340_265));
    let seen = server.take();
    let lines: Vec<_> = seen.iter().map(Seen::line).collect();
    assert_eq!(
        lines,
        ["GET /api/datasets/org/name/revision/refs%2Fpr%2F2?expand=sha&expand=lastModified&expand=gated"]
    );
    assert_eq!(seen[0].header("authorization"), Some(BEARER));
    assert!(seen[0].header("user-agent").unwrap().starts_with("weightless/"));
}

#[tokio::test]
async fn a_renamed_repo_is_followed_with_the_token_and_only_so_far() {
    let server = Server::start(|seen| match seen.target.as_str() {
        target if target.contains("/org/name/") => {
            Reply::new(307).with("location", target.replace("/org/name/", "/new/name/"))
        }
        target if target.contains("/new/name/") => Reply::json(json!({ "id": "new/name", "sha": SHA })),
        _ => Reply::new(307).with("location", "/loop"),
    })
    .await;
    let hub = hub(&server);
    let commit = hub.commit(&repo(), "main").await.unwrap();
    assert_eq!(commit.repo.to_string(), "datasets/new/name");
    assert!(server.take().iter().all(|seen| seen.header("authorization") == Some(BEARER)));

    let looping = RepoId::new(RepoKind::Model, "gpt2").unwrap();
    assert_eq!(kind(hub.commit(&looping, "main").await), ErrorKind::Protocol);
    assert_eq!(server.take().len(), 6);
}

#[tokio::test]
async fn nothing_is_asked_of_another_host_and_it_never_sees_the_token() {
    let other = Server::start(|_| Reply::json(json!([]))).await;
    let target = other.url.join("/evil").unwrap().to_string();
    let server = Server::start(move |seen| match seen.target.as_str() {
        next if next.contains("/tree/") => Reply::json(json!([])).with("link", format!("<{target}>; rel=\"next\"")),
        _ => Reply::new(302).with("location", target.clone()),
    })
    .await;
    let hub = hub(&server);
    assert_eq!(kind(hub.commit(&repo(), "main").await), ErrorKind::Protocol);
    assert_eq!(kind(hub.tree(&repo(), SHA, "", Depth::Folder).await), ErrorKind::Protocol);
    assert_eq!(kind(hub.paths_info(&repo(), SHA, &["a"]).await), ErrorKind::Protocol);
    let resolved = hub.resolve(&repo(), SHA, "a").await.unwrap();
    assert_eq!(resolved.location, other.url.join("/evil").unwrap());
    assert!(other.take().is_empty());

    hub.request(Method::GET, resolved.location).send().await.unwrap();
    assert_eq!(other.take()[0].header("authorization"), None);
}

#[tokio::test]
async fn a_file_resolves_to_its_data_address_size_and_hashes() {
    let server = Server::start(|seen| match seen.target.rsplit('/').next().unwrap() {
        "lfs.bin" => Reply::new(302)
            .with("location", "https://cdn.test/x?sig=1")
            .with("etag", "\"other\"")
            .with("x-linked-etag", "\"ab12\"")
            .with("x-linked-size", "5368709120")
            .with("x-xet-hash", "cd34")
            .with("x-repo-commit", SHA)
            .with("content-length", "1071"),
        "small.txt" => Reply::new(307).with("location", "/api/resolve-cache/small.txt2").with("x-repo-commit", SHA),
        "small.txt2" => Reply::new(200).with("etag", "W/\"ef56\"").with("content-length", "12"),
        "told.txt" => Reply::new(307)
            .with("location", "/api/resolve-cache/told.txt2")
            .with("x-linked-etag", "\"ef56\"")
            .with("x-linked-size", "0"),
        "unknown" => Reply::new(302).with("location", "https://cdn.test/y").with("content-length", "0"),
        _ => Reply::new(404).with("x-error-code", "EntryNotFound"),
    })
    .await;
    let hub = hub(&server);
    for (path, location, size, etag, requests) in [
        ("lfs.bin", "https://cdn.test/x?sig=1", Some(5_368_709_120), Some("ab12"), 1),
        ("small.txt", "/api/resolve-cache/small.txt2", Some(12), Some("ef56"), 2),
        ("told.txt", "/api/resolve-cache/told.txt2", Some(0), Some("ef56"), 1),
        ("unknown", "https://cdn.test/y", None, None, 1),
    ] {
        let resolved = hub.resolve(&repo(), SHA, path).await.unwrap();
        assert_eq!(resolved.location, server.url.join(location).unwrap(), "{path}");
        assert_eq!((resolved.size, resolved.etag.as_deref()), (size, etag), "{path}");
        assert_eq!(server.take().len(), requests, "{path}");
        assert!(!format!("{resolved:?}").contains("sig"));
    }
    assert_eq!(kind(hub.resolve(&repo(), SHA, "missing").await), ErrorKind::EntryNotFound);
    assert_eq!(kind(hub.resolve(&repo(), SHA, "../x").await), ErrorKind::EntryNotFound);
}

/// Waits are skipped, since the clock stands while anything can be done; that of the server is the same.
#[tokio::test(start_paused = true)]
async fn a_hub_that_asks_to_slow_down_is_asked_again_when_it_said_and_not_before() {
    let sent: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let begin = tokio::time::Instant::now();
    let times = sent.clone();
    let server = Server::start(move |_| {
        let mut times = times.lock().unwrap();
        times.push(begin.elapsed());
        match begin.elapsed() < Duration::from_secs(20) {
            true => Reply::new(429).with("ratelimit", "\"api\";r=0;t=20").with("retry-after", "20"),
            false => Reply::json(json!({ "id": "org/name", "sha": SHA })),
        }
    })
    .await;
    let told: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let hub = hub(&server).telling({
        let told = told.clone();
        move |wait| told.lock().unwrap().push(wait)
    });
    // One finds out; those who ask meanwhile send nothing.
    let asked = async |hub: &Hub| hub.commit(&repo(), "main").await.map(drop);
    let (first, late) = tokio::join!(asked(&hub), async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        asked(&hub).await
    });
    first.unwrap();
    late.unwrap();
    let times = sent.lock().unwrap().clone();
    assert_eq!(times.len(), 3, "{times:?}");
    assert!(times[1..].iter().all(|time| *time >= Duration::from_secs(20)), "{times:?}");
    assert_eq!(told.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_patience_is_an_error_at_once_and_sends_nothing_more() {
    let server = Server::start(|_| Reply::new(429).with("ratelimit", "\"api\";r=0;t=200")).await;
    let hub = hub(&server);
    for expected_requests in [1, 0, 0] {
        let error = hub.commit(&repo(), "main").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
        assert!(error.wait_asked().unwrap() > Duration::from_secs(190));
        assert_eq!(server.take().len(), expected_requests);
    }
    // Addresses of files are counted apart.
    assert!(hub.resolve(&repo(), SHA, "a").await.is_err());
    assert_eq!(server.take().len(), 1);
    hub.set_token(None);
    assert!(hub.commit(&repo(), "main").await.is_err());
    assert_eq!(server.take().len(), 1, "another account has limits of its own");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_token_is_not_sent_again_and_another_one_is_at_once() {
    let server = Server::start(|seen| match seen.header("authorization") {
        Some(BEARER) => Reply::new(401).with("x-error-message", "Invalid credentials in Authorization header"),
        _ => Reply::json(json!({ "id": "org/name", "sha": SHA })),
    })
    .await;
    let hub = hub(&server);
    for _ in 0..20 {
        assert_eq!(kind(hub.commit(&repo(), "main").await), ErrorKind::TokenRejected);
        assert_eq!(kind(hub.resolve(&repo(), SHA, "a").await), ErrorKind::TokenRejected);
    }
    assert_eq!(server.take().len(), 1);
    hub.set_token(Some(Token::new("hf_new").unwrap()));
    hub.commit(&repo(), "main").await.unwrap();
    assert_eq!(server.take().len(), 1);
    // A Hub may be mistaken.
    hub.set_token(Some(Token::new("hf_secret").unwrap()));
    for _ in 0..3 {
        assert_eq!(kind(hub.commit(&repo(), "main").await), ErrorKind::TokenRejected);
        tokio::time::sleep(Duration::from_secs(11)).await;
    }
    assert_eq!(server.take().len(), 3);
}

#[tokio::test]
async fn while_the_network_is_paused_nothing_is_sent() {
    let server = Server::start(|_| Reply::json(json!({ "id": "org/name", "sha": SHA }))).await;
    let switch = crate::net::Switch::default();
    let config = NetConfig::new(Some(server.url.as_str()), &|_| None).unwrap().with_switch(&switch);
    let hub = Hub::new(config, None).unwrap();
    switch.set_paused(true);
    assert_eq!(kind(hub.commit(&repo(), "main").await), ErrorKind::Paused);
    assert!(server.take().is_empty());
    switch.set_paused(false);
    hub.commit(&repo(), "main").await.unwrap();
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
    for (status, code, headers, attempts, expected) in [
        (503, "", vec![], 3, ErrorKind::HubDown),
        (500, "", vec![], 3, ErrorKind::HubDown),
        (404, "RepoNotFound", vec![], 1, ErrorKind::RepoNotFound),
        (
            401,
            "",
            vec![("x-error-message", "Invalid credentials in Authorization header")],
            1,
            ErrorKind::TokenRejected,
        ),
        (429, "", vec![("ratelimit", "\"api\";r=0;t=55")], 1, ErrorKind::RateLimited),
    ] {
        let reply = headers.iter().fold(Reply::new(status), |reply, (name, value)| reply.with(name, *value));
        let reply = if code.is_empty() { reply } else { reply.with("x-error-code", code) };
        let server = Server::start(move |_| reply.clone()).await;
        let error: Error = hub(&server).commit(&repo(), "main").await.unwrap_err();
        assert_eq!((error.kind(), server.take().len()), (expected, attempts), "{status} {code}");
        let wait = (expected == ErrorKind::RateLimited).then_some(Duration::from_secs(55));
        assert_eq!(error.wait_asked(), wait);
        assert_eq!(error.subject(), "datasets/org/name@main");
        assert!(!format!("{error:?}").contains("secret"));
    }
}

#[tokio::test]
async fn a_hub_that_recovers_is_not_noticed() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::new(502),
        _ => Reply::json(json!({ "sha": SHA })),
    })
    .await;
    assert_eq!(&*hub(&server).commit(&repo(), "main").await.unwrap().sha, SHA);
}

#[tokio::test]
async fn a_closed_port_is_offline() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = NetConfig::new(Some(&format!("http://{address}")), &|_| None).unwrap();
    assert_eq!(kind(Hub::new(config, None).unwrap().commit(&repo(), "main").await), ErrorKind::Offline);
}

#[tokio::test]
async fn answers_that_make_no_sense_are_refused() {
    for body in ["", "<html>", "[]", "{}", r#"{"sha":"main"}"#, r#"{"sha":5}"#] {
        let server = Server::start(move |_| Reply { body: body.into(), ..Reply::new(200) }).await;
        assert_eq!(kind(hub(&server).commit(&repo(), "main").await), ErrorKind::Protocol, "{body}");
    }
    let server = Server::start(|_| Reply { body: " ".repeat(33 << 20), ..Reply::new(200) }).await;
    assert_eq!(kind(hub(&server).commit(&repo(), "main").await), ErrorKind::Protocol);
}

#[tokio::test]
async fn paths_are_sent_as_they_are() {
    let server =
        Server::start(|_| Reply::json(json!([{ "type": "directory", "path": "a b/#?%2F", "oid": SHA }]))).await;
    let found = hub(&server).paths_info(&repo(), SHA, &["a b/#?%2F"]).await.unwrap();
    assert_eq!(found, [TreeEntry { path: "a b/#?%2F".into(), kind: EntryKind::Folder }]);
    let seen = server.take();
    assert_eq!(seen[0].line(), format!("POST /api/datasets/org/name/paths-info/{SHA}"));
    let body: serde_json::Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(body["paths"], json!(["a b/#?%2F"]));
}

#[tokio::test]
async fn a_xet_token_comes_by_header_or_by_body_and_is_never_printed() {
    let by_header = Reply::new(200)
        .with("x-xet-cas-url", "https://cas.test")
        .with("x-xet-access-token", "xetsecret")
        .with("x-xet-token-expiration", "1900000000");
    let by_body =
        Reply::json(json!({ "casUrl": "https://cas.test", "accessToken": "xetsecret", "exp": 1_900_000_000 }));
    for reply in [by_header, by_body] {
        let server = Server::start(move |_| reply.clone()).await;
        let token = hub(&server).xet_read_token(&repo(), SHA).await.unwrap();
        assert_eq!(token.cas_url.as_str(), "https://cas.test/");
        assert_eq!(token.expires, SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000));
        assert_eq!(token.token.bearer(), "Bearer xetsecret");
        assert!(!format!("{token:?}").contains("xetsecret"));
        assert_eq!(server.take_lines(), [format!("GET /api/datasets/org/name/xet-read-token/{SHA}")]);
    }
}

#[tokio::test]
async fn the_account_and_search_hits_are_read() {
    let server = Server::start(|seen| match seen.target.as_str() {
        "/api/whoami-v2" => Reply::json(json!({ "type": "user", "name": "me", "fullname": "Me", "orgs": [{ "name": "us" }], "auth": { "type": "access_token", "accessToken": { "displayName": "x", "role": "fineGrained", "createdAt": "2024-02-19T10:57:45.000Z", "expiration": "2033-05-18T03:33:20.000Z" } } })),
        _ => Reply::json(json!([
            { "id": "org/a", "downloads": 5, "likes": 1, "gated": "auto", "tags": ["license:mit"], "lastModified": "2024-02-19T10:57:45.000Z" },
            { "id": "org/b", "gated": false, "private": true },
            { "id": "not a name" },
        ])),
    })
    .await;
    let hub = hub(&server);
    let account = hub.whoami().await.unwrap();
    assert_eq!((&*account.name, account.full_name.as_deref(), account.orgs.len()), ("me", Some("Me"), 1));
    assert_eq!(account.role.as_deref(), Some("fineGrained"));
    assert_eq!(account.expires, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000)));
    // An older Hub says less, an OAuth login other things.
    for (auth, role, expires) in [
        (json!({ "name": "me" }), None, None),
        (
            json!({ "name": "me", "fullname": null, "auth": { "type": "oauth", "expiresAt": "2033-05-18T03:33:20Z" } }),
            None,
            account.expires,
        ),
    ] {
        let account: people::Account = serde_json::from_value(auth).unwrap();
        assert_eq!((account.role.as_deref(), account.expires), (role, expires));
    }
    server.take();
    let search = people::Search {
        kind: RepoKind::Model,
        words: " a b&c ".into(),
        author: Some("org".into()),
        sort: people::SearchSort::Downloads,
        limit: 1_000,
    };
    let hits = hub.search(&search).await.unwrap();
    assert_eq!(hits.len(), 2);
    assert_eq!(
        (hits[0].gated, hits[0].licence.as_deref(), hits[1].private, hits[1].gated),
        (true, Some("mit"), true, false)
    );
    let line = server.take_lines().remove(0);
    assert!(line.starts_with("GET /api/models?sort=downloads&direction=-1&limit=100&expand=downloads&"), "{line}");
    assert!(line.ends_with("&search=a+b%26c&author=org"), "{line}");
}

#[tokio::test]
async fn a_gated_repo_is_found_out_before_anything_is_opened() {
    for (gated, status, code, requests, expected) in [
        (json!(false), 401, "GatedRepo", 1, None),
        (json!("auto"), 200, "", 2, None),
        (json!("auto"), 401, "GatedRepo", 2, Some(ErrorKind::Gated)),
        (json!("manual"), 403, "GatedRepo", 2, Some(ErrorKind::Gated)),
        (json!("manual"), 404, "", 2, None),
    ] {
        let token = json!({ "casUrl": "https://cas.test", "accessToken": "x", "exp": 1 });
        let gate = gated.clone();
        let server = Server::start(move |seen| match seen.target.contains("xet-read-token") {
            true if status == 200 => Reply::json(token.clone()),
            true if code.is_empty() => Reply::new(status),
            true => Reply::new(status).with("x-error-code", code),
            false => Reply::json(json!({ "id": "org/name", "sha": SHA, "gated": gate })),
        })
        .await;
        let hub = hub(&server);
        let commit = hub.commit(&repo(), "main").await.unwrap();
        let checked = hub.check_access(&commit).await;
        assert_eq!(checked.map_err(|error| error.kind()).err(), expected, "{gated} {status}");
        assert_eq!(server.take().len(), requests, "{gated} {status}");
    }
}

#[tokio::test]
async fn refs_and_history_are_read() {
    let server = Server::start(|seen| match seen.target.as_str() {
        target if target.contains("/refs") => Reply::json(json!({
            "branches": [{ "name": "main", "ref": "refs/heads/main", "targetCommit": SHA }], "tags": [], "converts": [],
            "pullRequests": [{ "name": "1", "ref": "refs/pr/1", "targetCommit": SHA }],
        })),
        _ => Reply::json(json!([{ "id": SHA, "title": "t", "message": "", "date": "2024-02-19T10:57:45.000Z", "authors": [{ "user": "me" }] }])),
    })
    .await;
    let hub = hub(&server);
    let refs = hub.refs(&repo()).await.unwrap();
    assert_eq!((&*refs.branches[0].target_commit, &*refs.pull_requests[0].git_ref), (SHA, "refs/pr/1"));
    assert_eq!(hub.history(&repo(), "main").await.unwrap()[0].id, SHA);
}
