//! The fetcher before a network that counts.
#![expect(clippy::single_range_in_vec_init, reason = "a list of one run of blocks is what is meant")]

use super::*;
use crate::Result;
use crate::hub::View;
use crate::reader::Fetcher;
use crate::repo::{RepoId, RepoKind};
use crate::transport::{Local, Location, Origin, Sink, Source, XetToken};
use crate::tree::FileMeta;
use futures_util::future::BoxFuture;
use std::fmt::Write;
use weightless_plan::{BlockIx, Urgency};

/// Serves one content; remembers what it was asked.
#[derive(Default)]
struct Network {
    bytes: Vec<u8>,
    asked: Mutex<Vec<Range<u64>>>,
}

impl Fetcher for Network {
    fn fetch<'a>(
        &'a self,
        _: &'a Arc<Source>,
        range: Range<u64>,
        _: Urgency,
        sink: &'a Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(range.clone());
            sink.sent();
            let content = &self.bytes[range.start as usize..range.end as usize];
            sink.received(content.len());
            sink.write(range.start, content);
            Ok(())
        })
    }

    fn buffer_bytes(&self) -> u64 {
        0
    }
}

#[derive(Debug)]
struct Nowhere(View);

impl Origin for Nowhere {
    fn view(&self) -> View {
        self.0
    }

    fn address(&self) -> &str {
        HUB
    }

    fn data_client(&self) -> &reqwest::Client {
        unreachable!("the network is a fake")
    }

    fn xet_token(&self, _: &RepoId, _: &str) -> BoxFuture<'static, Result<XetToken>> {
        unreachable!("the network is a fake")
    }

    fn locate(&self, _: &RepoId, _: &str, _: &str) -> BoxFuture<'static, Result<Location>> {
        unreachable!("the network is a fake")
    }
}

/// What a fetch brought, and where each block came from.
#[derive(Default)]
struct Collected {
    bytes: Mutex<Vec<Option<u8>>>,
    received: AtomicUsize,
    local: Mutex<Vec<(Local, u64)>>,
}

impl Collected {
    fn put(&self, offset: u64, content: &[u8]) {
        for (at, byte) in (offset as usize..).zip(content) {
            assert_eq!(self.bytes.lock().unwrap()[at].replace(*byte), None, "each byte once");
        }
    }
}

impl Sink for Collected {
    fn sent(&self) {}

    fn received(&self, wire_bytes: usize) {
        self.received.fetch_add(wire_bytes, Relaxed);
    }

    fn write(&self, offset: u64, content: &[u8]) {
        self.put(offset, content);
    }

    fn write_local(&self, from: Local, offset: u64, content: &[u8]) {
        self.local.lock().unwrap().push((from, offset));
        self.put(offset, content);
    }
}

struct World {
    dir: tempfile::TempDir,
    known: Known,
    network: Arc<Network>,
}

impl World {
    fn new(size: usize) -> Self {
        let known = Known::new(7, size);
        let network = Arc::new(Network { bytes: known.bytes.clone(), ..Network::default() });
        World { dir: tempfile::tempdir().unwrap(), known, network }
    }

    fn source(&self) -> Arc<Source> {
        let ContentHash::Sha256(hash) = self.known.blob.hash else { panic!("a sha256") };
        let sha256 = hash.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        });
        Arc::new(Source {
            origin: Arc::new(Nowhere(View::fresh())),
            repo: RepoId { kind: RepoKind::Model, name: "org/name".into() },
            commit: "c0ffee".into(),
            file: Arc::new(FileMeta {
                path: "dir/file".into(),
                size: self.known.blob.size,
                git_oid: "0".repeat(40),
                sha256: Some(sha256),
                xet_hash: None,
            }),
        })
    }

    fn store(&self) -> Arc<Store> {
        Arc::new(real(&self.dir.path().join("store"), ROOMY, 1024))
    }

    fn fetcher(&self, store: &Arc<Store>) -> LocalFetcher {
        LocalFetcher::new(Some(store.clone()), Some(HubCache::at(self.dir.path().join("hub"))), self.network.clone())
    }

    /// Fetches blocks as the reader does, keeping what came from the network; returns what was asked of it, in blocks, and
    /// where what was here came from.
    async fn fetch(&self, fetcher: &LocalFetcher, blocks: Range<u32>) -> (Vec<Range<u32>>, Vec<Local>) {
        let source = self.source();
        let range = cell::bytes(&self.known.blob, &blocks);
        let collected = Arc::new(Collected::default());
        *collected.bytes.lock().unwrap() = vec![None; self.known.bytes.len()];
        let sink: Arc<dyn Sink> = collected.clone();
        fetcher.fetch(&source, range.clone(), Urgency::Soon, &sink).await.unwrap();
        for (at, byte) in collected.bytes.lock().unwrap().iter().enumerate() {
            let expected = range.contains(&(at as u64)).then(|| self.known.bytes[at]);
            assert!(*byte == expected, "byte {at}");
        }
        let local = collected.local.lock().unwrap().clone();
        for block in blocks {
            if !local.iter().any(|(_, at)| *at == u64::from(block) * BLOCK_BYTES) {
                fetcher.keep(&source, BlockIx(block), &Bytes::copy_from_slice(self.known.block(block)));
            }
        }
        if let Some(store) = &fetcher.stats().store {
            assert_eq!(store.dropped_blocks, 0);
        }
        let asked = std::mem::take(&mut *self.network.asked.lock().unwrap());
        let asked =
            asked.iter().map(|range| (range.start / BLOCK_BYTES) as u32..range.end.div_ceil(BLOCK_BYTES) as u32);
        (asked.collect(), local.into_iter().map(|(from, _)| from).collect())
    }
}

#[tokio::test]
async fn each_block_crosses_the_network_once() {
    let world = World::new(200 * BLOCK + 77);
    let store = world.store();
    let fetcher = world.fetcher(&store);
    for (blocks, expected) in
        [(0..100, vec![0..100]), (80..201, vec![100..201]), (40..160, vec![]), (0..201, vec![]), (200..201, vec![])]
    {
        let (asked, _) = world.fetch(&fetcher, blocks.clone()).await;
        assert_eq!(asked, expected, "{blocks:?}");
        assert!(store.flush(Duration::from_secs(60)));
    }
    // Another process, and one after this has ended.
    let (asked, from) = world.fetch(&world.fetcher(&world.store()), 0..201).await;
    assert!(asked.is_empty() && from == vec![Local::Store; 201]);
    drop((fetcher, store));
    assert!(world.fetch(&world.fetcher(&world.store()), 0..201).await.0.is_empty());
}

#[tokio::test]
async fn what_is_broken_on_the_disk_is_fetched_again() {
    let world = World::new(70 * BLOCK);
    let store = world.store();
    let fetcher = world.fetcher(&store);
    world.fetch(&fetcher, 0..70).await;
    assert!(store.flush(Duration::from_secs(60)));
    let folder = world.dir.path().join("store");
    let path = |number| CellId { key: world.known.blob.key, number }.path(&folder);
    let mut content = std::fs::read(path(0)).unwrap();
    content[4096 + 5 * BLOCK + 3] ^= 1;
    std::fs::write(path(0), content).unwrap();
    std::fs::write(path(1), "alien").unwrap();
    assert_eq!(world.fetch(&fetcher, 0..70).await.0, [64..70, 5..6]);
    assert!(store.flush(Duration::from_secs(60)));
    assert!(world.fetch(&fetcher, 0..70).await.0.is_empty(), "kept again");
    std::fs::File::options().write(true).open(path(0)).unwrap().set_len(4096 + 63 * BLOCK as u64 + 9).unwrap();
    assert_eq!(world.fetch(&fetcher, 0..64).await.0, [63..64], "cut short");
}

#[tokio::test]
async fn a_store_that_is_off_keeps_and_serves_nothing() {
    let world = World::new(4 * BLOCK);
    let store = world.store();
    let fetcher = world.fetcher(&store);
    world.fetch(&fetcher, 0..4).await;
    assert!(store.flush(Duration::from_secs(60)));
    store.set_limits(StoreLimits { max_bytes: 0, keep_free_bytes: 0 });
    for _ in 0..2 {
        assert_eq!(world.fetch(&fetcher, 0..4).await.0, [0..4]);
    }
    assert!(store.flush(Duration::from_secs(60)));
    assert_eq!(store.stats().used_bytes, 0);
}

#[tokio::test]
async fn the_hugging_face_cache_serves_both_of_its_layouts() {
    let world = World::new(9 * BLOCK + 1);
    let repo = world.dir.path().join("hub/models--org--name");
    let blob = repo.join("blobs").join(world.source().file.sha256.as_deref().unwrap());
    let copy = repo.join("snapshots/c0ffee/dir/file");
    let store = world.store();
    for path in [blob, copy] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let fetcher = LocalFetcher::new(None, Some(HubCache::at(world.dir.path().join("hub"))), world.network.clone());
        std::fs::write(&path, &world.known.bytes[1..]).unwrap();
        assert_eq!(world.fetch(&fetcher, 0..10).await.0, [0..10], "of another size");
        std::fs::write(&path, &world.known.bytes).unwrap();
        let (asked, from) = world.fetch(&fetcher, 0..10).await;
        assert!(asked.is_empty() && from == vec![Local::HubCache; 10]);
        let (asked, from) = world.fetch(&world.fetcher(&store), 3..4).await;
        assert!(asked.is_empty() && from == [Local::HubCache], "it comes before the store");
        std::fs::remove_file(path).unwrap();
        assert_eq!(world.fetch(&fetcher, 0..10).await.0, [0..10]);
    }
    assert!(store.flush(Duration::from_secs(60)));
    assert_eq!(store.stats().used_bytes, 0, "nothing is kept twice");
}
