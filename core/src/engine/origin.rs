//! Joins the Hub client and the transport: the transport asks the Hub for tokens and addresses through here, the reader
//! asks the transport for bytes. Decides nothing.

use crate::Result;
use crate::hub::{Hub, View};
use crate::reader::Fetcher;
use crate::repo::RepoId;
use crate::transport::{Location, Origin, Sink, Source, Transport, XetToken};
use futures_util::future::BoxFuture;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use weightless_plan::Urgency;

/// A Hub as the transport sees it.
#[derive(Debug)]
pub(super) struct HubOrigin(pub(super) Arc<Hub>);

impl Origin for HubOrigin {
    fn view(&self) -> View {
        self.0.view()
    }

    fn address(&self) -> &str {
        self.0.config().base()
    }

    fn data_client(&self) -> &reqwest::Client {
        self.0.data_client()
    }

    fn xet_token(&self, repo: &RepoId, commit: &str) -> BoxFuture<'static, Result<XetToken>> {
        let (hub, repo, commit) = (self.0.clone(), repo.clone(), commit.to_owned());
        Box::pin(async move {
            let token = hub.xet_read_token(&repo, &commit).await?;
            #[expect(
                clippy::disallowed_methods,
                reason = "the Hub names a moment of the wall clock; below here it is a span"
            )]
            let now = SystemTime::now();
            let valid_for = token.expires.duration_since(now).unwrap_or(Duration::ZERO);
            Ok(XetToken { cas_url: token.cas_url, bearer: token.token.bearer(), valid_for })
        })
    }

    fn locate(&self, repo: &RepoId, commit: &str, path: &str) -> BoxFuture<'static, Result<Location>> {
        let (hub, repo, commit, path) = (self.0.clone(), repo.clone(), commit.to_owned(), path.to_owned());
        Box::pin(async move {
            let resolved = hub.resolve(&repo, &commit, &path).await?;
            let bearer = hub.bearer_for(&resolved.location);
            Ok(Location { url: resolved.location, bearer })
        })
    }
}

impl Fetcher for Transport {
    fn fetch<'a>(
        &'a self,
        source: &'a Arc<Source>,
        range: Range<u64>,
        urgency: Urgency,
        sink: &'a Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(Transport::fetch(self, source, range, urgency, sink))
    }

    fn buffer_bytes(&self) -> u64 {
        Transport::buffer_bytes(self)
    }
}
