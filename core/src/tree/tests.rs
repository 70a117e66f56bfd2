use super::*;
use crate::hub::Hub;
use crate::net::NetConfig;
use crate::repo::RepoKind;
use crate::testing::{Reply, Seen, Server};
use futures_util::future::join_all;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SHA: &str = "607a30d783dfa663caf39e06633721c8d4cfcd7e";

/// A Hub that has `files`, by path, and pages as the real one does. A size of `u64::MAX` is left out of its answers.
#[derive(Clone, Default)]
struct Repo {
    files: BTreeMap<String, u64>,
}

impl Repo {
    fn new<P: Into<String>>(files: impl IntoIterator<Item = (P, u64)>) -> Self {
        Repo { files: files.into_iter().map(|(path, size)| (path.into(), size)).collect() }
    }

    /// Every folder and file, in the order of their paths.
    fn entries(&self) -> BTreeMap<&str, Option<u64>> {
        let mut all = BTreeMap::new();
        for (path, size) in &self.files {
            all.extend(path.match_indices('/').map(|(at, _)| (&path[..at], None)));
            all.insert(path, Some(*size));
        }
        all
    }

    fn json(path: &str, size: Option<u64>) -> Value {
        match size {
            None => json!({ "type": "directory", "path": path, "oid": SHA }),
            Some(u64::MAX) => json!({ "type": "file", "path": path, "oid": SHA }),
            Some(size) => json!({ "type": "file", "path": path, "oid": SHA, "size": size }),
        }
    }

    fn answer(&self, seen: &Seen) -> Reply {
        let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
        let query: BTreeMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let path = percent_decode_str(path).decode_utf8().unwrap();
        if path.starts_with("/api/models/org/name/paths-info/") {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let entries = self.entries();
            let found = body["paths"].as_array().unwrap().iter().filter_map(|path| {
                let path = path.as_str().unwrap();
                Some(Self::json(path, *entries.get(path)?))
            });
            return Reply::json(found.collect());
        }
        if let Some(path) = path.strip_prefix(&format!("/org/name/resolve/{SHA}/")) {
            return match self.files.get(path) {
                Some(_) => Reply::new(200).with("etag", "\"x\"").with("content-length", "77"),
                None => Reply::new(404).with("x-error-code", "EntryNotFound"),
            };
        }
        let dir = path.strip_prefix(&format!("/api/models/org/name/tree/{SHA}")).unwrap().trim_start_matches('/');
        let entries = self.entries();
        if !dir.is_empty() && entries.get(dir) != Some(&None) {
            return Reply::new(404).with("x-error-code", "EntryNotFound");
        }
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let recursive = query.contains_key("recursive");
        let below: Vec<_> = entries
            .into_iter()
            .filter(|(path, _)| path.strip_prefix(&prefix).is_some_and(|rest| recursive || !rest.contains('/')))
            .collect();
        let limit: usize = query["limit"].parse().unwrap();
        let start: usize = query.get("cursor").map_or(0, |cursor| cursor.parse().unwrap());
        let page = below.iter().skip(start).take(limit).map(|(path, size)| Self::json(path, *size)).collect();
        let reply = Reply::json(page);
        if below.len() <= start + limit {
            return reply;
        }
        let base = seen.target.split("&cursor").next().unwrap();
        reply.with("link", format!("<{base}&cursor={}>; rel=\"next\"", start + limit))
    }

    async fn serve(self) -> (Server, Arc<Hub>) {
        let server = Server::start(move |seen| self.answer(seen)).await;
        let config = NetConfig::new(Some(server.url.as_str()), &|_| None).unwrap();
        (server, Arc::new(Hub::new(config, None).unwrap()))
    }
}

async fn open(hub: &Arc<Hub>, subfolder: Option<&str>) -> Result<Arc<Tree>> {
    let repo = RepoId::new(RepoKind::Model, "org/name").unwrap();
    Tree::open(Arc::clone(hub), repo, SHA.into(), subfolder, NodeId::ROOT).await
}

async fn at(tree: &Arc<Tree>, path: &str) -> Result<Node> {
    let mut node = tree.node(NodeId::ROOT).unwrap();
    for name in path.split('/') {
        node = tree.lookup(node.id, name).await?;
    }
    Ok(node)
}

async fn names(tree: &Arc<Tree>, dir: NodeId) -> Vec<String> {
    tree.read_dir(dir).await.unwrap().entries.iter().map(|node| node.name.to_string()).collect()
}

fn size(node: &Node) -> Option<u64> {
    match &node.kind {
        NodeKind::File(meta) => Some(meta.size),
        NodeKind::Directory => None,
    }
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.map(drop).expect_err("an error").kind()
}

/// A folder of `len` files beside a small one, too many for one page.
fn big(len: usize) -> Repo {
    let many = (0..len).map(|ix| (format!("big/f{ix:05}"), ix as u64));
    Repo::new(many.chain([("zoo/a/b".to_owned(), 5), ("zoo/c".to_owned(), 6)]))
}

#[tokio::test]
async fn a_small_repo_is_known_whole_from_one_request() {
    let (server, hub) = Repo::new([("README.md", 3), ("foo", 1), ("foo.bar/x", 2), ("foo-bar", 4)]).serve().await;
    let tree = open(&hub, None).await.unwrap();
    assert_eq!(server.take_lines(), [format!("GET /api/models/org/name/tree/{SHA}?recursive=true&limit=1000")]);
    assert_eq!(tree.totals(), Totals { bytes: 10, files: 4, skipped: 0, complete: true });
    assert_eq!(names(&tree, NodeId::ROOT).await, ["README.md", "foo", "foo-bar", "foo.bar"]);
    let x = at(&tree, "foo.bar/x").await.unwrap();
    assert_eq!((size(&x), x.parent), (Some(2), at(&tree, "foo.bar").await.unwrap().id));
    for (path, expected) in [
        ("foo/x", ErrorKind::NotADirectory),
        ("foo.ba", ErrorKind::EntryNotFound),
        ("foo.bar/y", ErrorKind::EntryNotFound),
        ("..", ErrorKind::EntryNotFound),
        ("", ErrorKind::EntryNotFound),
    ] {
        assert_eq!(kind(at(&tree, path).await), expected, "{path}");
    }
    assert_eq!(kind(tree.read_dir(x.id).await), ErrorKind::NotADirectory);
    assert_eq!(kind(tree.read_dir(NodeId(99)).await), ErrorKind::EntryNotFound);
    assert_eq!(tree.node(NodeId::ROOT).unwrap().parent, NodeId::ROOT);
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn the_ids_of_a_tree_follow_its_root() {
    let (_server, hub) = Repo::new([("a/b", 1), ("c", 2)]).serve().await;
    let repo = RepoId::new(RepoKind::Model, "org/name").unwrap();
    let first = NodeId(7 << 32 | 1);
    let tree = Tree::open(hub, repo, SHA.into(), None, first).await.unwrap();
    let a = tree.lookup(first, "a").await.unwrap();
    let b = tree.lookup(a.id, "b").await.unwrap();
    assert_eq!((a.parent, b.parent), (first, a.id));
    for id in tree.read_dir(first).await.unwrap().entries.iter().map(|node| node.id).chain([first, b.id]) {
        assert_eq!((id.0 >> 32, tree.node(id).unwrap().id), (7, id));
    }
    assert!(tree.node(NodeId::ROOT).is_none());
}

#[tokio::test]
async fn an_empty_repo_is_an_empty_folder() {
    let (_server, hub) = Repo::default().serve().await;
    let tree = open(&hub, None).await.unwrap();
    assert_eq!(names(&tree, NodeId::ROOT).await, [""; 0]);
    assert!(tree.totals().complete);
}

#[tokio::test]
async fn only_the_hub_itself_says_that_a_commit_is_empty() {
    for (code, is_empty) in [(Some("EntryNotFound"), true), (None, false)] {
        let server = Server::start(move |_| {
            let reply = Reply::new(404);
            if let Some(code) = code { reply.with("x-error-code", code) } else { reply }
        })
        .await;
        let config = NetConfig::new(Some(server.url.as_str()), &|_| None).unwrap();
        let tree = open(&Arc::new(Hub::new(config, None).unwrap()), None).await;
        assert_eq!(tree.is_ok(), is_empty, "{code:?}");
    }
}

#[tokio::test]
async fn a_big_folder_is_listed_in_its_pages_once_for_all_callers() {
    let (server, hub) = big(50_000).serve().await;
    let tree = open(&hub, None).await.unwrap();
    assert_eq!(server.take().len(), 1);
    assert!(!tree.totals().complete);
    let dir = at(&tree, "big").await.unwrap();
    let early = at(&tree, "big/f00007").await.unwrap();
    server.take();

    let listings = join_all((0..4).map(|_| tree.read_dir(dir.id))).await;
    assert_eq!(server.take().len(), 50);
    for listing in &listings {
        let listing = listing.as_ref().unwrap();
        assert_eq!(listing.entries.len(), 50_000);
        assert!(Arc::ptr_eq(listing, listings[0].as_ref().unwrap()));
        assert!(listing.entries.iter().enumerate().all(|(ix, node)| *node.name == format!("f{ix:05}")));
        assert_eq!(listing.entries[7].id, early.id);
    }
    assert_eq!(size(&at(&tree, "big/f49999").await.unwrap()), Some(49_999));
    assert_eq!(kind(at(&tree, "big/f50000").await), ErrorKind::EntryNotFound);
    drop(listings);
    assert_eq!(tree.read_dir(dir.id).await.unwrap().entries[7].id, early.id);
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn one_name_of_a_big_folder_is_one_request() {
    let (server, hub) = big(50_000).serve().await;
    let tree = open(&hub, None).await.unwrap();
    let dir = at(&tree, "big").await.unwrap();
    server.take();

    let found = join_all((0..8).map(|_| tree.lookup(dir.id, "f42000"))).await;
    let ids: Vec<_> = found.into_iter().map(|node| node.unwrap().id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(server.take_lines(), [format!("POST /api/models/org/name/paths-info/{SHA}")]);
    assert_eq!(tree.node(ids[0]).unwrap().parent, dir.id);

    let absent = join_all((0..8).map(|_| tree.lookup(dir.id, "absent"))).await;
    assert!(absent.into_iter().all(|result| kind(result) == ErrorKind::EntryNotFound));
    assert_eq!(server.take().len(), 1);
    assert_eq!(kind(tree.lookup(dir.id, "absent").await), ErrorKind::EntryNotFound);
    for hostile in ["..", ".", "", "a/b", "a\0", &"x".repeat(256)] {
        assert_eq!(kind(tree.lookup(dir.id, hostile).await), ErrorKind::EntryNotFound, "{hostile:?}");
    }
    assert!(server.take().is_empty());

    assert_eq!(size(&at(&tree, "zoo/a/b").await.unwrap()), Some(5));
    assert_eq!(server.take().len(), 3);
}

#[tokio::test]
async fn a_lookup_that_was_given_up_is_asked_again() {
    let (server, hub) = big(2_000).serve().await;
    let tree = open(&hub, None).await.unwrap();
    let dir = at(&tree, "big").await.unwrap();
    server.take();
    let mut given_up = Box::pin(tree.lookup(dir.id, "f01999"));
    assert!(futures_util::poll!(given_up.as_mut()).is_pending());
    drop(given_up);
    assert_eq!(size(&tree.lookup(dir.id, "f01999").await.unwrap()), Some(1_999));
}

#[tokio::test]
async fn a_subfolder_can_be_the_root() {
    let (server, hub) = Repo::new([("a/b/c d/x", 1), ("a/b/y", 2), ("a/bb/z", 3), ("f", 4)]).serve().await;
    let tree = open(&hub, Some("/a/b/")).await.unwrap();
    assert_eq!(server.take_lines(), [format!("GET /api/models/org/name/tree/{SHA}/a/b?recursive=true&limit=1000")]);
    assert_eq!(names(&tree, NodeId::ROOT).await, ["c d", "y"]);
    let NodeKind::File(meta) = at(&tree, "c d/x").await.unwrap().kind else { panic!() };
    assert_eq!((&*meta.path, meta.size, &*meta.git_oid), ("a/b/c d/x", 1, SHA));
    assert_eq!(tree.totals(), Totals { bytes: 3, files: 2, skipped: 0, complete: true });

    assert_eq!(kind(open(&hub, Some("f")).await), ErrorKind::NotADirectory);
    assert_eq!(kind(open(&hub, Some("a/c")).await), ErrorKind::EntryNotFound);
    assert_eq!(kind(open(&hub, Some("a/../a")).await), ErrorKind::EntryNotFound);
}

#[tokio::test]
async fn a_size_that_is_not_told_is_asked_for() {
    let (server, hub) = Repo::new([("a", u64::MAX), ("b", 5)]).serve().await;
    let tree = open(&hub, None).await.unwrap();
    assert_eq!(size(&at(&tree, "a").await.unwrap()), Some(77));
    assert_eq!(server.take().len(), 2);

    let (_server, hub) = Repo::new((0..200).map(|ix| (format!("f{ix}"), u64::MAX))).serve().await;
    assert_eq!(kind(open(&hub, None).await), ErrorKind::Protocol);
}
