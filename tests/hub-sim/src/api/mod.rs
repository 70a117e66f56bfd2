//! The Hub's own host: finds the route, the caller's rights and the repo, then answers. Never serves large contents.

mod access;
mod commit;
mod info;
mod lfs;
mod refs;
mod repos;
mod resolve;
mod route;
mod search;
mod token;
mod tree;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method};

use crate::http::{Query, Refusal};
use crate::hub::{Caller, Hub};
pub(crate) use access::{OWNER_TOKEN, READER_TOKEN};
use route::{RepoRoute, Route};

/// Bodies of commits carry small files inline; the Hub takes no larger one.
const BODY_BYTES_MAX: usize = 64 << 20;

/// The Hub counts requests of its API and of files apart, and says so in every answer. The simulator never runs out:
/// a script of the network answers 429.
const API_QUOTA: (&str, &str) = ("\"api\";r=999;t=300", "\"fixed window\";\"api\";q=1000;w=300");
const RESOLVER_QUOTA: (&str, &str) = ("\"resolvers\";r=4999;t=300", "\"fixed window\";\"resolvers\";q=5000;w=300");

/// A request, parsed as far as all routes need it.
pub(crate) struct Ask {
    pub(crate) hub: Arc<Hub>,
    pub(crate) caller: Caller,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    /// As sent, percent-encoded.
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) body: bytes::Bytes,
}

/// The Hub's routes.
pub(crate) fn router(hub: Arc<Hub>) -> Router {
    Router::new().fallback(answer).with_state(hub)
}

async fn answer(State(hub): State<Arc<Hub>>, request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let request_id = format!("Root=1-sim-{:08}", hub.next_request());
    let is_file = !parts.uri.path().starts_with("/api/");
    let mut response = match axum::body::to_bytes(body, BODY_BYTES_MAX).await {
        Err(error) => Refusal::bad_request(format!("cannot read the body: {error}")).into_response(),
        Ok(body) => {
            let ask = Ask {
                caller: access::caller(&parts.headers),
                hub,
                path: parts.uri.path().to_owned(),
                query: Query::parse(parts.uri.query()),
                method: parts.method,
                headers: parts.headers,
                body,
            };
            dispatch(&ask).unwrap_or_else(IntoResponse::into_response)
        }
    };
    let headers = response.headers_mut();
    let (limit, policy) = if is_file { RESOLVER_QUOTA } else { API_QUOTA };
    headers.insert("ratelimit", HeaderValue::from_static(limit));
    headers.insert("ratelimit-policy", HeaderValue::from_static(policy));
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        headers.insert("x-request-id", id);
    }
    response
}

fn dispatch(ask: &Ask) -> Result<Response, Refusal> {
    let route = Route::parse(&ask.path).filter(|route| route.takes(&ask.method)).ok_or_else(Refusal::no_route)?;
    match route {
        Route::WhoAmI => access::who_am_i(ask),
        Route::Search { kind } => search::search(ask, kind),
        Route::CreateRepo => repos::create(ask),
        Route::DeleteRepo => repos::delete(ask),
        Route::ValidateYaml => Ok(crate::http::json(&serde_json::json!({ "errors": [], "warnings": [] }))),
        Route::Repo { kind, id, rest } => {
            let repo = access::find(ask, kind, &id)?;
            match rest {
                RepoRoute::Info { revision } => info::info(ask, &repo, revision.as_deref()),
                RepoRoute::Refs => refs::refs(ask, &repo),
                RepoRoute::Commits { revision } => refs::commits(ask, &repo, &revision),
                RepoRoute::Tree { revision, path } => tree::tree(ask, &repo, &revision, &path),
                RepoRoute::PathsInfo { revision } => tree::paths_info(ask, &repo, &revision),
                RepoRoute::XetToken { scope, revision } => token::xet_token(ask, &repo, scope, &revision),
                RepoRoute::Resolve { revision, path } => resolve::resolve(ask, &repo, &revision, &path),
                RepoRoute::Raw { revision, path } => resolve::raw(ask, &repo, &revision, &path),
                RepoRoute::Preupload { revision } => commit::preupload(ask, &repo, &revision),
                RepoRoute::Commit { revision } => commit::commit(ask, &repo, &revision),
                RepoRoute::Branch { name } => refs::change_branch(ask, &repo, &name),
                RepoRoute::Tag { name } => refs::change_tag(ask, &repo, &name),
                RepoRoute::LfsBatch => lfs::batch(ask, &repo),
            }
        }
    }
}

impl Ask {
    /// The body as JSON.
    fn json(&self) -> Result<serde_json::Value, Refusal> {
        serde_json::from_slice(&self.body).map_err(|error| Refusal::bad_request(format!("Invalid JSON: {error}")))
    }

    /// The index of the commit that a revision names.
    fn commit(&self, repo: &crate::repo::Repo, revision: &str) -> Result<usize, Refusal> {
        repo.resolve(revision).ok_or_else(|| {
            Refusal::new(http::StatusCode::NOT_FOUND, "RevisionNotFound", format!("Invalid rev id: {revision}"))
        })
    }
}
