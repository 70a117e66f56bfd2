//! Takes xorbs and shards from clients, and checks them as the service does: every chunk hashed again, every term
//! against its xorb. Never trusts what an upload says about itself.

use std::io::{self, Cursor};
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use serde_json::json;
use xet_client::cas_types::{ShardUploadEvent, UploadShardResponse, UploadShardResponseType, UploadXorbResponse};
use xet_core_structures::merklehash::{MerkleHash, file_hash};
use xet_core_structures::metadata_shard::chunk_verification::range_hash_from_chunks;
use xet_core_structures::metadata_shard::file_structs::MDBFileInfo;
use xet_core_structures::metadata_shard::streaming_shard::MDBMinimalShard;

use crate::http::Refusal;
use crate::hub::Hub;
use crate::xet::XetFile;

/// Where the data host takes xorbs that a grant was given for.
pub(crate) const GRANT_FOLDER: &str = "xorb-uploads";

/// Two ways to answer a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShardAnswer {
    /// One JSON object.
    V1,
    /// A line for each step.
    V2,
}

/// Allows one upload to the data host, unless the xorb is there.
pub(super) fn grant(hub: &Hub, hash: &MerkleHash, body: &Bytes) -> Result<Response, Refusal> {
    if hub.store.xorb(hash).is_some() {
        return Ok(StatusCode::OK.into_response());
    }
    let asked: serde_json::Value =
        serde_json::from_slice(body).map_err(|error| Refusal::bad_request(error.to_string()))?;
    let length = asked["length"].as_u64().ok_or_else(|| Refusal::bad_request("\"length\" is required"))?;
    let too_many = || Refusal::new(StatusCode::NOT_FOUND, "", "no grants at the moment");
    let id = hub.add_grant(length).ok_or_else(too_many)?;
    let path = format!("/{GRANT_FOLDER}/{id}");
    let query = hub.signer.query(&path, "", hub.lifetimes().signed_url);
    let answer = json!({
        "id": id,
        "method": "PUT",
        "url": format!("{}{path}?{query}", hub.addresses.data),
        "headers": { "if-none-match": "*" },
    });
    let mut response = crate::http::json(&answer);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Stores what was uploaded for a grant.
pub(super) async fn commit_grant(hub: &Arc<Hub>, hash: MerkleHash, id: &str) -> Result<Response, Refusal> {
    let no_data = || Refusal::new(StatusCode::NOT_FOUND, "", "no uploaded data for this grant");
    let data = hub.take_grant(id).and_then(|grant| grant.data).ok_or_else(no_data)?;
    store_xorb(hub, hash, data).await?;
    Ok(crate::http::json(&json!({})))
}

/// Stores a xorb that is the body itself.
pub(super) async fn xorb(hub: &Arc<Hub>, hash: MerkleHash, body: Bytes) -> Result<Response, Refusal> {
    let was_inserted = hub.store.xorb(&hash).is_none();
    store_xorb(hub, hash, body).await?;
    answer(&UploadXorbResponse { was_inserted })
}

async fn store_xorb(hub: &Arc<Hub>, hash: MerkleHash, data: Bytes) -> Result<(), Refusal> {
    let store = hub.store.clone();
    let stored = tokio::task::spawn_blocking(move || store.add_uploaded_xorb(&hash, &data)).await;
    match stored.map_err(io::Error::other).flatten() {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(Refusal::bad_request("the xorb has another hash than its address says")),
        Err(error) => Err(Refusal::bad_request(format!("not a xorb: {error}"))),
    }
}

/// Registers the files of a shard.
pub(super) async fn shard(hub: &Arc<Hub>, body: Bytes, version: ShardAnswer) -> Result<Response, Refusal> {
    let store = hub.clone();
    let registered = tokio::task::spawn_blocking(move || register(&store, &body)).await;
    match (registered.map_err(io::Error::other).flatten(), version) {
        (Ok(()), ShardAnswer::V1) => {
            answer(&UploadShardResponse { result: UploadShardResponseType::SyncPerformed, shard_hash: None })
        }
        (Ok(()), ShardAnswer::V2) => {
            lines(&[ShardUploadEvent::Validating { verified: 1, total: 1 }, ShardUploadEvent::Result])
        }
        (Err(error), ShardAnswer::V1) => Err(Refusal::bad_request(error.to_string())),
        (Err(error), ShardAnswer::V2) => {
            lines(&[ShardUploadEvent::Error { message: error.to_string(), retryable: false }])
        }
    }
}

fn register(hub: &Hub, shard: &[u8]) -> io::Result<()> {
    let shard = MDBMinimalShard::from_reader(&mut Cursor::new(shard), true, true).map_err(io::Error::other)?;
    for index in 0..shard.num_files() {
        let Some(view) = shard.file(index) else { continue };
        let info = MDBFileInfo::from(view);
        let file = hub.store.add_file(verified(hub, &info)?);
        if let Some(metadata) = info.metadata_ext {
            hub.store.link_sha256(metadata.sha256.hex(), &file);
        }
    }
    Ok(())
}

/// The file that a shard describes, if its xorbs hold what it says.
fn verified(hub: &Hub, info: &MDBFileInfo) -> io::Result<XetFile> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("file of the shard: {what}"));
    let mut runs = Vec::new();
    let mut chunks = Vec::new();
    for (index, segment) in info.segments.iter().enumerate() {
        let xorb = hub.store.xorb(&segment.xorb_hash).ok_or_else(|| wrong("a xorb is missing"))?;
        let run = segment.chunk_index_start..segment.chunk_index_end;
        if run.is_empty() || run.end > xorb.chunk_count() {
            return Err(wrong("a term lies outside its xorb"));
        }
        if xorb.unpacked_len(&run) != u64::from(segment.unpacked_segment_bytes) {
            return Err(wrong("a term has another length than its chunks"));
        }
        let hashes = &xorb.chunk_hashes[run.start as usize..run.end as usize];
        if info.verification.get(index).is_none_or(|entry| entry.range_hash != range_hash_from_chunks(hashes)) {
            return Err(wrong("a term is not verified"));
        }
        chunks.extend(
            run.clone().map(|chunk| (xorb.chunk_hashes[chunk as usize], xorb.unpacked_len(&(chunk..chunk + 1)))),
        );
        runs.push((xorb, run));
    }
    let hash = file_hash(&chunks);
    if hash != info.metadata.file_hash {
        return Err(wrong("it has another hash than its chunks"));
    }
    Ok(XetFile::new(hash, runs))
}

fn answer(value: &impl serde::Serialize) -> Result<Response, Refusal> {
    serde_json::to_value(value).map(|value| crate::http::json(&value)).map_err(|error| Refusal::broken(&error))
}

fn lines(events: &[ShardUploadEvent]) -> Result<Response, Refusal> {
    let lines: Result<Vec<String>, _> = events.iter().map(serde_json::to_string).collect();
    let body = lines.map_err(|error| Refusal::broken(&error))?.join("\n") + "\n";
    Ok(([("content-type", "application/x-ndjson")], body).into_response())
}
