//! What the transport needs of the Hub: tokens for the Xet service and places where files are served. Implemented by the
//! Hub client and by fakes.

use crate::Result;
use crate::hub::View;
use crate::repo::RepoId;
use futures_util::future::BoxFuture;
use reqwest::header::HeaderValue;
use std::fmt;
use std::time::Duration;
use url::Url;

/// A token for the Xet service, good for one repo.
#[derive(Clone)]
pub struct XetToken {
    /// Base URL of the service.
    pub cas_url: Url,
    /// The `Authorization` header.
    pub bearer: HeaderValue,
    /// How long it is good for, from now.
    pub valid_for: Duration,
}

/// Without the token.
impl fmt::Debug for XetToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XetToken").field("valid_for", &self.valid_for).finish_non_exhaustive()
    }
}

/// Where a file's bytes are served by range.
#[derive(Clone)]
pub struct Location {
    /// A signed URL of a data host, or the endpoint's own.
    pub url: Url,
    /// The `Authorization` header with the Hub's token, only where the endpoint itself serves the file.
    pub bearer: Option<HeaderValue>,
}

/// Without URL and token: the URL may be signed.
impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Location").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

/// A Hub as one account sees it, as far as bytes go. Futures own what they need, so that one may serve many askers.
pub trait Origin: fmt::Debug + Send + Sync + 'static {
    /// What the account sees now. Read *before* a question is asked: an answer is kept under this view, so that an account
    /// that changes meanwhile leaves behind an answer that nobody looks up.
    fn view(&self) -> View;
    /// The Hub's address, without a slash at its end: what is kept beyond this process is kept as this Hub's.
    fn address(&self) -> &str;
    /// The client for data hosts: follows no redirect (one may lead to a host that must not see a token), adds no token.
    fn data_client(&self) -> &reqwest::Client;
    /// Asks for a token to read the files of `commit` in Xet storage.
    fn xet_token(&self, repo: &RepoId, commit: &str) -> BoxFuture<'static, Result<XetToken>>;
    /// Asks where the file at `path` is served.
    fn locate(&self, repo: &RepoId, commit: &str, path: &str) -> BoxFuture<'static, Result<Location>>;
}
