//! Ranges of files over plain HTTP, from the data host that the Hub names. Asks for the place again once when it expires;
//! repeats nothing else, and sends the Hub's token only where the Hub client said so.

use super::carry;
use super::fault::Fault;
use super::flight::Flights;
use super::http::{self, Carried};
use super::kept::Kept;
use super::lanes::FetchLanes;
use super::origin::Location;
use super::pace::Pace;
use super::pieces;
use super::stats::Counters;
use super::{Sink, Source};
use crate::hub::View;
use crate::repo::RepoId;
use crate::{ErrorKind, Result};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, TryStreamExt};
use reqwest::StatusCode;
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, RANGE};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Locations kept.
const LOCATIONS_MAX: usize = 4096;
/// A location is asked again after this, as it is signed for a limited time (an hour on the Hub).
const LOCATION_MS_MAX: u64 = 15 * 60 * 1000;
/// A server that knows no ranges may send a file of up to this size whole.
const WHOLE_BYTES_MAX: u64 = 1 << 20;

type Key = (View, RepoId, Arc<str>, Arc<str>);

/// Plain HTTP, as a transport uses it.
pub(crate) struct Plain {
    counters: Arc<Counters>,
    pace: Arc<Pace>,
    /// Guards the map only; std, as it is held for a lookup and never across an await.
    kept: Mutex<Kept<Key, Arc<Location>>>,
    flights: Flights<Key, Arc<Location>>,
}

/// How a request ended that did not fail.
enum Answer {
    Carried,
    /// The location is no longer good.
    Expired,
}

impl Plain {
    pub(crate) fn new(counters: Arc<Counters>, pace: Arc<Pace>) -> Self {
        Plain { counters, pace, kept: Mutex::new(Kept::new(LOCATIONS_MAX)), flights: Flights::new() }
    }

    /// Whether the file's location is at hand, so that a fetch is one round trip.
    pub(crate) fn knows(&self, source: &Source) -> bool {
        self.kept().get(&key(source), Instant::now()).is_some()
    }

    /// Fetches `range`, in pieces side by side; the first failure ends it.
    pub(crate) async fn fetch(
        self: &Arc<Self>,
        source: &Arc<Source>,
        range: Range<u64>,
        sink: &dyn Sink,
        lanes: &FetchLanes<'_>,
        busy: usize,
    ) -> Result<()> {
        let grid = pieces::grid(&range, busy);
        pieces::cut(range, grid)
            .map(|piece| self.piece(source, piece, sink, lanes))
            .collect::<FuturesUnordered<_>>()
            .try_collect()
            .await
    }

    async fn piece(
        self: &Arc<Self>,
        source: &Arc<Source>,
        piece: Range<u64>,
        sink: &dyn Sink,
        lanes: &FetchLanes<'_>,
    ) -> Result<()> {
        for _ in 0..2 {
            let location = self.location(source).await?;
            let answer = self.request(source, &location, piece.clone(), sink, lanes).await;
            // Where nobody is, the Hub may name another place by now.
            if matches!(&answer, Ok(Answer::Expired) | Err(Fault { kind: ErrorKind::Offline, .. })) {
                self.kept().forget(&key(source), |kept| Arc::ptr_eq(kept, &location));
            }
            match answer.map_err(|fault| fault.about(&source.file.path))? {
                Answer::Carried => return Ok(()),
                Answer::Expired => {}
            }
        }
        Err(Fault::new(ErrorKind::FileRefused, "a fresh link is refused").about(&source.file.path))
    }

    async fn request(
        &self,
        source: &Source,
        location: &Location,
        piece: Range<u64>,
        sink: &dyn Sink,
        lanes: &FetchLanes<'_>,
    ) -> Result<Answer, Fault> {
        let _lane = lanes.lane().await;
        let mut request = source
            .origin
            .data_client()
            .get(location.url.clone())
            .header(RANGE, format!("bytes={}-{}", piece.start, piece.end - 1))
            .header(ACCEPT_ENCODING, "identity");
        if let Some(bearer) = &location.bearer {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
        sink.sent();
        self.counters.plain.request();
        let response = request.send().await?;
        match response.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
            // A redirect, too: the file is served elsewhere than it was.
            status if status.is_redirection() || matches!(status.as_u16(), 401 | 403 | 404 | 410) => {
                return Ok(Answer::Expired);
            }
            _ => return Err(http::refusal(&response, ErrorKind::FileRefused)),
        }
        let size = source.file.size;
        let asked = std::slice::from_ref(&piece);
        let length = response.content_length();
        let body = match http::carried(response.status(), response.headers(), length, asked, Some(size))? {
            Carried::Single => piece.clone(),
            Carried::Whole if piece == (0..size) || size <= WHOLE_BYTES_MAX => {
                if length.is_some_and(|length| length != size) {
                    return Err(Fault::mismatch("a file of another size"));
                }
                0..size
            }
            Carried::Whole => return Err(Fault::protocol("ranges are not served")),
            Carried::Multi(_) => return Err(Fault::protocol("several ranges where one was asked for")),
        };
        carry::plain_range(response, body, piece, sink, &self.counters.plain, &self.pace).await?;
        Ok(Answer::Carried)
    }

    /// Forgets what was answered to `view`, which has ended.
    pub(crate) fn forget(&self, view: View) {
        self.kept().retain(|(of, ..)| *of != view);
    }

    async fn location(self: &Arc<Self>, source: &Arc<Source>) -> Result<Arc<Location>> {
        let key = key(source);
        if let Some(location) = self.kept().get(&key, Instant::now()) {
            return Ok(location);
        }
        let (this, source) = (Arc::clone(self), Arc::clone(source));
        let asked = key.clone();
        self.flights.join(key, move || this.ask(source, asked).boxed()).await
    }

    async fn ask(self: Arc<Self>, source: Arc<Source>, key: Key) -> Result<Arc<Location>> {
        self.counters.resolves.request();
        let location = source.origin.locate(&source.repo, &source.commit, &source.file.path).await?;
        let location = Arc::new(location);
        if source.origin.view() == key.0 {
            let until = Instant::now() + Duration::from_millis(LOCATION_MS_MAX);
            self.kept().insert(key, Arc::clone(&location), until);
        }
        Ok(location)
    }

    fn kept(&self) -> MutexGuard<'_, Kept<Key, Arc<Location>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(source: &Source) -> Key {
    (source.origin.view(), source.repo.clone(), Arc::clone(&source.commit), Arc::clone(&source.file.path))
}
