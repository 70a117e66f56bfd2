//! A body on its way: walks the steps of its script, waits for the link, counts its bytes. Never copies a byte, but for
//! the chunk in which a script flips one.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};

use super::pace::Flow;
use super::route::Route;
use super::script::Step;
use super::wire::{Ending, Peer};
use super::{Inner, hold};

/// Counts a request as active until dropped.
pub(super) struct InFlight {
    inner: Arc<Inner>,
    route: Route,
}

impl InFlight {
    pub(super) fn new(inner: Arc<Inner>, route: Route) -> Self {
        Self { inner, route }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.inner.counters.finish(self.route);
    }
}

/// A response body.
pub(super) struct Served {
    body: Body,
    /// Read from `body`, not yet sent.
    held: Bytes,
    steps: VecDeque<Step>,
    /// The wait of the step in front.
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    flip: bool,
    flow: Option<Flow>,
    /// None for control traffic, which is not counted.
    counted: Option<(InFlight, Arc<Peer>)>,
}

impl Served {
    /// A body outside of counters, scripts and links.
    pub(super) fn plain(body: Body) -> Self {
        Self { body, held: Bytes::new(), steps: VecDeque::new(), pause: None, flip: false, flow: None, counted: None }
    }

    pub(super) fn new(
        body: Body,
        steps: VecDeque<Step>,
        flow: Option<Flow>,
        in_flight: InFlight,
        peer: Arc<Peer>,
    ) -> Self {
        Self { steps, flow, counted: Some((in_flight, peer)), ..Self::plain(body) }
    }

    /// How many bytes may go before the next step; walks the steps that carry none.
    fn poll_steps(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        loop {
            match self.steps.front() {
                None | Some(Step::ServeRest) => return Poll::Ready(usize::MAX),
                Some(Step::Serve(bytes)) if *bytes > 0 => {
                    return Poll::Ready(usize::try_from(*bytes).unwrap_or(usize::MAX));
                }
                Some(Step::Serve(_) | Step::Answer(_)) => {}
                Some(Step::FlipByte) => self.flip = true,
                Some(Step::LatencyMs(ms)) => {
                    let duration = Duration::from_millis(*ms);
                    let pause = self.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(duration)));
                    ready!(pause.as_mut().poll(cx));
                }
                Some(step @ (Step::Stall | Step::StallMs(_))) => {
                    let Some((in_flight, _)) = &self.counted else { return Poll::Ready(usize::MAX) };
                    let limit = step.stall_limit();
                    let inner = in_flight.inner.clone();
                    let pause = self.pause.get_or_insert_with(|| Box::pin(hold(inner, limit)));
                    ready!(pause.as_mut().poll(cx));
                }
                Some(step @ (Step::Reset | Step::Truncate)) => {
                    if let Some((_, peer)) = &self.counted {
                        peer.end(if *step == Step::Reset { Ending::Reset } else { Ending::Close });
                    }
                    // The flush that follows ends the connection, and with it this body.
                    return Poll::Pending;
                }
            }
            self.pause = None;
            self.steps.pop_front();
        }
    }

    fn sent(&mut self, bytes: usize) {
        if let Some(Step::Serve(left)) = self.steps.front_mut() {
            *left -= bytes as u64;
        }
        if let Some((in_flight, _)) = &self.counted {
            in_flight.inner.counters.sent(in_flight.route, bytes);
        }
    }
}

impl http_body::Body for Served {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let allowed = ready!(this.poll_steps(cx));
        while this.held.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.held = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let mut bytes = this.held.len().min(allowed);
        if let Some(flow) = &mut this.flow {
            bytes = ready!(flow.poll_take(cx, bytes));
        }
        let mut chunk = this.held.split_to(bytes);
        if std::mem::take(&mut this.flip) {
            let mut wrong = BytesMut::from(chunk.as_ref());
            wrong[0] ^= 0xFF;
            chunk = wrong.freeze();
        }
        this.sent(bytes);
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.held.len() as u64;
        let rest = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + held);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + held);
        }
        hint
    }
}

/// A request body that takes its share of the link.
pub(super) struct Received {
    body: hyper::body::Incoming,
    held: Bytes,
    flow: Flow,
}

impl Received {
    pub(super) fn new(body: hyper::body::Incoming, flow: Flow) -> Self {
        Self { body, held: Bytes::new(), flow }
    }
}

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        while this.held.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.held = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let bytes = ready!(this.flow.poll_take(cx, this.held.len()));
        Poll::Ready(Some(Ok(Frame::data(this.held.split_to(bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_empty() && self.body.is_end_stream()
    }
}
