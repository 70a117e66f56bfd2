//! Tokens for the Xet service, one a commit: asked once for all who need it, renewed before they expire. Never logs one.

use super::flight::Flights;
use super::kept::Kept;
use super::origin::{Origin, XetToken};
use super::stats::Counters;
use crate::Result;
use crate::repo::RepoId;
use futures_util::FutureExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Tokens are renewed this long before they expire, so that none expires on its way.
const MARGIN_MS: u64 = 30_000;
/// Commits whose tokens are kept.
const TOKENS_MAX: usize = 256;

type Key = (RepoId, Arc<str>);

/// The tokens of a transport.
pub(crate) struct Tokens {
    origin: Arc<dyn Origin>,
    counters: Arc<Counters>,
    /// Guards the map only; std, as it is held for a lookup and never across an await.
    kept: Mutex<Kept<Key, Arc<XetToken>>>,
    flights: Flights<Key, Arc<XetToken>>,
}

impl Tokens {
    pub(crate) fn new(origin: Arc<dyn Origin>, counters: Arc<Counters>) -> Self {
        Tokens { origin, counters, kept: Mutex::new(Kept::new(TOKENS_MAX)), flights: Flights::new() }
    }

    /// The token to read files of `commit`.
    pub(crate) async fn get(self: &Arc<Self>, repo: &RepoId, commit: &Arc<str>) -> Result<Arc<XetToken>> {
        let key = (repo.clone(), Arc::clone(commit));
        if let Some(token) = self.kept().get(&key, Instant::now()) {
            return Ok(token);
        }
        let this = Arc::clone(self);
        let asked = key.clone();
        self.flights.join(key, move || this.ask(asked).boxed()).await
    }

    /// The service rejected `token`: the next asker gets another one.
    pub(crate) fn reject(&self, repo: &RepoId, commit: &Arc<str>, token: &Arc<XetToken>) {
        self.kept().forget(&(repo.clone(), Arc::clone(commit)), |kept| Arc::ptr_eq(kept, token));
    }

    async fn ask(self: Arc<Self>, key: Key) -> Result<Arc<XetToken>> {
        self.counters.tokens.request();
        let token = Arc::new(self.origin.xet_token(&key.0, &key.1).await?);
        let until = Instant::now() + token.valid_for.saturating_sub(Duration::from_millis(MARGIN_MS)).min(DAY);
        self.kept().insert(key, Arc::clone(&token), until);
        Ok(token)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept<Key, Arc<XetToken>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The Hub names the expiry; no answer makes us keep a token for longer than this.
const DAY: Duration = Duration::from_secs(24 * 3600);
