//! Who asks, and whether they may. Never answers with a repo's contents.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::Ask;
use crate::http::{Refusal, header};
use crate::hub::Caller;
use crate::repo::{Gate, Repo, RepoKind, Visibility};

/// The token of the account that sees and may write everything.
pub(crate) const OWNER_TOKEN: &str = "hf_simOwnerOwnerOwnerOwnerOwnerOwner";
/// The token of the account that sees public repos and has accepted no licence.
pub(crate) const READER_TOKEN: &str = "hf_simReaderReaderReaderReaderReader";

pub(super) fn caller(headers: &HeaderMap) -> Caller {
    let value = header(headers, "authorization");
    match value.strip_prefix("Bearer ").map(str::trim) {
        _ if value.is_empty() => Caller::Anonymous,
        Some(OWNER_TOKEN) => Caller::Owner,
        Some(READER_TOKEN) => Caller::Reader,
        _ => Caller::Unknown,
    }
}

pub(super) fn bad_credentials() -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, "", "Invalid credentials in Authorization header")
}

/// The repo, if the caller may know of it.
pub(super) fn find(ask: &Ask, kind: RepoKind, id: &str) -> Result<Arc<Repo>, Refusal> {
    if ask.caller == Caller::Unknown {
        return Err(bad_credentials());
    }
    if let Some(repo) = ask.hub.repo(kind, id)
        && (repo.facts.visibility == Visibility::Public || ask.caller == Caller::Owner)
    {
        return Ok(repo);
    }
    if let Some(new_id) = ask.hub.renamed(kind, id) {
        let (before, after) = ask.path.split_once(id).ok_or_else(Refusal::no_route)?;
        return Err(Refusal::Moved { location: format!("{before}{new_id}{after}") });
    }
    Err(match ask.caller {
        // The Hub tells nobody unknown whether a repo exists.
        Caller::Anonymous => Refusal::new(StatusCode::UNAUTHORIZED, "RepoNotFound", "Invalid username or password."),
        _ => Refusal::new(StatusCode::NOT_FOUND, "RepoNotFound", "Repository not found"),
    })
}

/// Whether the caller may read contents.
pub(super) fn check_gate(ask: &Ask, repo: &Repo) -> Result<(), Refusal> {
    let (kind, id) = (repo.kind.singular(), &repo.id);
    if repo.facts.gate == Gate::Open {
        return Ok(());
    }
    match ask.caller {
        Caller::Owner => Ok(()),
        Caller::Anonymous | Caller::Unknown => Err(Refusal::new(
            StatusCode::UNAUTHORIZED,
            "GatedRepo",
            format!(
                "Access to {kind} {id} is restricted. You must have access to it and be authenticated to access it. \
                 Please log in."
            ),
        )),
        Caller::Reader => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "GatedRepo",
            format!(
                "Access to {kind} {id} is restricted and you are not in the authorized list. Visit \
                 {}/{}{id} to ask for access.",
                ask.hub.addresses.hub,
                repo.kind.prefix()
            ),
        )),
    }
}

/// Whether the caller may write.
pub(super) fn check_write(ask: &Ask) -> Result<(), Refusal> {
    match ask.caller {
        Caller::Owner => Ok(()),
        Caller::Anonymous => Err(Refusal::new(StatusCode::UNAUTHORIZED, "", "Invalid username or password.")),
        Caller::Unknown => Err(bad_credentials()),
        Caller::Reader => {
            Err(Refusal::new(StatusCode::FORBIDDEN, "", "You don't have the required permissions to write here."))
        }
    }
}

pub(super) fn who_am_i(ask: &Ask) -> Result<Response, Refusal> {
    let (name, role) = match ask.caller {
        Caller::Owner => ("sim", "write"),
        Caller::Reader => ("reader", "read"),
        Caller::Anonymous => {
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, "", "Invalid username or password."));
        }
        Caller::Unknown => return Err(bad_credentials()),
    };
    Ok(crate::http::json(&json!({
        "type": "user",
        "id": format!("{name:0<24}"),
        "name": name,
        "fullname": name,
        "email": format!("{name}@example.org"),
        "emailVerified": true,
        "canPay": false,
        "isPro": false,
        "avatarUrl": "/avatars/sim.svg",
        "orgs": [],
        "auth": { "type": "access_token", "accessToken": { "displayName": "sim", "role": role, "createdAt": "2026-01-01T00:00:00.000Z" } },
    })))
}
