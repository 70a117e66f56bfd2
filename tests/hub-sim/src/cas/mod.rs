//! The Xet service: reconstructions for who holds a token, and uploads. Never serves xorb bytes itself.

mod reconstructions;
mod uploads;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode};
use xet_core_structures::merklehash::MerkleHash;

use crate::http::{Query, Refusal, header, segments};
use crate::hub::Hub;
use crate::sign::{Refused, Scope};
use reconstructions::Version;
pub(crate) use uploads::GRANT_FOLDER;
use uploads::ShardAnswer;

/// A xorb has 64 MiB of chunks, their headers and a footer.
pub(crate) const UPLOAD_BYTES_MAX: usize = 72 << 20;

/// The service's routes.
pub(crate) fn router(hub: Arc<Hub>) -> Router {
    Router::new().fallback(answer).with_state(hub)
}

async fn answer(State(hub): State<Arc<Hub>>, request: axum::extract::Request) -> Response {
    dispatch(&hub, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn dispatch(hub: &Arc<Hub>, request: axum::extract::Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, UPLOAD_BYTES_MAX)
        .await
        .map_err(|error| Refusal::bad_request(format!("cannot read the body: {error}")))?;
    let path = segments(parts.uri.path()).ok_or_else(Refusal::no_route)?;
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (&parts.method, path.as_slice()) {
        (&Method::GET, ["v1", "reconstructions", file]) => {
            check_token(hub, &parts.headers, Scope::Read)?;
            let version = match header(&parts.headers, "x-xet-reconstruction-version") {
                "2" => Version::V2,
                _ => Version::V1,
            };
            reconstructions::one(hub, hash(file)?, header(&parts.headers, "range"), version)
        }
        (&Method::GET, ["v2", "reconstructions", file]) => {
            check_token(hub, &parts.headers, Scope::Read)?;
            reconstructions::one(hub, hash(file)?, header(&parts.headers, "range"), Version::V2)
        }
        (&Method::GET, ["v1", "reconstructions"]) => {
            check_token(hub, &parts.headers, Scope::Read)?;
            let query = Query::parse(parts.uri.query());
            let files = query.all("file_id").map(hash).collect::<Result<Vec<_>, _>>()?;
            reconstructions::batch(hub, &files)
        }
        (&Method::GET, ["v1", "chunks", "default-merkledb", chunk]) => {
            check_token(hub, &parts.headers, Scope::Read)?;
            hash(chunk)?;
            Err(Refusal::new(StatusCode::NOT_FOUND, "", "the chunk is not tracked by global deduplication"))
        }
        (&Method::POST, ["v1", "xorb-grants", "default", xorb]) => {
            check_token(hub, &parts.headers, Scope::Write)?;
            uploads::grant(hub, &hash(xorb)?, &body)
        }
        (&Method::POST, ["v1", "xorb-commits", "default", xorb, "grant", id]) => {
            check_token(hub, &parts.headers, Scope::Write)?;
            uploads::commit_grant(hub, hash(xorb)?, id).await
        }
        (&Method::POST, ["v1", "xorbs", "default", xorb]) => {
            check_token(hub, &parts.headers, Scope::Write)?;
            uploads::xorb(hub, hash(xorb)?, body).await
        }
        (&Method::POST, [version @ ("v1" | "v2"), "shards"]) => {
            check_token(hub, &parts.headers, Scope::Write)?;
            let version = if *version == "v1" { ShardAnswer::V1 } else { ShardAnswer::V2 };
            uploads::shard(hub, body, version).await
        }
        (&Method::POST, ["v1", "telemetry"]) => Ok(StatusCode::OK.into_response()),
        _ => Err(Refusal::no_route()),
    }
}

/// A token of the right scope that has not expired.
fn check_token(hub: &Hub, headers: &HeaderMap, needed: Scope) -> Result<(), Refusal> {
    let token = header(headers, "authorization").strip_prefix("Bearer ").unwrap_or_default();
    match hub.signer.check_xet_token(token) {
        Ok(scope) if scope >= needed => Ok(()),
        Ok(_) => Err(Refusal::new(StatusCode::FORBIDDEN, "", "Token does not have the required scope")),
        Err(Refused::Expired) => Err(Refusal::new(StatusCode::UNAUTHORIZED, "", "Token has expired")),
        Err(Refused::Wrong) => Err(Refusal::new(StatusCode::UNAUTHORIZED, "", "Missing or invalid token")),
    }
}

fn hash(text: &str) -> Result<MerkleHash, Refusal> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let hash = is_hash.then(|| MerkleHash::from_hex(text).ok()).flatten();
    hash.ok_or_else(|| Refusal::bad_request(format!("not a hash: {text}")))
}
