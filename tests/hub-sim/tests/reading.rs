//! What a client that speaks HTTP itself reads from the simulator.

use std::io::Cursor;

use serde_json::Value;
use weightless_hub_sim::{Content, HubSim, RepoDef, RepoKind, Storage};
use xet_client::cas_types::{QueryReconstructionResponse, QueryReconstructionResponseV2};
use xet_core_structures::xorb_object::deserialize_chunks;

const MIB: u64 = 1 << 20;

fn client() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

async fn get(url: String) -> reqwest::Response {
    client().get(url).send().await.unwrap()
}

fn header(response: &reqwest::Response, name: &str) -> String {
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

async fn sim() -> HubSim {
    let whole_xorbs = Content::random(1, 150 * MIB);
    let scattered = Content::scattered(2, 24 * MIB + 5, 3);
    HubSim::builder()
        .repo(
            RepoDef::model("org/m")
                .file("README.md", "# hello\n")
                .file("big.bin", whole_xorbs)
                .file("scattered.bin", scattered)
                .file("deep/text.bin", Content::compressible(3, MIB + 7))
                .file_as("old.bin", Content::random(4, 100_000), Storage::Lfs)
                .commit("first")
                .tag("v1")
                .file("later.txt", "later")
                .commit("second"),
        )
        .start()
        .await
        .unwrap()
}

async fn cas_token(sim: &HubSim) -> String {
    let token = get(format!("{}/api/models/org/m/xet-read-token/main", sim.endpoint())).await;
    token.json::<Value>().await.unwrap()["accessToken"].as_str().unwrap().to_owned()
}

async fn reconstruction(sim: &HubSim, version: &str, hash: &str, range: Option<&str>) -> reqwest::Response {
    let request = client()
        .get(format!("{}/{version}/reconstructions/{hash}", sim.cas_endpoint()))
        .bearer_auth(cas_token(sim).await);
    match range {
        Some(range) => request.header("range", range),
        None => request,
    }
    .send()
    .await
    .unwrap()
}

/// Rebuilds what a V1 answer describes.
async fn rebuild(answer: &QueryReconstructionResponse) -> Vec<u8> {
    let mut whole = Vec::new();
    for term in &answer.terms {
        let infos = &answer.fetch_info[&term.hash];
        let info =
            infos.iter().find(|info| info.range.start <= term.range.start && term.range.end <= info.range.end).unwrap();
        let response = client().get(&info.url).header("range", info.url_range.range_header()).send().await.unwrap();
        assert_eq!(response.status(), 206);
        let (data, ends) = deserialize_chunks(&mut Cursor::new(response.bytes().await.unwrap())).unwrap();
        let at = |chunk: u32| ends[(chunk - info.range.start) as usize] as usize;
        let part = &data[at(term.range.start)..at(term.range.end)];
        assert_eq!(part.len(), term.unpacked_length as usize);
        whole.extend_from_slice(part);
    }
    whole.split_off(answer.offset_into_first_range as usize)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_read_the_same_by_reconstruction_by_ranges_and_by_description() {
    let sim = sim().await;
    for (path, range) in [
        ("big.bin", (70 * MIB + 3, 4 * MIB)),
        ("scattered.bin", (MIB + 1, 4 * MIB)),
        ("deep/text.bin", (5, MIB)),
        ("big.bin", (150 * MIB - 10, 10)),
    ] {
        let file = sim.file(RepoKind::Model, "org/m", "main", path).unwrap();
        let hash = file.xet_hash.unwrap();
        let expected = file.content.unwrap().read(range.0, range.1 as usize).unwrap();
        let value = format!("bytes={}-{}", range.0, range.0 + range.1 - 1);

        let answer = reconstruction(&sim, "v1", &hash, Some(&value)).await;
        let answer: QueryReconstructionResponse = answer.json().await.unwrap();
        let mut rebuilt = rebuild(&answer).await;
        rebuilt.truncate(expected.len());
        assert!(rebuilt == expected, "{path} by reconstruction");

        let redirect = get(format!("{}/org/m/resolve/main/{path}", sim.endpoint())).await;
        assert_eq!(redirect.status(), 302);
        assert_eq!(header(&redirect, "x-linked-size"), file.size.to_string());
        assert_eq!(header(&redirect, "x-xet-hash"), hash);
        let location = header(&redirect, "location");
        assert!(location.starts_with("http://127.0.0.2:"), "{location}");
        let part = client().get(location).header("range", value).send().await.unwrap();
        assert_eq!(part.status(), 206);
        assert!(part.bytes().await.unwrap() == expected, "{path} by range");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconstructions_are_trimmed_and_signed_as_the_service_does() {
    let sim = sim().await;
    let hash = |path| sim.file(RepoKind::Model, "org/m", "main", path).unwrap().xet_hash.unwrap();

    let whole: QueryReconstructionResponse =
        reconstruction(&sim, "v1", &hash("big.bin"), None).await.json().await.unwrap();
    assert_eq!(whole.terms.len(), 3);
    assert!(whole.terms[0].unpacked_length > 63 << 20);
    assert_eq!(whole.offset_into_first_range, 0);

    let part: QueryReconstructionResponse =
        reconstruction(&sim, "v1", &hash("big.bin"), Some("bytes=100000-104095")).await.json().await.unwrap();
    assert_eq!(part.terms.len(), 1);
    assert!(part.terms[0].unpacked_length <= 2 * (128 << 10));

    let scattered = reconstruction(&sim, "v2", &hash("scattered.bin"), Some("bytes=0-4194303")).await;
    let scattered: QueryReconstructionResponseV2 = scattered.json().await.unwrap();
    assert_eq!(scattered.terms.len(), 64);
    assert_eq!(scattered.xorbs.len(), 3);

    for (range, status) in [("bytes=157286400-157286401", 416), ("bytes=5-", 400), ("bytes=9-3", 400)] {
        assert_eq!(reconstruction(&sim, "v1", &hash("big.bin"), Some(range)).await.status(), status, "{range}");
    }
    assert_eq!(reconstruction(&sim, "v1", &"ab".repeat(32), None).await.status(), 404);

    let info = &part.fetch_info[&part.terms[0].hash][0];
    let signed = info.url_range.range_header();
    for (range, status) in [(signed.as_str(), 206), ("bytes=0-0", 403), ("", 403)] {
        let mut request = client().get(&info.url);
        if !range.is_empty() {
            request = request.header("range", range);
        }
        assert_eq!(request.send().await.unwrap().status(), status, "{range}");
    }
    sim.set_signed_url_lifetime(std::time::Duration::ZERO);
    sim.set_xet_token_lifetime(std::time::Duration::ZERO);
    assert_eq!(reconstruction(&sim, "v1", &hash("big.bin"), None).await.status(), 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_gibibytes_cost_sixteen_mebibytes() {
    let sim = HubSim::builder()
        .repo(RepoDef::model("org/m"))
        .repo(RepoDef::model("org/huge").file("huge.bin", Content::repeating(1, 5 << 30)))
        .start()
        .await
        .unwrap();
    let file = sim.file(RepoKind::Model, "org/huge", "main", "huge.bin").unwrap();
    let content = file.content.unwrap();
    for offset in [(1_u64 << 31) - 5, (1 << 32) - 5, (5 << 30) - 10] {
        let value = format!("bytes={offset}-{}", offset + 9);
        let answer = reconstruction(&sim, "v1", &file.xet_hash.clone().unwrap(), Some(&value)).await;
        let answer: QueryReconstructionResponse = answer.json().await.unwrap();
        assert_eq!(rebuild(&answer).await[..10], content.read(offset, 10).unwrap(), "{offset}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_follow_the_link_header() {
    let mut def = RepoDef::dataset("org/many");
    for index in 0..2_500 {
        def = def.file(format!("data/{index:05}.txt"), format!("{index}"));
    }
    let sim = HubSim::builder().repo(def).start().await.unwrap();
    let mut next = Some(format!("{}/api/datasets/org/many/tree/main/data", sim.endpoint()));
    let mut sizes = Vec::new();
    while let Some(url) = next {
        let response = get(url).await;
        next = header(&response, "link").split_once('>').map(|(url, _)| url[1..].to_owned());
        sizes.push(response.json::<Vec<Value>>().await.unwrap().len());
    }
    assert_eq!(sizes, [1_000, 1_000, 500]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_carry_the_hubs_codes() {
    let sim = HubSim::builder()
        .repo(RepoDef::model("org/open").file("a.txt", "a").renamed_from("org/former"))
        .repo(RepoDef::model("org/private").file("a.txt", "a").private())
        .repo(RepoDef::model("org/gated").file("a.txt", "a").gated())
        .start()
        .await
        .unwrap();
    let (owner, reader) = (sim.owner_token(), sim.reader_token());
    let rows = [
        ("/org/open/resolve/main/a.txt", "", 200, ""),
        ("/org/open/resolve/main/b.txt", "", 404, "EntryNotFound"),
        ("/org/open/resolve/nope/a.txt", "", 404, "RevisionNotFound"),
        ("/api/models/org/open/tree/main/nope", "", 404, "EntryNotFound"),
        ("/api/models/org/open/revision/nope", "", 404, "RevisionNotFound"),
        ("/api/models/org/none", "", 401, "RepoNotFound"),
        ("/api/models/org/none", reader, 404, "RepoNotFound"),
        ("/api/models/org/private", "", 401, "RepoNotFound"),
        ("/api/models/org/private", reader, 404, "RepoNotFound"),
        ("/api/models/org/private", owner, 200, ""),
        ("/api/models/org/gated", "", 200, ""),
        ("/org/gated/resolve/main/a.txt", "", 401, "GatedRepo"),
        ("/org/gated/resolve/main/a.txt", reader, 403, "GatedRepo"),
        ("/org/gated/resolve/main/a.txt", owner, 200, ""),
        ("/api/models/org/open", "hf_nobody", 401, ""),
        ("/api/models/org/former", "", 307, ""),
        ("/api/whoami-v2", "", 401, ""),
        ("/api/whoami-v2", reader, 200, ""),
    ];
    for (path, token, status, code) in rows {
        let mut request = client().get(format!("{}{path}", sim.endpoint()));
        if !token.is_empty() {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        assert_eq!((response.status().as_u16(), header(&response, "x-error-code").as_str()), (status, code), "{path}");
        assert!(response.headers().contains_key("ratelimit"));
    }
}
