//! One request to the Hub API: sent with the account's token, within its deadline, tried again where that can help,
//! followed across renames on the same host, its answer read up to a bound. Never follows anything to another host.

use super::Hub;
use super::limit::Bucket;
use super::map::{Question, Refusal, Subject, map, map_transport};
use crate::error::Retry;
use crate::repo::RepoId;
use crate::{Error, ErrorKind, Result};
use bytes::{Bytes, BytesMut};
use reqwest::header::{self, HeaderMap};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// Time for one attempt, its body included. The slowest good answer, a page of 1,000 entries on a thin link, takes about 2 s.
const ATTEMPT_TIMEOUT_MS: u64 = 12_000;
/// Pauses before the second and the third attempt.
const BACK_OFF_MS: [u64; 2] = [250, 1_000];
/// Longest pause that a Hub which is down may ask for and still be obeyed within the request; past it the error is the answer.
const PAUSE_MAX_MS: u64 = 5_000;
/// Redirects followed in one request: a rename, a change of spelling, and some to spare.
const REDIRECTS_MAX: usize = 5;
/// Largest answer read: a page of 1,000 entries with paths of a few hundred bytes is about 600 kB; a commit's answer that
/// names 100,000 files, 8 MB.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Largest body of a refusal that is looked at for its message.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// A request: cheap to build again for each attempt.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) url: Url,
    /// Body, sent as JSON.
    pub(super) json: Option<serde_json::Value>,
    pub(super) question: Question,
}

/// An answer with a good status, or a redirect to another host where that is wanted.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// Where the answer came from, redirects followed.
    pub(super) url: Url,
    pub(super) body: Bytes,
}

impl Answer {
    /// A header as text; `None` if it is missing or not text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as `T`.
    pub(super) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| protocol(name, error))
    }
}

/// An answer that the protocol does not allow.
pub(super) fn protocol(name: &str, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Protocol, name).because(cause)
}

impl Hub {
    pub(super) fn question(&self, subject: Subject, repo: &RepoId, name: String) -> Question {
        Question { subject, name, page: Some(self.page(repo)), logged_in: self.is_logged_in() }
    }

    /// A GET of the API, with its answer's body.
    pub(super) async fn get(&self, url: Url, question: Question) -> Result<Answer> {
        self.ask(&Ask { method: Method::GET, url, json: None, question }).await
    }

    /// Sends `ask`, again where the error's [`Retry`] says that it may help soon, and time remains. Once the Hub has asked to slow down nothing is sent
    /// before the moment that it named, and where that is too far away the error says so at once.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer> {
        let mut last = None;
        let begin = Instant::now();
        let attempts = async {
            let mut pauses = BACK_OFF_MS.iter();
            loop {
                let error = match self.attempt_if_allowed(ask).await {
                    Ok(answer) => return Ok(answer),
                    Err(error) => error,
                };
                if let (ErrorKind::RateLimited, Some(wait)) = (error.kind(), error.wait_asked()) {
                    if begin.elapsed() + wait >= self.patience {
                        return Err(error);
                    }
                    tracing::debug!(subject = error.subject(), ?error, ?wait, "waiting since the Hub asks for it");
                    (self.told)(wait);
                    last = Some(error);
                    tokio::time::sleep(wait).await;
                    continue;
                }
                let asked = error.wait_asked().unwrap_or_default();
                let soon = matches!(error.kind().row().retry, Retry::Soon | Retry::WhileAway)
                    && asked <= Duration::from_millis(PAUSE_MAX_MS);
                let Some(pause_ms) = pauses.next().filter(|_| soon) else { return Err(error) };
                tracing::debug!(subject = error.subject(), ?error, pause_ms, "asking the Hub again");
                let pause = asked.max(Duration::from_millis(*pause_ms));
                last = Some(error);
                tokio::time::sleep(pause).await;
            }
        };
        match tokio::time::timeout(self.patience, attempts).await {
            Ok(result) => result,
            Err(_) => Err(last.unwrap_or_else(|| Error::new(ErrorKind::Stalled, ask.question.name.clone()))),
        }
    }

    async fn attempt_if_allowed(&self, ask: &Ask) -> Result<Answer> {
        let name = || ask.question.name.clone();
        if self.config.is_paused() {
            return Err(Error::new(ErrorKind::Paused, name())
                .saying("all network is paused")
                .advise("weightless resume ends the pause."));
        }
        let bucket = Bucket::of(&ask.method);
        if let Some(wait) = self.limits.wait(bucket) {
            return Err(Error::new(ErrorKind::RateLimited, name()).wait(wait));
        }
        let view = self.view();
        if self.rejected.holds(view) {
            return Err(Error::new(ErrorKind::TokenRejected, name()).because("the Hub has just rejected it"));
        }
        match self.attempt(ask).await {
            Err(error) if error.kind() == ErrorKind::RateLimited => {
                let wait = self.limits.set(bucket, error.wait_asked().unwrap_or_default());
                Err(error.wait(wait))
            }
            Err(error) if error.kind() == ErrorKind::TokenRejected => {
                self.rejected.set(view);
                Err(error)
            }
            result => result,
        }
    }

    async fn attempt(&self, ask: &Ask) -> Result<Answer> {
        let timeout = Duration::from_millis(ATTEMPT_TIMEOUT_MS);
        match tokio::time::timeout(timeout, self.follow(ask)).await {
            Ok(result) => result,
            Err(_) => Err(Error::new(ErrorKind::Stalled, ask.question.name.clone()).because("no answer in time")),
        }
    }

    /// Sends the request and follows redirects within the endpoint's host. A HEAD ends at a redirect that tells of the file
    /// already, or leads elsewhere; anything else that leads elsewhere is an error.
    async fn follow(&self, ask: &Ask) -> Result<Answer> {
        let name = &ask.question.name;
        let mut url = ask.url.clone();
        let mut method = ask.method.clone();
        for _ in 0..=REDIRECTS_MAX {
            let mut request = self.request(method.clone(), url.clone());
            if let Some(json) = ask.json.as_ref().filter(|_| method == ask.method) {
                request = request.json(json);
            }
            if method == Method::HEAD {
                // Another encoding would change the length that is asked for.
                request = request.header(header::ACCEPT_ENCODING, "identity");
            }
            let response = request.send().await.map_err(|error| map_transport(error, name))?;
            let status = response.status();
            if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
                return finish(response, url, &ask.question).await;
            }
            let headers = response.headers();
            let target = headers
                .get(header::LOCATION)
                .and_then(|location| url.join(location.to_str().ok()?).ok())
                .ok_or_else(|| protocol(name, "a redirect without an address"))?;
            let stays = self.config.is_endpoint(&target);
            let tells = headers.contains_key("x-linked-etag") && headers.contains_key("x-linked-size");
            if method == Method::HEAD && (tells || !stays) {
                return Ok(Answer { status, headers: headers.clone(), url: target, body: Bytes::new() });
            }
            if !stays {
                let host = target.host_str().unwrap_or_default().to_owned();
                return Err(protocol(name, format!("the Hub redirects to another host, {host}"))
                    .advise(format!("If {host} is the Hub, name it with --endpoint or HF_ENDPOINT.")));
            }
            if status == StatusCode::SEE_OTHER && method != Method::HEAD {
                method = Method::GET;
            }
            url = target;
        }
        Err(protocol(name, "too many redirects"))
    }
}

async fn finish(mut response: reqwest::Response, url: Url, question: &Question) -> Result<Answer> {
    let status = response.status();
    if status.is_success() {
        let body = read(&mut response, ANSWER_BYTES_MAX, &question.name).await?;
        return Ok(Answer { status, headers: response.headers().clone(), url, body });
    }
    let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut refusal = Refusal {
        status: status.as_u16(),
        code: text("x-error-code"),
        message: text("x-error-message"),
        rate_limit: text("ratelimit"),
        retry_after: text("retry-after"),
        request_id: text("x-request-id"),
    };
    if refusal.message.is_none() {
        // The status says enough where the body cannot be read.
        let body = read(&mut response, REFUSAL_BYTES_MAX, &question.name).await.unwrap_or_default();
        let json: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
        refusal.message = json.and_then(|json| json.get("error")?.as_str().map(str::to_owned));
    }
    Err(map(&refusal, question))
}

/// The body, in one piece; an error if it is longer than `bytes_max`.
async fn read(response: &mut reqwest::Response, bytes_max: usize, name: &str) -> Result<Bytes> {
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| map_transport(error, name))? {
        if first.len() + joined.len() + chunk.len() > bytes_max {
            return Err(protocol(name, format!("an answer of more than {bytes_max} bytes")));
        }
        if first.is_empty() && joined.is_empty() {
            first = chunk;
            continue;
        }
        if joined.is_empty() {
            joined.extend_from_slice(&std::mem::take(&mut first));
        }
        joined.extend_from_slice(&chunk);
    }
    Ok(if joined.is_empty() { first } else { joined.freeze() })
}
