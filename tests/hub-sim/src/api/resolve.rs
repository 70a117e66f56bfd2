//! Answers for one file: small ones at once, large ones by a redirect to the data host.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{Ask, access};
use crate::Content;
use crate::http::{ByteSource, Refusal, encode_segment, serve_bytes};
use crate::repo::{Entry, Repo, Stored, pointer};

pub(super) fn resolve(ask: &Ask, repo: &Repo, revision: &str, path: &str) -> Result<Response, Refusal> {
    access::check_gate(ask, repo)?;
    let commit = &repo.commits[ask.commit(repo, revision)?];
    let entry = commit.tree.files.get(path).ok_or_else(|| Refusal::no_entry("Entry not found", &commit.sha))?;
    let mut response = match &entry.stored {
        Stored::Git(content) => {
            let mut response = serve_bytes(&ask.method, &ask.headers, &ByteSource::Content(content.clone()));
            let headers = response.headers_mut();
            set(headers, "etag", &format!("\"{}\"", entry.oid));
            set(headers, "content-type", "text/plain; charset=utf-8");
            response
        }
        Stored::Lfs { sha256, content } => {
            let url = ask.hub.object_url("lfs", sha256, ByteSource::Content(content.clone()));
            redirect(&url, sha256, entry)
        }
        Stored::Xet { sha256, file, content } => {
            let source = content.clone().map_or_else(|| ByteSource::File(file.clone()), ByteSource::Content);
            let mut response = redirect(&ask.hub.object_url("xet-bridge", sha256, source), sha256, entry);
            let (hub, cas, hash) = (&ask.hub.addresses.hub, &ask.hub.addresses.cas, file.hash.hex());
            let auth = format!("{hub}/api/{}/{}/xet-read-token/{}", repo.kind.plural(), repo.id, commit.sha);
            let headers = response.headers_mut();
            set(headers, "x-xet-hash", &hash);
            set(
                headers,
                "link",
                &format!(
                    "<{auth}>; rel=\"xet-auth\", <{cas}/v1/reconstructions/{hash}>; rel=\"xet-reconstruction-info\""
                ),
            );
            response
        }
    };
    let name = encode_segment(path.rsplit('/').next().unwrap_or_default());
    let headers = response.headers_mut();
    set(headers, "x-repo-commit", &commit.sha);
    set(headers, "content-disposition", &format!("inline; filename*=UTF-8''{name}; filename=\"{name}\";"));
    Ok(response)
}

/// Git's blob: of a large file the pointer.
pub(super) fn raw(ask: &Ask, repo: &Repo, revision: &str, path: &str) -> Result<Response, Refusal> {
    access::check_gate(ask, repo)?;
    let commit = &repo.commits[ask.commit(repo, revision)?];
    let entry = commit.tree.files.get(path).ok_or_else(|| Refusal::no_entry("Entry not found", &commit.sha))?;
    let content = match &entry.stored {
        Stored::Git(content) => content.clone(),
        Stored::Lfs { sha256, .. } | Stored::Xet { sha256, .. } => Content::text(pointer(sha256, entry.size)),
    };
    let mut response = serve_bytes(&ask.method, &ask.headers, &ByteSource::Content(content));
    let headers = response.headers_mut();
    set(headers, "etag", &format!("\"{}\"", entry.oid));
    set(headers, "content-type", "text/plain; charset=utf-8");
    set(headers, "x-repo-commit", &commit.sha);
    Ok(response)
}

fn redirect(location: &str, sha256: &str, entry: &Entry) -> Response {
    let mut response = (StatusCode::FOUND, format!("Found. Redirecting to {location}")).into_response();
    let headers = response.headers_mut();
    set(headers, "location", location);
    set(headers, "x-linked-etag", &format!("\"{sha256}\""));
    headers.insert("x-linked-size", HeaderValue::from(entry.size));
    headers.insert("accept-ranges", HeaderValue::from_static("bytes"));
    response
}

fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
