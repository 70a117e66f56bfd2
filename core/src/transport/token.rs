//! Tokens for the Xet service, one for each view of a commit: asked once for all who need it, renewed before they expire. Never logs one.

use super::Source;
use super::flight::Flights;
use super::kept::Kept;
use super::origin::XetToken;
use super::stats::Counters;
use crate::Result;
use crate::hub::View;
use crate::repo::RepoId;
use futures_util::FutureExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Tokens are renewed this long before they expire, so that none expires on its way.
const MARGIN_MS: u64 = 30_000;
/// Views of commits whose tokens are kept.
const TOKENS_MAX: usize = 256;

type Key = (View, RepoId, Arc<str>);

/// The tokens of a transport.
pub(crate) struct Tokens {
    counters: Arc<Counters>,
    /// Guards the map only; std, as it is held for a lookup and never across an await.
    kept: Mutex<Kept<Key, Arc<XetToken>>>,
    flights: Flights<Key, Arc<XetToken>>,
}

impl Tokens {
    pub(crate) fn new(counters: Arc<Counters>) -> Self {
        Tokens { counters, kept: Mutex::new(Kept::new(TOKENS_MAX)), flights: Flights::new() }
    }

    /// The token to read files of the commit that `source` is in, as its account sees it now.
    pub(crate) async fn get(self: &Arc<Self>, source: &Arc<Source>) -> Result<Arc<XetToken>> {
        let key = key(source);
        if let Some(token) = self.kept().get(&key, Instant::now()) {
            return Ok(token);
        }
        let (this, source, asked) = (Arc::clone(self), Arc::clone(source), key.clone());
        self.flights.join(key, move || this.ask(source, asked).boxed()).await
    }

    /// The service rejected `token`: the next asker gets another one.
    pub(crate) fn reject(&self, source: &Source, token: &Arc<XetToken>) {
        self.kept().forget(&key(source), |kept| Arc::ptr_eq(kept, token));
    }

    /// Forgets what was given to `view`, which has ended.
    pub(crate) fn forget(&self, view: View) {
        self.kept().retain(|(of, ..)| *of != view);
    }

    async fn ask(self: Arc<Self>, source: Arc<Source>, key: Key) -> Result<Arc<XetToken>> {
        self.counters.tokens.request();
        let token = Arc::new(source.origin.xet_token(&source.repo, &source.commit).await?);
        if source.origin.view() == key.0 {
            let until = Instant::now() + token.valid_for.saturating_sub(Duration::from_millis(MARGIN_MS)).min(DAY);
            self.kept().insert(key, Arc::clone(&token), until);
        }
        Ok(token)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept<Key, Arc<XetToken>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(source: &Source) -> Key {
    (source.origin.view(), source.repo.clone(), Arc::clone(&source.commit))
}

/// The Hub names the expiry; no answer makes us keep a token for longer than this.
const DAY: Duration = Duration::from_secs(24 * 3600);
