//! Hands out Xet tokens.

use axum::response::Response;
use http::HeaderValue;
use serde_json::json;

use super::{Ask, access};
use crate::http::Refusal;
use crate::repo::Repo;
use crate::sign::Scope;

pub(super) fn xet_token(ask: &Ask, repo: &Repo, scope: Scope, revision: &str) -> Result<Response, Refusal> {
    match scope {
        Scope::Read => {
            ask.commit(repo, revision)?;
            access::check_gate(ask, repo)?;
        }
        Scope::Write => access::check_write(ask)?,
    }
    let cas_url = &ask.hub.addresses.cas;
    let (token, exp) = ask.hub.signer.xet_token(scope, ask.hub.lifetimes().xet_token);
    let mut response = crate::http::json(&json!({ "casUrl": cas_url, "accessToken": token, "exp": exp }));
    let headers = response.headers_mut();
    headers.insert("x-xet-token-expiration", HeaderValue::from(exp));
    for (name, value) in [("x-xet-cas-url", cas_url), ("x-xet-access-token", &token)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    Ok(response)
}
