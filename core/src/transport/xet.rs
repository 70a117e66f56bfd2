//! Ranges of files in Xet storage: asks for reconstructions, then for the signed ranges that they name, and carries their
//! chunks to the sink. Renews what expires, once; repeats nothing else.

use super::carry;
use super::fault::Fault;
use super::flight::Flights;
use super::http;
use super::kept::KeptLayouts;
use super::lanes::FetchLanes;
use super::layout::{DataRequest, Layout};
use super::pace::Pace;
use super::pieces;
use super::stats::Counters;
use super::token::Tokens;
use super::{Sink, Source, XetFile};
use crate::hub::View;
use crate::{ErrorKind, Result};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, TryStreamExt};
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, RANGE};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use url::Url;
use xet_client::cas_types::{QueryReconstructionResponse, QueryReconstructionResponseV2};

/// A reconstruction as JSON. One of 32 MiB in 64 KiB terms takes about 300 KiB.
const RECONSTRUCTION_BYTES_MAX: usize = 16 << 20;
/// Time for a reconstruction, its body included: as for a question to the Hub. All who need it wait for one request, so one that is
/// silent must end early enough for two more before a read's deadline.
const RECONSTRUCTION_TIMEOUT_MS: u64 = 12_000;
/// A kept reconstruction is used for a part of its range if that costs at most this more than the part, or an eighth.
const WASTE_BYTES_MAX: u64 = 128 << 10;
/// Xet services whose version is remembered; a Hub names one.
const SERVICES_MAX: usize = 64;

/// Xet storage, as a transport uses it.
pub(crate) struct Xet {
    counters: Arc<Counters>,
    pace: Arc<Pace>,
    tokens: Arc<Tokens>,
    /// Guards the kept reconstructions only; std, as it is held for a lookup and never across an await.
    kept: Mutex<KeptLayouts>,
    flights: Flights<(XetFile, Range<u64>), Arc<Layout>>,
    versions: Versions,
}

/// A piece of a fetch, with the reconstruction to use if one is at hand.
#[derive(Debug)]
struct Piece {
    range: Range<u64>,
    layout: Option<Arc<Layout>>,
}

impl Xet {
    pub(crate) fn new(tokens: Arc<Tokens>, counters: Arc<Counters>, pace: Arc<Pace>) -> Self {
        Xet {
            counters,
            pace,
            tokens,
            kept: Mutex::new(KeptLayouts::default()),
            flights: Flights::new(),
            versions: Versions::default(),
        }
    }

    /// Whether a reconstruction that fits `range` is at hand, so that a fetch is one round trip.
    pub(crate) fn knows(&self, file: &XetFile, range: &Range<u64>) -> bool {
        self.at_hand(file, range).is_some_and(|(covered, _)| covered == *range)
    }

    /// Fetches `range`, in pieces side by side; the first failure ends it.
    pub(crate) async fn fetch(
        self: &Arc<Self>,
        source: &Arc<Source>,
        file: &XetFile,
        range: Range<u64>,
        sink: &dyn Sink,
        lanes: &FetchLanes<'_>,
        busy: usize,
    ) -> Result<()> {
        self.pieces(file, range, busy)
            .into_iter()
            .map(|piece| self.piece(source, file, piece, sink, lanes))
            .collect::<FuturesUnordered<_>>()
            .try_collect()
            .await
    }

    /// Asks for a reconstruction of the first of `range`, so that the token, the connection and the version are there.
    pub(crate) async fn greet(self: &Arc<Self>, source: &Arc<Source>, file: &XetFile, range: Range<u64>) -> Result<()> {
        let first = range.start..range.end.min(range.start + pieces::PIECE_BYTES_MIN);
        self.layout(source, file, first).await.map(drop)
    }

    fn pieces(&self, file: &XetFile, range: Range<u64>, busy: usize) -> Vec<Piece> {
        let grid = pieces::grid(&range, busy);
        let mut pieces = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let (range, layout) = match self.at_hand(file, &(at..range.end)) {
                Some((range, layout)) => (range, Some(layout)),
                None => (pieces::next(at..range.end, grid), None),
            };
            at = range.end;
            pieces.push(Piece { range, layout });
        }
        pieces
    }

    /// The longest start of `range` that a kept reconstruction serves without much waste.
    fn at_hand(&self, file: &XetFile, range: &Range<u64>) -> Option<(Range<u64>, Arc<Layout>)> {
        let now = Instant::now();
        self.kept()
            .containing(file, range.start, now)
            .map(|layout| (range.start..range.end.min(layout.asked().end), layout))
            .filter(|(part, layout)| {
                let cost: u64 = layout.requests(std::slice::from_ref(part)).iter().map(DataRequest::wire_bytes).sum();
                let len = part.end - part.start;
                cost <= len + WASTE_BYTES_MAX.max(len / 8)
            })
            .max_by_key(|(part, _)| part.end)
            .map(|(part, layout)| (part, Arc::clone(layout)))
    }

    async fn piece(
        self: &Arc<Self>,
        source: &Arc<Source>,
        file: &XetFile,
        piece: Piece,
        sink: &dyn Sink,
        lanes: &FetchLanes<'_>,
    ) -> Result<()> {
        let layout = match piece.layout {
            Some(layout) => layout,
            None => self.layout(source, file, piece.range.clone()).await?,
        };
        let expired = self.carry(source, layout.requests(std::slice::from_ref(&piece.range)), sink, lanes).await?;
        if expired.is_empty() {
            return Ok(());
        }
        self.kept().forget(file, &layout);
        let renewed = self.layout(source, file, piece.range).await?;
        if self.carry(source, renewed.requests(&expired), sink, lanes).await?.is_empty() {
            return Ok(());
        }
        self.kept().forget(file, &renewed);
        Err(Fault::new(ErrorKind::FileRefused, "fresh signed links are refused").about(&source.file.path))
    }

    /// Sends `requests` side by side; returns what is still wanted of those whose links had expired, in file order.
    async fn carry(
        &self,
        source: &Source,
        requests: Vec<DataRequest>,
        sink: &dyn Sink,
        lanes: &FetchLanes<'_>,
    ) -> Result<Vec<Range<u64>>> {
        let mut expired: Vec<Range<u64>> = requests
            .into_iter()
            .map(|request| self.request(source, request, sink, lanes))
            .collect::<FuturesUnordered<_>>()
            .try_concat()
            .await
            .map_err(|fault| fault.about(&source.file.path))?;
        expired.sort_by_key(|range| range.start);
        Ok(expired)
    }

    /// Sends one request; returns what is still wanted if its link had expired.
    async fn request(
        &self,
        source: &Source,
        request: DataRequest,
        sink: &dyn Sink,
        lanes: &FetchLanes<'_>,
    ) -> Result<Vec<Range<u64>>, Fault> {
        let _lane = lanes.lane().await;
        sink.sent();
        self.counters.xorbs.request();
        let asked = source.origin.data_client().get(request.url.clone()).header(RANGE, request.range_header());
        let response = asked.send().await?;
        match response.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Ok(request.wanted()),
            _ => return Err(http::refusal(&response, ErrorKind::FileRefused)),
        }
        let asked: Vec<_> = request.parts.iter().map(|(part, _)| part.bytes.clone()).collect();
        let carried = http::carried(response.status(), response.headers(), response.content_length(), &asked, None)?;
        carry::xorb_ranges(response, carried, request, sink, &self.counters.xorbs, &self.pace).await?;
        Ok(Vec::new())
    }

    /// A reconstruction asked for exactly `range`; many may wait for one request.
    async fn layout(self: &Arc<Self>, source: &Arc<Source>, file: &XetFile, range: Range<u64>) -> Result<Arc<Layout>> {
        let (this, source, file) = (Arc::clone(self), Arc::clone(source), file.clone());
        let key = (file.clone(), range.clone());
        self.flights
            .join(key, move || {
                async move {
                    let layout = Arc::new(this.ask(&source, &file.hash, range).await?);
                    if source.origin.view() == file.view {
                        this.kept().insert(&file, Arc::clone(&layout), Instant::now());
                    }
                    Ok(layout)
                }
                .boxed()
            })
            .await
    }

    async fn ask(&self, source: &Arc<Source>, hash: &str, range: Range<u64>) -> Result<Layout> {
        let about = |fault: Fault| fault.about(&source.file.path);
        let mut renewed = Renewed::NotYet;
        let mut second_version = Second::MayBe;
        loop {
            let token = self.tokens.get(source).await?;
            let confirmed = self.versions.of(&token.cas_url);
            let version = match (confirmed, second_version) {
                (Some(version), _) => version,
                (None, Second::MayBe) => Version::Two,
                (None, Second::Missing) => Version::One,
            };
            let url =
                format!("{}/{}/reconstructions/{hash}", token.cas_url.as_str().trim_end_matches('/'), version.path());
            self.counters.reconstructions.request();
            let request = source
                .origin
                .data_client()
                .get(url)
                .header(AUTHORIZATION, token.bearer.clone())
                .header(RANGE, format!("bytes={}-{}", range.start, range.end - 1));
            let answered = async {
                let response = request.send().await?;
                if response.status() != StatusCode::OK {
                    return Ok(Answered::Not(response));
                }
                http::body(response, RECONSTRUCTION_BYTES_MAX, &self.counters.reconstructions).await.map(Answered::With)
            };
            let answered = tokio::time::timeout(Duration::from_millis(RECONSTRUCTION_TIMEOUT_MS), answered)
                .await
                .unwrap_or_else(|_| Err(Fault::new(ErrorKind::Stalled, "no reconstruction in time")))
                .map_err(about)?;
            let response = match answered {
                Answered::With(body) => {
                    let answer = version.parse(&body).map_err(about)?;
                    self.versions.confirm(&token.cas_url, version);
                    let secure = token.cas_url.scheme() == "https";
                    return Layout::check(answer, range, secure).map_err(about);
                }
                Answered::Not(response) => response,
            };
            match response.status() {
                StatusCode::UNAUTHORIZED => {
                    self.tokens.reject(source, &token);
                    if renewed == Renewed::Once {
                        return Err(about(http::refusal(&response, ErrorKind::FileRefused)));
                    }
                    renewed = Renewed::Once;
                }
                // A service without the second version, or without this file: the first version tells.
                StatusCode::NOT_FOUND | StatusCode::NOT_IMPLEMENTED
                    if version == Version::Two && confirmed.is_none() =>
                {
                    second_version = Second::Missing;
                }
                _ => return Err(about(http::refusal(&response, ErrorKind::FileRefused))),
            }
        }
    }

    /// Forgets what was answered to `view`, which has ended.
    pub(crate) fn forget(&self, view: View) {
        self.kept().forget_view(view);
        self.tokens.forget(view);
    }

    /// Memory that reconstructions take.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.kept().bytes()
    }

    fn kept(&self) -> MutexGuard<'_, KeptLayouts> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the service says to a question for a reconstruction.
enum Answered {
    /// The reconstruction, as it came.
    With(Vec<u8>),
    /// Another status than success.
    Not(reqwest::Response),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewed {
    NotYet,
    Once,
}

/// Whether a service of which nothing is known has the second version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    MayBe,
    Missing,
}

/// The form in which reconstructions are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// One signed URL a range.
    One,
    /// One signed URL for several ranges of a xorb.
    Two,
}

impl Version {
    fn path(self) -> &'static str {
        match self {
            Version::One => "v1",
            Version::Two => "v2",
        }
    }

    fn parse(self, body: &[u8]) -> Result<QueryReconstructionResponseV2, Fault> {
        let bad = |error: serde_json::Error| Fault::protocol(format!("reconstruction: {error}"));
        match self {
            Version::One => serde_json::from_slice::<QueryReconstructionResponse>(body).map(Into::into).map_err(bad),
            Version::Two => serde_json::from_slice(body).map_err(bad),
        }
    }
}

/// What each service speaks: the second version until it says otherwise, and what has worked once for good.
#[derive(Debug, Default)]
struct Versions {
    /// By the service's address. Std: held for a lookup or an insert.
    confirmed: Mutex<HashMap<Url, Version>>,
}

impl Versions {
    fn of(&self, service: &Url) -> Option<Version> {
        self.confirmed.lock().unwrap_or_else(PoisonError::into_inner).get(service).copied()
    }

    fn confirm(&self, service: &Url, version: Version) {
        let mut confirmed = self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        if confirmed.len() >= SERVICES_MAX {
            confirmed.clear();
        }
        confirmed.insert(service.clone(), version);
    }
}
