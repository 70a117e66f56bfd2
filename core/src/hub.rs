//! The Hub API: commits, trees, resolving, tokens. Every request goes through one client of ours, with a deadline, a
//! bounded answer and the account's token only where the endpoint's own host is asked. Knows nothing of mounts, and
//! fetches no file content.
//!
//! | module | subject |
//! | --- | --- |
//! | [`map`] | what the Hub's refusals mean; pure |
//! | `account` | who asks, and what that account's answers are kept under |
//! | `ask` | one request with its retries, redirects and bounds |
//! | `limit` | until when the Hub has asked for no more |
//! | `route` | addresses, encoded once |
//! | [`commit`] | a revision's commit, refs, history |
//! | [`listing`] | folders page by page, single paths |
//! | [`resolve`] | one file's data address, size and hashes |
//! | [`xet`] | tokens for the Xet data service |
//! | [`people`] | who am I, search |
//! | `rejected` | a token that the Hub does not take is not sent again and again |
//! | `text` | files that people read |
//!
//! The crate `hf-hub` is not the client here, although it knows the same routes: it sends the token to whatever host a
//! `next` link names, takes a token from the environment when it is given none, reads answers of any size, and asks HEAD
//! through a client of its own that knows neither our proxy nor our certificates. Its response types are used where they
//! fit.

mod account;
mod ask;
pub mod commit;
#[cfg(test)]
pub(crate) mod fuzz;
mod limit;
pub mod listing;
pub mod map;
pub mod people;
mod rejected;
pub mod resolve;
mod route;
mod text;
pub mod xet;

#[cfg(test)]
mod tests;

pub use account::View;
pub use commit::Commit;
pub use listing::{Cursor, Depth, EntryKind, TreeEntry, TreePage};
pub use resolve::Resolved;
pub use xet::XetToken;

use crate::Result;
use crate::net::NetConfig;
use crate::repo::RepoId;
use crate::token::Token;
use account::Account;
use limit::Limits;
use rejected::Rejected;
use reqwest::header::{self, HeaderValue};
use reqwest::{Method, RequestBuilder};
use std::fmt;
use std::time::Duration;
use url::Url;

/// The Hub as one account (or nobody) sees it. To be shared behind an `Arc` by all mounts of this endpoint and account; holds
/// no state but who asks, its connections, and until when the Hub wants no more questions.
pub struct Hub {
    config: NetConfig,
    client: reqwest::Client,
    data_client: reqwest::Client,
    account: Account,
    limits: Limits,
    rejected: Rejected,
    patience: Duration,
    told: Box<Told>,
}

/// Told how long a question is going to wait since the Hub asked for that.
type Told = dyn Fn(Duration) + Send + Sync;

/// Time for a request with all its attempts and waits; below a read's deadline of 45 s, so that the error is the network's own.
const PATIENCE_MS: u64 = 30_000;

impl Hub {
    /// Builds the clients; asks nothing yet.
    pub fn new(config: NetConfig, token: Option<Token>) -> Result<Self> {
        let (client, data_client) = (config.client()?, config.data_client()?);
        Ok(Hub {
            config,
            client,
            data_client,
            account: Account::new(token),
            limits: Limits::default(),
            rejected: Rejected::default(),
            patience: Duration::from_millis(PATIENCE_MS),
            told: Box::new(|_| ()),
        })
    }

    /// Time for a request with all its attempts and waits, where it is not that of a read.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Hub { patience, ..self }
    }

    /// Calls `told` whenever a question is going to wait since the Hub asked to slow down, with how long.
    #[must_use]
    pub fn telling(self, told: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Hub { told: Box::new(told), ..self }
    }

    /// From now on another account asks, or the same one with another token. Returns the view that ended, unless the token is
    /// the one it was.
    pub(crate) fn set_token(&self, token: Option<Token>) -> Option<View> {
        let ended = self.account.replace(token);
        if ended.is_some() {
            // The Hub counts by account.
            self.limits.forget();
        }
        ended
    }

    /// What the account sees, as of now.
    pub fn view(&self) -> View {
        self.account.view()
    }

    /// For requests to the data hosts that this Hub names; carries no token.
    pub(crate) fn data_client(&self) -> &reqwest::Client {
        &self.data_client
    }

    /// The network configuration, for clients of the same making.
    pub fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Whether requests carry a token.
    pub fn is_logged_in(&self) -> bool {
        self.account.is_known()
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
        self.account.token().filter(|_| self.config.is_endpoint(url)).map(|token| token.bearer())
    }

    /// The address of a repo's page, for people.
    pub fn page(&self, repo: &RepoId) -> String {
        format!("{}/{repo}", self.config.base())
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("config", &self.config).field("account", &self.account).finish_non_exhaustive()
    }
}
