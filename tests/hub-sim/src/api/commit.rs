//! Takes commits: says how each file should come, then applies what came.

use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Value, json};

use super::info::sha256;
use super::{Ask, access};
use crate::http::{ByteSource, Refusal};
use crate::repo::{Change, Repo, Storage, Stored, is_large};
use crate::{Content, RepoKind};

/// Says for each file whether it comes inside the commit or is uploaded before.
pub(super) fn preupload(ask: &Ask, repo: &Repo, revision: &str) -> Result<Response, Refusal> {
    access::check_write(ask)?;
    let commit = &repo.commits[ask.commit(repo, revision)?];
    let body = ask.json()?;
    let files = body["files"].as_array().ok_or_else(|| Refusal::bad_request("\"files\" is required"))?;
    let answers: Result<Vec<Value>, Refusal> = files
        .iter()
        .map(|file| {
            let path = text(file, "path")?;
            let size = file["size"].as_u64().ok_or_else(|| Refusal::bad_request("\"size\" is required"))?;
            let sample = decode(file["sample"].as_str().unwrap_or_default())?;
            let mode = if is_large(path, size, &sample) { "lfs" } else { "regular" };
            let known = commit.tree.files.get(path);
            let oid = known.map(|entry| sha256(entry).unwrap_or(&entry.oid));
            Ok(json!({ "path": path, "uploadMode": mode, "shouldIgnore": false, "oid": oid }))
        })
        .collect();
    Ok(crate::http::json(&json!({ "files": answers?, "commitOid": commit.sha })))
}

/// Applies a commit: a header line, then a line for each file.
pub(super) fn commit(ask: &Ask, repo: &Repo, revision: &str) -> Result<Response, Refusal> {
    access::check_write(ask)?;
    let body = std::str::from_utf8(&ask.body).map_err(|error| Refusal::bad_request(error.to_string()))?;
    let mut header = Value::Null;
    let mut changes = Vec::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        let line: Value = serde_json::from_str(line).map_err(|error| Refusal::bad_request(error.to_string()))?;
        match line["key"].as_str() {
            Some("header") => header = line["value"].clone(),
            Some(key) => changes.push(change(ask, key, &line["value"])?),
            None => return Err(Refusal::bad_request("a line of the commit has no key")),
        }
    }
    let title = text(&header, "summary")?.to_owned();
    let message = header["description"].as_str().unwrap_or_default().to_owned();
    let base = ask.commit(repo, revision)?;
    let parent = header["parentCommit"].as_str();
    if parent.is_some_and(|parent| !repo.commits[base].sha.starts_with(parent)) {
        let sentence = "A commit has happened since. Please refresh and try again.";
        return Err(Refusal::new(StatusCode::PRECONDITION_FAILED, "", sentence));
    }
    let pull_request = ask.query.is_on("create_pr").then(|| next_pull_request(repo));
    let target = match pull_request {
        Some(number) => format!("refs/pr/{number}"),
        None => revision.to_owned(),
    };
    let done = ask.hub.update(repo.kind, &repo.id, |repo| {
        if pull_request.is_some() {
            repo.heads.insert(target.clone(), base);
        }
        repo.commit_changes(&target, title, message, "sim", &changes, &ask.hub.preparer)
    });
    let sha = done.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Refusal::new(StatusCode::NOT_FOUND, "RevisionNotFound", error.to_string()),
        _ => Refusal::broken(&error),
    })?;
    let page = page_address(ask, repo.kind, &repo.id);
    let mut answer = json!({
        "success": true,
        "commitOid": sha,
        "commitUrl": format!("{page}/commit/{sha}"),
        "hookOutput": "",
    });
    if let Some(number) = pull_request {
        answer["pullRequestUrl"] = json!(format!("{page}/discussions/{number}"));
    }
    Ok(crate::http::json(&answer))
}

fn change(ask: &Ask, key: &str, value: &Value) -> Result<Change, Refusal> {
    let path = text(value, "path")?.trim_end_matches('/').to_owned();
    match key {
        "file" => {
            let content = text(value, "content")?;
            let content = match value["encoding"].as_str() {
                Some("base64") => Content::bytes(decode(content)?),
                _ => Content::text(content),
            };
            Ok(Change::Put { path, content, storage: Some(Storage::Git) })
        }
        "lfsFile" => uploaded(ask, path, text(value, "oid")?),
        "deletedFile" | "deletedFolder" => Ok(Change::Remove { path }),
        _ => Err(Refusal::bad_request(format!("unknown key {key}"))),
    }
}

/// A file that was uploaded before and is named by its SHA-256 alone.
fn uploaded(ask: &Ask, path: String, sha256: &str) -> Result<Change, Refusal> {
    if let Some(file) = ask.hub.store.file_by_sha256(sha256) {
        let size = file.len;
        return Ok(Change::Link { path, size, stored: Stored::Xet { sha256: sha256.to_owned(), file, content: None } });
    }
    match ask.hub.object(sha256) {
        Some(ByteSource::Content(content)) => {
            let size = content.len();
            Ok(Change::Link { path, size, stored: Stored::Lfs { sha256: sha256.to_owned(), content } })
        }
        _ => Err(Refusal::bad_request(format!(
            "Your push was rejected because an LFS pointer pointed to a file that does not exist: {path}"
        ))),
    }
}

fn next_pull_request(repo: &Repo) -> u32 {
    let numbers = repo.heads.keys().filter_map(|name| name.strip_prefix("refs/pr/")?.parse::<u32>().ok());
    numbers.max().unwrap_or(0) + 1
}

fn page_address(ask: &Ask, kind: RepoKind, id: &str) -> String {
    format!("{}/{}{id}", ask.hub.addresses.hub, kind.prefix())
}

fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str, Refusal> {
    value[name].as_str().ok_or_else(|| Refusal::bad_request(format!("\"{name}\" is required")))
}

fn decode(base64: &str) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(base64).map_err(|error| Refusal::bad_request(error.to_string()))
}
