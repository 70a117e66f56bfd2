//! One request and its answer: counts it, finds its script, waits out the round trip, asks the router, and wraps the
//! body. Never buffers a body.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::RANGE;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use tokio::time::{Instant, sleep, sleep_until};

use super::route::{Route, Site};
use super::script::{Answer, Asked, Step};
use super::served::{InFlight, Received, Served};
use super::wire::{Ending, Peer};
use super::{Inner, control, hold};

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection was ended by the script")]
pub(super) struct Cut;

pub(super) async fn exchange(
    inner: &Arc<Inner>,
    peer: &Arc<Peer>,
    router: &Router,
    request: Request<Incoming>,
) -> Result<Response<Served>, Cut> {
    if peer.site == Site::Hub && request.uri().path().starts_with(control::PREFIX) {
        let response = ask(&control::router(inner.clone()), request.map(Body::new)).await;
        return Ok(response.map(Served::plain));
    }
    let link = inner.pacer.link();
    let connects = if peer.first_exchange() { 1 } else { 0 };
    let head_due = Instant::now() + link.round_trip() * (1 + connects);
    let route = Route::of(peer.site, request.method(), request.uri().path());
    inner.counters.record(route, peer, request.method(), request.uri(), request.headers());
    let in_flight = InFlight::new(inner.clone(), route);
    let head_only = request.method() == Method::HEAD;

    let mut steps = steps(inner, peer, route, &request);
    let mut response = match before_head(inner, peer, &mut steps).await? {
        Some(answer) => answer.response(),
        None if link.is_limited() => {
            let flow = inner.pacer.open(None);
            ask(router, request.map(|body| Body::new(Received::new(body, flow)))).await
        }
        None => ask(router, request.map(Body::new)).await,
    };
    if head_only || response.body().size_hint().exact() == Some(0) {
        // Such a body is never asked for a frame.
        steps.retain(|step| !matches!(step, Step::Serve(_) | Step::ServeRest | Step::FlipByte));
        if let Some(answer) = before_head(inner, peer, &mut steps).await? {
            response = answer.response();
        }
    }
    sleep_until(head_due).await;
    let flow = link.is_limited().then(|| inner.pacer.open(response.body().size_hint().exact()));
    Ok(response.map(|body| Served::new(body, steps, flow, in_flight, peer.clone())))
}

fn steps(inner: &Inner, peer: &Peer, route: Route, request: &Request<Incoming>) -> VecDeque<Step> {
    let path = request.uri().path();
    let target = request.uri().path_and_query().map_or(path, |target| target.as_str());
    let asked = Asked { route, site: peer.site, method: request.method().as_str(), target, connection: peer.number };
    let scripted = inner.script.steps(&asked).or_else(|| {
        let range = request.headers().get(RANGE).and_then(|value| value.to_str().ok());
        inner.dice.steps(&inner.pacer.link().rough?, (peer.site, route), path, range)
    });
    if scripted.is_some() {
        inner.counters.faulted();
    }
    scripted.unwrap_or_default().into()
}

/// Walks the steps up to the first that needs the head sent.
async fn before_head(inner: &Arc<Inner>, peer: &Peer, steps: &mut VecDeque<Step>) -> Result<Option<Answer>, Cut> {
    while let Some(step) = steps.front() {
        match step {
            Step::Serve(_) | Step::ServeRest | Step::FlipByte => break,
            Step::LatencyMs(ms) => sleep(Duration::from_millis(*ms)).await,
            Step::Stall | Step::StallMs(_) => hold(inner.clone(), step.stall_limit()).await,
            Step::Reset | Step::Truncate => {
                peer.end(if *step == Step::Reset { Ending::Reset } else { Ending::Close });
                return Err(Cut);
            }
            Step::Answer(answer) => {
                let answer = answer.clone();
                steps.pop_front();
                return Ok(Some(answer));
            }
        }
        steps.pop_front();
    }
    Ok(None)
}

impl Answer {
    fn response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.headers {
            match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                (Ok(name), Ok(value)) => {
                    response.headers_mut().append(name, value);
                }
                (name, value) => tracing::warn!(?name, ?value, "a scripted header cannot be sent"),
            }
        }
        response
    }
}

async fn ask(router: &Router, request: Request<Body>) -> Response<Body> {
    match TowerToHyperService::new(router.clone()).call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
