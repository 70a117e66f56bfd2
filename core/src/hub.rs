//! The Hub API: commits, trees, resolving, tokens. Every request goes through one client of ours, with a deadline, a
//! bounded answer and the account's token only where the endpoint's own host is asked. Knows nothing of mounts, and
//! fetches no file content.
//!
//! | module | subject |
//! | --- | --- |
//! | [`map`] | what the Hub's refusals mean; pure |
//! | `ask` | one request with its retries, redirects and bounds |
//! | `route` | addresses, encoded once |
//! | [`commit`] | a revision's commit, refs, history |
//! | [`listing`] | folders page by page, single paths |
//! | [`resolve`] | one file's data address, size and hashes |
//! | [`xet`] | tokens for the Xet data service |
//! | [`people`] | who am I, search |
//!
//! The crate `hf-hub` is not the client here, although it knows the same routes: it sends the token to whatever host a
//! `next` link names, takes a token from the environment when it is given none, reads answers of any size, and asks HEAD
//! through a client of its own that knows neither our proxy nor our certificates. Its response types are used where they
//! fit.

mod ask;
pub mod commit;
pub mod listing;
pub mod map;
pub mod people;
pub mod resolve;
mod route;
pub mod xet;

#[cfg(test)]
mod tests;

pub use commit::Commit;
pub use listing::{Cursor, Depth, EntryKind, TreeEntry, TreePage};
pub use resolve::Resolved;
pub use xet::XetToken;

use crate::Result;
use crate::net::NetConfig;
use crate::repo::RepoId;
use crate::token::Token;
use reqwest::header::{self, HeaderValue};
use reqwest::{Method, RequestBuilder};
use url::Url;

/// The Hub as one account (or nobody) sees it. Cheap to share behind an `Arc`; holds no state but its connections.
#[derive(Debug)]
pub struct Hub {
    config: NetConfig,
    client: reqwest::Client,
    token: Option<Token>,
}

impl Hub {
    /// Builds the client; asks nothing yet.
    pub fn new(config: NetConfig, token: Option<Token>) -> Result<Self> {
        let client = config.client()?;
        Ok(Hub { config, client, token })
    }

    /// The network configuration, for clients of the same making.
    pub fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Whether requests carry a token.
    pub fn is_logged_in(&self) -> bool {
        self.token.is_some()
    }

    /// A request through the Hub's client. The token goes along if, and only if, `url` is at the endpoint's host.
    pub fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.authorize(&url, self.client.request(method, url.clone()))
    }

    /// Adds the token to `request` for `url` if, and only if, that is at the endpoint's host: for a client of one's own.
    pub fn authorize(&self, url: &Url, request: RequestBuilder) -> RequestBuilder {
        match self.bearer_for(url) {
            Some(bearer) => request.header(header::AUTHORIZATION, bearer),
            None => request,
        }
    }

    /// The `Authorization` header for `url`: the token if, and only if, that is at the endpoint's host.
    pub fn bearer_for(&self, url: &Url) -> Option<HeaderValue> {
        self.token.as_ref().filter(|_| self.config.is_endpoint(url)).map(Token::bearer)
    }

    /// The address of a repo's page, for people.
    pub fn page(&self, repo: &RepoId) -> String {
        format!("{}/{repo}", self.config.base())
    }
}
