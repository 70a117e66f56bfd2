//! Describes a repo, alone or as one of a list.

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::Ask;
use super::refs::iso_date;
use crate::http::{Query, Refusal};
use crate::repo::{Entry, Gate, Repo, RepoKind, Stored, Visibility};

pub(super) fn info(ask: &Ask, repo: &Repo, revision: Option<&str>) -> Result<Response, Refusal> {
    let index = ask.commit(repo, revision.unwrap_or("main"))?;
    let mut facts = facts(repo, Some(index));
    facts.insert("siblings".into(), siblings(repo, index, ask.query.is_on("blobs")));
    facts.insert("usedStorage".into(), used_storage(repo).into());
    facts.insert("cardData".into(), card(repo));
    Ok(crate::http::json(&Value::Object(expanded(facts, &ask.query))))
}

/// Only what `expand` names, if it names anything.
pub(super) fn expanded(facts: Map<String, Value>, query: &Query) -> Map<String, Value> {
    let wanted: Vec<&str> = query.all("expand").collect();
    if wanted.is_empty() {
        return facts;
    }
    facts
        .into_iter()
        .filter(|(key, _)| matches!(key.as_str(), "_id" | "id") || wanted.contains(&key.as_str()))
        .collect()
}

/// What lists and single answers both say.
pub(super) fn facts(repo: &Repo, commit: Option<usize>) -> Map<String, Value> {
    let facts = &repo.facts;
    let gated = match facts.gate {
        Gate::Open => json!(false),
        Gate::Auto => json!("auto"),
        Gate::Manual => json!("manual"),
    };
    let tags = tags(repo);
    let commit = commit.and_then(|index| repo.commits.get(index));
    let mut map = Map::from_iter([
        ("_id".to_owned(), json!(internal_id(repo))),
        ("id".to_owned(), json!(repo.id)),
        ("author".to_owned(), json!(repo.author())),
        ("sha".to_owned(), json!(commit.map(|commit| &commit.sha))),
        ("lastModified".to_owned(), json!(iso_date(repo.newest_unix_s()))),
        ("createdAt".to_owned(), json!(iso_date(repo.created_unix_s()))),
        ("private".to_owned(), json!(facts.visibility == Visibility::Private)),
        ("gated".to_owned(), gated),
        ("disabled".to_owned(), json!(false)),
        ("downloads".to_owned(), json!(facts.downloads)),
        ("likes".to_owned(), json!(facts.likes)),
        ("tags".to_owned(), json!(tags)),
    ]);
    if repo.kind == RepoKind::Space {
        map.insert("sdk".into(), json!("static"));
    }
    if repo.kind == RepoKind::Model {
        map.insert("modelId".into(), json!(repo.id));
        for (key, value) in [("pipeline_tag", &facts.pipeline_tag), ("library_name", &facts.library)] {
            if let Some(value) = value {
                map.insert(key.into(), json!(value));
            }
        }
    }
    map
}

/// 24 hexadecimal digits that stay with the repo.
fn internal_id(repo: &Repo) -> String {
    use sha1::Digest;
    let digest = sha1::Sha1::digest(format!("{} {}", repo.kind.plural(), repo.id));
    crate::repo::hex(&digest[..12])
}

/// The card's tags and those that the Hub derives.
pub(super) fn tags(repo: &Repo) -> Vec<String> {
    let facts = &repo.facts;
    let derived = [facts.pipeline_tag.clone(), facts.library.clone()].into_iter().flatten();
    let license = facts.license.as_ref().map(|license| format!("license:{license}"));
    facts.tags.iter().cloned().chain(derived).chain(license).collect()
}

/// The metadata of the card.
pub(super) fn card(repo: &Repo) -> Value {
    let mut card = Map::new();
    if let Some(license) = &repo.facts.license {
        card.insert("license".into(), json!(license));
    }
    if let Some(tag) = &repo.facts.pipeline_tag {
        card.insert("pipeline_tag".into(), json!(tag));
    }
    if let Some(library) = &repo.facts.library {
        card.insert("library_name".into(), json!(library));
    }
    Value::Object(card)
}

/// The files as a flat list.
pub(super) fn siblings(repo: &Repo, index: usize, blobs: bool) -> Value {
    let files = repo.commits[index].tree.files.iter();
    files
        .map(|(path, entry)| {
            let mut sibling = json!({ "rfilename": path });
            if blobs {
                sibling["size"] = json!(entry.size);
                sibling["blobId"] = json!(entry.oid);
                if let Some(sha256) = sha256(entry) {
                    sibling["lfs"] = json!({ "sha256": sha256, "size": entry.size, "pointerSize": entry.pointer_size });
                }
            }
            sibling
        })
        .collect()
}

/// Bytes of the newest tree of every branch count once per branch, which is near enough.
pub(super) fn used_storage(repo: &Repo) -> u64 {
    repo.heads.values().map(|&index| repo.commits[index].tree.total_bytes()).max().unwrap_or(0)
}

/// The SHA-256 of a file that git holds a pointer of.
pub(super) fn sha256(entry: &Entry) -> Option<&str> {
    match &entry.stored {
        Stored::Git(_) => None,
        Stored::Lfs { sha256, .. } | Stored::Xet { sha256, .. } => Some(sha256),
    }
}
