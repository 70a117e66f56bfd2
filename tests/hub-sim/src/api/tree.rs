//! Lists folders and looks paths up.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::Ask;
use super::info::sha256;
use super::refs::iso_date;
use crate::http::{Refusal, encode_path, encode_segment, header};
use crate::repo::{Commit, Repo, Stored, Tree};

/// Entries on a page, as the Hub cuts them.
const ENTRIES_PER_PAGE: usize = 1_000;
/// The same when commits and scans are asked for.
const EXPANDED_ENTRIES_PER_PAGE: usize = 100;
/// Paths that one look-up may name.
const PATHS_MAX: usize = 10_000;

pub(super) fn tree(ask: &Ask, repo: &Repo, revision: &str, path: &str) -> Result<Response, Refusal> {
    let index = ask.commit(repo, revision)?;
    let commit = &repo.commits[index];
    let path = path.trim_end_matches('/');
    if !commit.tree.dirs.contains_key(path) {
        let sentence = format!("{path} does not exist on \"{revision}\"");
        return Err(Refusal::no_entry(sentence, &commit.sha));
    }
    let expand = ask.query.is_on("expand");
    let most = if expand { EXPANDED_ENTRIES_PER_PAGE } else { ENTRIES_PER_PAGE };
    let limit = ask.query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(most).clamp(1, most);
    let start = match ask.query.get("cursor") {
        None => 0,
        Some(cursor) => cursor_start(cursor).ok_or_else(|| Refusal::bad_request("Invalid cursor"))?,
    };
    let paths = listed(&commit.tree, path, ask.query.is_on("recursive"), start, limit + 1);
    let more = paths.len() > limit;
    let entries: Vec<Value> = paths.iter().take(limit).filter_map(|path| entry(repo, commit, path, expand)).collect();
    let path_part = if path.is_empty() { String::new() } else { format!("/{}", encode_path(path)) };
    let next = format!(
        "{}/api/{}/{}/tree/{}{path_part}?{}",
        ask.hub.addresses.hub,
        repo.kind.plural(),
        repo.id,
        encode_segment(revision),
        ask.query.with("cursor", &cursor(start + limit))
    );
    let mut response = crate::http::json(&entries.into());
    link_next(response.headers_mut(), more.then_some(next));
    Ok(response)
}

/// Paths of a folder, folders first; with all that is below, in the order of paths.
fn listed<'a>(tree: &'a Tree, path: &str, recursive: bool, start: usize, count: usize) -> Vec<&'a str> {
    if !recursive {
        let dir = &tree.dirs[path];
        return dir.dirs.iter().chain(&dir.files).skip(start).take(count).map(String::as_str).collect();
    }
    let below = if path.is_empty() { String::new() } else { format!("{path}/") };
    let dirs = tree.dirs.range(below.clone()..).map(|(path, _)| path.as_str());
    let files = tree.files.range(below.clone()..).map(|(path, _)| path.as_str());
    let mut dirs = dirs.filter(|dir| !dir.is_empty()).take_while(|dir| dir.starts_with(&below)).peekable();
    let mut files = files.take_while(|file| file.starts_with(&below)).peekable();
    std::iter::from_fn(|| match (dirs.peek(), files.peek()) {
        (Some(dir), Some(file)) if dir > file => files.next(),
        (Some(_), _) => dirs.next(),
        (None, _) => files.next(),
    })
    .skip(start)
    .take(count)
    .collect()
}

/// Looks paths up; those that do not exist are left out, as the Hub does.
pub(super) fn paths_info(ask: &Ask, repo: &Repo, revision: &str) -> Result<Response, Refusal> {
    let commit = &repo.commits[ask.commit(repo, revision)?];
    let (paths, expand) = asked_paths(ask)?;
    if paths.len() > PATHS_MAX {
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "", format!("at most {PATHS_MAX} paths")));
    }
    let entries: Vec<Value> =
        paths.iter().filter_map(|path| entry(repo, commit, path.trim_end_matches('/'), expand)).collect();
    Ok(crate::http::json(&entries.into()))
}

/// The paths of a form or a JSON body.
fn asked_paths(ask: &Ask) -> Result<(Vec<String>, bool), Refusal> {
    if header(&ask.headers, "content-type").starts_with("application/json") {
        let body: Value = serde_json::from_slice(&ask.body).map_err(|error| Refusal::bad_request(error.to_string()))?;
        let paths = match &body["paths"] {
            Value::String(path) => vec![path.clone()],
            Value::Array(paths) => paths.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect(),
            _ => return Err(Refusal::bad_request("\"paths\" is required")),
        };
        return Ok((paths, body["expand"].as_bool().unwrap_or(false)));
    }
    let text = std::str::from_utf8(&ask.body).map_err(|error| Refusal::bad_request(error.to_string()))?;
    let form = crate::http::Query::parse(Some(text));
    Ok((form.all("paths").map(str::to_owned).collect(), form.is_on("expand")))
}

fn entry(repo: &Repo, commit: &Commit, path: &str, expand: bool) -> Option<Value> {
    let (mut value, last) = if let Some(file) = commit.tree.files.get(path) {
        let mut value = json!({ "type": "file", "oid": file.oid, "size": file.size, "path": path });
        if let Some(sha256) = sha256(file) {
            value["lfs"] = json!({ "oid": sha256, "size": file.size, "pointerSize": file.pointer_size });
        }
        if let Stored::Xet { file, .. } = &file.stored {
            value["xetHash"] = json!(file.hash.hex());
        }
        if expand {
            value["securityFileStatus"] =
                json!({ "status": "safe", "avScan": { "status": "safe" }, "pickleImportScan": null });
        }
        (value, file.commit)
    } else {
        let dir = commit.tree.dirs.get(path).filter(|_| !path.is_empty())?;
        (json!({ "type": "directory", "oid": dir.oid, "size": 0, "path": path }), dir.commit)
    };
    if expand {
        let last = &repo.commits[last];
        value["lastCommit"] = json!({ "id": last.sha, "title": last.title, "date": iso_date(last.unix_s) });
    }
    Some(value)
}

/// A cursor is opaque to clients: they must send back what they were given.
pub(super) fn cursor(start: usize) -> String {
    crate::repo::hex(format!("at:{start}").as_bytes())
}

pub(super) fn cursor_start(cursor: &str) -> Option<usize> {
    let digits = cursor.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let text = String::from_utf8(digits.collect::<Option<Vec<u8>>>()?).ok()?;
    text.strip_prefix("at:")?.parse().ok()
}

/// Says where the next page is, if there is one.
pub(super) fn link_next(headers: &mut HeaderMap, next: Option<String>) {
    if let Some(value) = next.and_then(|next| HeaderValue::from_str(&format!("<{next}>; rel=\"next\"")).ok()) {
        headers.insert("link", value);
    }
}
