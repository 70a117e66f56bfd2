//! The data host: signed addresses of xorb ranges and of whole files, on another address than the Hub. Never asks for
//! a token and never serves what was not signed.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode};
use sha2::Digest;
use xet_core_structures::merklehash::MerkleHash;

use crate::Content;
use crate::cas::{GRANT_FOLDER, UPLOAD_BYTES_MAX};
use crate::http::{ByteSource, Query, header, segments, serve_bytes, serve_parts};
use crate::hub::{Granted, Hub};
use crate::repo::hex;

/// The host's routes.
pub(crate) fn router(hub: Arc<Hub>) -> Router {
    Router::new().fallback(answer).with_state(hub)
}

async fn answer(State(hub): State<Arc<Hub>>, request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let query = Query::parse(parts.uri.query());
    let signed = |name| query.get(name).unwrap_or_default();
    let signed_range = signed("X-Xet-Signed-Range");
    let path = parts.uri.path();
    if hub.signer.check_query(path, signed_range, signed("Expires"), signed("Signature")).is_err() {
        return denied(StatusCode::FORBIDDEN, "AccessDenied");
    }
    let range = header(&parts.headers, "range");
    let segments = segments(path).unwrap_or_default();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    if parts.method == Method::PUT {
        return take(&hub, &segments, body).await;
    }
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return denied(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed");
    }
    match segments.as_slice() {
        ["xorbs", _, _] if range != signed_range => denied(StatusCode::FORBIDDEN, "AccessDenied"),
        ["xorbs", "default", hash] => match MerkleHash::from_hex(hash).ok().and_then(|hash| hub.store.xorb(&hash)) {
            None => denied(StatusCode::NOT_FOUND, "NoSuchKey"),
            Some(xorb) => {
                let source = ByteSource::Blob(xorb.blob.clone());
                if range.contains(',') {
                    serve_parts(&parts.method, range, &source)
                } else {
                    serve_bytes(&parts.method, &parts.headers, &source)
                }
            }
        },
        ["lfs" | "xet-bridge", sha256] => match hub.object(sha256) {
            None => denied(StatusCode::NOT_FOUND, "NoSuchKey"),
            Some(source) => {
                let mut response = serve_bytes(&parts.method, &parts.headers, &source);
                if let Ok(etag) = HeaderValue::from_str(&format!("\"{sha256}\"")) {
                    response.headers_mut().insert("etag", etag);
                }
                response.headers_mut().insert("content-type", HeaderValue::from_static("application/octet-stream"));
                response
            }
        },
        _ => denied(StatusCode::NOT_FOUND, "NoSuchKey"),
    }
}

/// Takes an upload that a signed address allows.
async fn take(hub: &Hub, segments: &[&str], body: axum::body::Body) -> Response {
    let Ok(data) = axum::body::to_bytes(body, UPLOAD_BYTES_MAX).await else {
        return denied(StatusCode::BAD_REQUEST, "RequestTimeout");
    };
    match segments {
        [folder, id] if *folder == GRANT_FOLDER => match hub.fill_grant(id, data) {
            Granted::Taken => StatusCode::OK.into_response(),
            Granted::Before => denied(StatusCode::PRECONDITION_FAILED, "PreconditionFailed"),
            Granted::OtherLength => denied(StatusCode::BAD_REQUEST, "IncompleteBody"),
            Granted::NoGrant => denied(StatusCode::FORBIDDEN, "AccessDenied"),
        },
        ["lfs", sha256] if hex(&sha2::Sha256::digest(&data)) == *sha256 => {
            hub.put_object((*sha256).to_owned(), ByteSource::Content(Content::bytes(data)));
            StatusCode::OK.into_response()
        }
        _ => denied(StatusCode::BAD_REQUEST, "BadDigest"),
    }
}

fn denied(status: StatusCode, code: &str) -> Response {
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>{code}</Code></Error>");
    (status, [("content-type", "application/xml")], body).into_response()
}
