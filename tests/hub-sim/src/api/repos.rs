//! Makes and removes repos.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Ask, access};
use crate::RepoDef;
use crate::http::Refusal;
use crate::repo::RepoKind;

/// Makes a repo with an empty first commit.
pub(super) fn create(ask: &Ask) -> Result<Response, Refusal> {
    access::check_write(ask)?;
    let body = ask.json()?;
    let (kind, id) = named(&body)?;
    let url = format!("{}/{}{id}", ask.hub.addresses.hub, kind.prefix());
    if ask.hub.repo(kind, &id).is_some() {
        let sentence = format!("You already created this {} repo", kind.singular());
        let mut response = crate::http::json(&json!({ "error": sentence, "url": url }));
        *response.status_mut() = StatusCode::CONFLICT;
        return Ok(response);
    }
    let mut def = RepoDef::new(kind, id.clone());
    if body["private"] == true || body["visibility"] == "private" {
        def = def.private();
    }
    let (repo, former_ids) = def.build(&ask.hub.preparer).map_err(|error| Refusal::broken(&error))?;
    ask.hub.put(repo, former_ids);
    Ok(crate::http::json(&json!({ "url": url, "name": id, "id": id })))
}

pub(super) fn delete(ask: &Ask) -> Result<Response, Refusal> {
    access::check_write(ask)?;
    let (kind, id) = named(&ask.json()?)?;
    if ask.hub.remove(kind, &id) {
        return Ok(crate::http::json(&json!({ "success": true })));
    }
    Err(Refusal::new(StatusCode::NOT_FOUND, "RepoNotFound", "Repository not found"))
}

fn named(body: &Value) -> Result<(RepoKind, String), Refusal> {
    let singular = body["type"].as_str().unwrap_or("model");
    let kind = RepoKind::ALL.into_iter().find(|kind| kind.singular() == singular);
    let kind = kind.ok_or_else(|| Refusal::bad_request(format!("unknown type {singular}")))?;
    let name = body["name"].as_str().ok_or_else(|| Refusal::bad_request("\"name\" is required"))?;
    let organization = body["organization"].as_str().unwrap_or("sim");
    Ok((kind, format!("{organization}/{name}")))
}
