//! `huggingface_hub`, the real Python client, judges the simulator.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::Digest;
use weightless_hub_sim::{Content, HubSim, RepoDef, RepoKind, Storage};

const MIB: u64 = 1 << 20;
const REPO: &str = "org/m";

fn repos() -> Vec<RepoDef> {
    let main = RepoDef::model(REPO)
        .renamed_from("org/former")
        .downloads(10)
        .license("mit")
        .file("README.md", "---\nlicense: mit\n---\n# hello\n")
        .file("empty.txt", "")
        .file("one.bin", Content::random(1, 1))
        .file("whole xorbs.bin", Content::random(2, 70 * MIB + 3))
        .commit("first")
        .tag("v1")
        .file("scattered.bin", Content::scattered(3, 5 * MIB + 1, 3))
        .file("repeating.bin", Content::repeating(4, 40 * MIB))
        .file("deep/er/compressible.bin", Content::compressible(5, 3 * MIB))
        .file_as("old.bin", Content::random(6, 200_000), Storage::Lfs)
        .commit("second");
    let odd_names =
        ["a b.txt", "hash#.txt", "percent%2F.txt", "plus+and&.txt", "at@.txt", "why?.txt", "emoji 🎈.bin", ".hidden"];
    let main = odd_names.iter().fold(main, |main, name| main.file(format!("odd/{name}"), format!("{name}\n")));
    let main = main.commit("third").branch("dev").file("dev.txt", "dev").commit("on dev").on("main");
    let many = (0..1_234).fold(RepoDef::dataset("org/many"), |many, index| many.file(format!("d/{index}.txt"), "x"));
    vec![
        main.pull_request(1).file("proposed.bin", Content::random(7, MIB)).commit("proposal"),
        RepoDef::model("org/private").private().file("a.txt", "a"),
        RepoDef::model("org/gated").gated().file("a.bin", Content::random(8, MIB)),
        many,
    ]
}

fn facts(sim: &HubSim, revision: &str) -> BTreeMap<String, Value> {
    let paths = sim.paths(RepoKind::Model, REPO, revision).unwrap();
    paths
        .into_iter()
        .map(|path| {
            let file = sim.file(RepoKind::Model, REPO, revision, &path).unwrap();
            let large = file.sha256.is_some();
            let sha256 = file.sha256.unwrap_or_else(|| {
                let digest = sha2::Sha256::digest(file.content.unwrap().to_bytes().unwrap());
                digest.iter().map(|byte| format!("{byte:02x}")).collect()
            });
            let facts = json!({ "size": file.size, "sha256": sha256, "large": large, "xet": file.xet_hash.is_some() });
            (path, facts)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_client_takes_it_for_the_hub() {
    let python = std::env::var_os("WEIGHTLESS_PYTHON").expect(
        "WEIGHTLESS_PYTHON names no Python with huggingface_hub: run the tests through ./dev test, which installs one",
    );
    let sim = HubSim::builder().repos(repos()).start().await.unwrap();
    let cases = json!({
        "endpoint": sim.endpoint(),
        "owner_token": sim.owner_token(),
        "reader_token": sim.reader_token(),
        "repo": REPO,
        "former": "org/former",
        "files": facts(&sim, "main"),
        "pull_files": facts(&sim, "refs/pr/1"),
        "private": "org/private",
        "gated": "org/gated",
        "many": "org/many",
        "many_count": 1_234,
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cases.json");
    std::fs::write(&path, cases.to_string()).unwrap();
    let judge = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("python/judge.py");
    let judged = tokio::process::Command::new(&python).arg(judge).arg(&path).env("TMPDIR", dir.path()).output().await;
    let judged = judged.unwrap_or_else(|error| panic!("cannot run {}: {error}", python.display()));
    println!("{}", String::from_utf8_lossy(&judged.stdout));
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
}
