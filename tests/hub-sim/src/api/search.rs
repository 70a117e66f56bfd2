//! Lists models, datasets and Spaces.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::response::Response;
use serde_json::Value;

use super::info::{card, expanded, facts, siblings, used_storage};
use super::tree::{cursor, cursor_start, link_next};
use super::{Ask, access};
use crate::http::Refusal;
use crate::hub::Caller;
use crate::repo::{Gate, Repo, RepoKind, Visibility};

/// Repos on a page, as the Hub cuts them.
const REPOS_PER_PAGE: usize = 1_000;

pub(super) fn search(ask: &Ask, kind: RepoKind) -> Result<Response, Refusal> {
    if ask.caller == Caller::Unknown {
        return Err(access::bad_credentials());
    }
    let query = &ask.query;
    let mut found: Vec<Arc<Repo>> = ask.hub.repos_of(kind).into_iter().filter(|repo| matches(ask, repo)).collect();
    match query.get("sort") {
        Some("downloads") => found.sort_by_key(|repo| Reverse(repo.facts.downloads)),
        Some("likes" | "trendingScore") => found.sort_by_key(|repo| Reverse(repo.facts.likes)),
        Some("lastModified") => found.sort_by_key(|repo| Reverse(repo.newest_unix_s())),
        Some("createdAt") => found.sort_by_key(|repo| Reverse(repo.created_unix_s())),
        Some("usedStorage" | "mainSize") => found.sort_by_key(|repo| Reverse(used_storage(repo))),
        Some(other) => return Err(Refusal::bad_request(format!("\"sort\" must not be {other}"))),
        None => {}
    }
    if query.get("direction") == Some("1") {
        found.reverse();
    }
    let limit = query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(REPOS_PER_PAGE);
    let limit = limit.clamp(1, REPOS_PER_PAGE);
    let start = query.get("cursor").and_then(cursor_start).unwrap_or(0);
    let page: Vec<Value> = found.iter().skip(start).take(limit).map(|repo| item(ask, repo)).collect();
    let more = found.len() > start + limit;
    let next =
        format!("{}/api/{}?{}", ask.hub.addresses.hub, kind.plural(), query.with("cursor", &cursor(start + limit)));
    let mut response = crate::http::json(&page.into());
    link_next(response.headers_mut(), more.then_some(next));
    Ok(response)
}

fn matches(ask: &Ask, repo: &Repo) -> bool {
    let (query, facts) = (&ask.query, &repo.facts);
    let tags = super::info::tags(repo);
    (facts.visibility == Visibility::Public || ask.caller == Caller::Owner)
        && query.get("author").is_none_or(|author| repo.author() == Some(author))
        && query.get("search").is_none_or(|words| {
            let id = repo.id.to_lowercase();
            words.to_lowercase().split_whitespace().all(|word| id.contains(word))
        })
        && query.get("pipeline_tag").is_none_or(|tag| facts.pipeline_tag.as_deref() == Some(tag))
        && query.get("gated").is_none_or(|_| query.is_on("gated") == (facts.gate != Gate::Open))
        && query.all("filter").all(|tag| tags.iter().any(|own| own == tag))
}

fn item(ask: &Ask, repo: &Repo) -> Value {
    let head = repo.resolve("main");
    let mut item = facts(repo, head);
    if ask.query.is_on("full") || ask.query.all("expand").any(|name| name == "siblings") {
        item.insert("siblings".into(), head.map_or(Value::Null, |head| siblings(repo, head, false)));
    }
    if ask.query.is_on("cardData") || ask.query.all("expand").any(|name| name == "cardData") {
        item.insert("cardData".into(), card(repo));
    }
    if ask.query.all("expand").next().is_some() {
        item.insert("usedStorage".into(), used_storage(repo).into());
    }
    Value::Object(expanded(item, &ask.query))
}
