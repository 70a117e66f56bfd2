//! Decides when each byte of each body arrives on a limited link. Never waits, never reads a clock: it is told the time
//! and computes in virtual time, so that a late timer costs no bandwidth.
//!
//! Each flow (one body) has at most one chunk waiting for the link. The link takes the waiting chunk with the smallest
//! key, whose meaning is the whole difference between the two ways of sharing:
//! - fair: the moment the flow's last chunk arrived, so that flows take turns;
//! - first in, first out: the moment the chunk would have entered the queue, had the sender pushed at the rate of its
//!   connection.
//!
//! A chunk arrives when the link has carried it and its connection's rate allows it, whichever is later.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use super::link::{Link, Sharing};

/// Nanoseconds since the network began.
pub(super) type Nanos = u64;
pub(super) type FlowId = u64;

/// Invariants: a flow is in `queue` under its key exactly if it is `queued`; `in_transit` is the sum of its `arrivals`.
pub(super) struct Shaper {
    link: Link,
    /// When the link has carried all it has taken.
    link_free: Nanos,
    flows: HashMap<FlowId, Flow>,
    queue: BTreeSet<(Nanos, FlowId)>,
    arrivals: BinaryHeap<Reverse<(Nanos, FlowId, u64)>>,
    next_id: FlowId,
}

struct Flow {
    key: Nanos,
    queued: bool,
    /// When the connection, at its own rate, has carried what was taken.
    connection_free: Nanos,
    chunk_bytes: u64,
    /// Still to be taken by the link.
    remaining: u64,
    in_transit: u64,
    /// Arrived, and not yet handed on.
    ready: u64,
}

/// The first chunk of a body: small, so that its first byte comes about when it would.
const CHUNK_BYTES_FIRST: u64 = 32 << 10;
const CHUNK_BYTES_MIN: u64 = 16 << 10;
const CHUNK_BYTES_MAX: u64 = 256 << 10;
/// A chunk should not take longer than this on a slow link.
const CHUNK_NANOS: u64 = 5_000_000;
/// How much of a flow may have been taken and not handed on: covers timers and tasks that run late.
const WINDOW_NANOS: u64 = 20_000_000;
const WINDOW_BYTES_MIN: u64 = 1 << 20;
/// A connection that the link held up may make up for this many of its chunks.
const CATCH_UP_CHUNKS: u64 = 2;

impl Shaper {
    pub(super) fn new(link: Link) -> Self {
        Self {
            link,
            link_free: 0,
            flows: HashMap::new(),
            queue: BTreeSet::new(),
            arrivals: BinaryHeap::new(),
            next_id: 0,
        }
    }

    pub(super) fn set_link(&mut self, link: Link) {
        self.link = link;
    }

    pub(super) fn open(&mut self, now: Nanos) -> FlowId {
        let id = self.next_id;
        self.next_id += 1;
        let flow = Flow {
            key: now,
            queued: false,
            connection_free: now,
            chunk_bytes: CHUNK_BYTES_FIRST,
            remaining: 0,
            in_transit: 0,
            ready: 0,
        };
        self.flows.insert(id, flow);
        id
    }

    pub(super) fn close(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.remove(&id)
            && flow.queued
        {
            self.queue.remove(&(flow.key, id));
        }
    }

    /// Announces bytes that the flow has to carry.
    pub(super) fn offer(&mut self, now: Nanos, id: FlowId, bytes: u64) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.remaining += bytes;
        }
        self.enqueue(now, id);
    }

    /// Hands on up to `max` bytes that have arrived. A flow that runs out of announced bytes announces `max` more.
    pub(super) fn take(&mut self, now: Nanos, id: FlowId, max: u64) -> u64 {
        let Some(flow) = self.flows.get_mut(&id) else { return max };
        let taken = flow.ready.min(max);
        flow.ready -= taken;
        if taken == 0 && flow.remaining == 0 && flow.in_transit == 0 {
            flow.remaining = max;
        }
        self.enqueue(now, id);
        taken
    }

    /// Lets the link work until `now`; adds the flows that got bytes to `arrived`.
    pub(super) fn advance(&mut self, now: Nanos, arrived: &mut Vec<FlowId>) {
        while let Some((key, id)) = self.queue.first().copied() {
            let start = self.start(key);
            if start > now {
                break;
            }
            self.queue.pop_first();
            self.carry(now, id, start);
        }
        while let Some(Reverse((at, id, bytes))) = self.arrivals.peek().copied() {
            if at > now {
                break;
            }
            self.arrivals.pop();
            if let Some(flow) = self.flows.get_mut(&id) {
                flow.in_transit -= bytes;
                flow.ready += bytes;
                arrived.push(id);
            }
        }
    }

    /// When [`Self::advance`] next has something to do.
    pub(super) fn next_event(&self) -> Option<Nanos> {
        let start = self.queue.first().map(|(key, _)| self.start(*key));
        let arrival = self.arrivals.peek().map(|Reverse((at, _, _))| *at);
        start.into_iter().chain(arrival).min()
    }

    fn start(&self, key: Nanos) -> Nanos {
        if self.link.link_bytes_per_s.is_some() { key.max(self.link_free) } else { key }
    }

    /// Puts one chunk of a flow that is out of the queue on the link.
    fn carry(&mut self, now: Nanos, id: FlowId, start: Nanos) {
        let link = self.link;
        let (chunk_max, _) = sizes(&link);
        let Some(flow) = self.flows.get_mut(&id) else { return };
        let bytes = flow.chunk_bytes.min(flow.remaining).min(chunk_max);
        flow.chunk_bytes = (flow.chunk_bytes * 2).min(CHUNK_BYTES_MAX);
        flow.queued = false;
        flow.remaining -= bytes;
        flow.in_transit += bytes;

        let link_done = start + nanos(bytes, link.link_bytes_per_s);
        let own = nanos(bytes, link.connection_bytes_per_s);
        flow.connection_free = flow.connection_free.max(start.saturating_sub(CATCH_UP_CHUNKS * own)) + own;
        let arrival = link_done.max(flow.connection_free);
        flow.key = match link.sharing {
            Sharing::Fair => arrival,
            Sharing::FirstInFirstOut => flow.key + own,
        };
        if link.link_bytes_per_s.is_some() {
            self.link_free = link_done;
        }
        self.arrivals.push(Reverse((arrival, id, bytes)));
        self.enqueue(now, id);
    }

    fn enqueue(&mut self, now: Nanos, id: FlowId) {
        let link = self.link;
        let (_, window) = sizes(&link);
        let Some(flow) = self.flows.get_mut(&id) else { return };
        if flow.queued || flow.remaining == 0 || flow.in_transit + flow.ready >= window {
            return;
        }
        // A client that did not read has no credit for the time it let pass. First in, first out without a connection
        // rate keeps its place, which is no credit.
        if link.sharing == Sharing::Fair || link.connection_bytes_per_s.is_some() {
            flow.key = flow.key.max(now.saturating_sub(WINDOW_NANOS));
        }
        flow.queued = true;
        self.queue.insert((flow.key, id));
    }
}

/// The largest chunk and the window of this link.
fn sizes(link: &Link) -> (u64, u64) {
    let rate = match (link.connection_bytes_per_s, link.link_bytes_per_s) {
        (Some(connection), Some(link)) => connection.min(link),
        (rate, None) | (None, rate) => rate.unwrap_or(u64::MAX / CHUNK_NANOS),
    };
    let within = |nanos: u64| u64::try_from(u128::from(rate) * u128::from(nanos) / NANOS_PER_S).unwrap_or(u64::MAX);
    (within(CHUNK_NANOS).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX), within(WINDOW_NANOS).max(WINDOW_BYTES_MIN))
}

const NANOS_PER_S: u128 = 1_000_000_000;

fn nanos(bytes: u64, rate: Option<u64>) -> Nanos {
    let Some(rate) = rate else { return 0 };
    u64::try_from(u128::from(bytes) * NANOS_PER_S / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::link::Profile;
    use super::*;

    const MS: u64 = 1_000_000;

    /// Runs bodies of the given sizes that start at the given times; a timer is up to `late` behind. Returns when each
    /// ended.
    fn run(link: Link, bodies: &[(Nanos, u64)], late: Nanos) -> Vec<Nanos> {
        let mut shaper = Shaper::new(link);
        let mut ids: Vec<Option<FlowId>> = vec![None; bodies.len()];
        let mut left: Vec<u64> = bodies.iter().map(|(_, bytes)| *bytes).collect();
        let mut ended = vec![0; bodies.len()];
        let mut now = 0;
        let mut arrived = Vec::new();
        while left.iter().any(|left| *left > 0) {
            for (index, (start, bytes)) in bodies.iter().enumerate() {
                if ids[index].is_none() && *start <= now {
                    let id = shaper.open(*start);
                    shaper.offer(*start, id, *bytes);
                    ids[index] = Some(id);
                }
            }
            shaper.advance(now, &mut arrived);
            arrived.dedup();
            for id in arrived.drain(..) {
                let index = ids.iter().position(|each| *each == Some(id)).unwrap();
                if left[index] == 0 {
                    continue;
                }
                left[index] -= shaper.take(now, id, left[index]);
                if left[index] == 0 {
                    ended[index] = now;
                    shaper.close(id);
                }
            }
            let pending = ids.iter().zip(bodies).filter(|(id, _)| id.is_none()).map(|(_, (start, _))| *start);
            let Some(next) = shaper.next_event().into_iter().chain(pending).min() else { continue };
            now = now.max(next + if next > now { late } else { 0 });
        }
        ended
    }

    fn mb(n: u64) -> u64 {
        n * 1_000_000
    }

    fn within(actual: Nanos, expected_ms: u64, percent: u64, what: &str) {
        let expected = expected_ms * MS;
        let slack = expected * percent / 100;
        assert!(actual.abs_diff(expected) <= slack, "{what}: {} ms, expected {expected_ms}", actual / MS);
    }

    #[test]
    fn rates_hold_within_two_percent_however_late_the_timer() {
        type Case<'a> = (&'a str, Link, &'a [(Nanos, u64)], u64);
        let cases: &[Case<'_>] = &[
            ("home alone", Profile::Home.link(), &[(0, mb(12))], 1000),
            ("cloud alone", Profile::Cloud.link(), &[(0, mb(40))], 1000),
            ("cloud, 4 below the link", Profile::Cloud.link(), &[(0, mb(40)); 4], 1000),
            ("cloud, 7 just below the link", Profile::Cloud.link(), &[(0, mb(40)); 7], 1000),
            ("cloud, 8 just above", Profile::Cloud.link(), &[(0, mb(75)); 8], 2000),
            ("cloud, 64 far above", Profile::Cloud.link(), &[(0, mb(15)); 64], 3200),
            ("far, 5 exactly", Profile::Far.link(), &[(0, mb(20)); 5], 1000),
            ("thin, 8", Profile::Thin.link(), &[(0, mb(3)); 8], 8000),
        ];
        for sharing in [Sharing::Fair, Sharing::FirstInFirstOut] {
            for late in [0, MS, 3 * MS] {
                for (what, link, bodies, expected_ms) in cases {
                    let ended = run(link.sharing(sharing), bodies, late);
                    let last = ended.iter().max().copied().unwrap();
                    within(last, *expected_ms, 2, &format!("{what}, {sharing:?}, {late} ns late"));
                }
            }
        }
    }

    #[test]
    fn fair_flows_end_together_and_queued_ones_in_order() {
        let thin = Profile::Thin.link();
        for ended in run(thin, &[(0, mb(3)); 4], MS) {
            within(ended, 4000, 2, "fair");
        }
        let ended = run(thin.sharing(Sharing::FirstInFirstOut), &[(0, mb(3)); 4], MS);
        for (index, ended) in ended.into_iter().enumerate() {
            within(ended, 1000 * (index as u64 + 1), 2, "first in, first out");
        }
    }

    #[test]
    fn a_late_small_body_waits_its_turn_only_in_the_queue() {
        let bodies = [(0, mb(6)), (500 * MS, 30_000)];
        let thin = Profile::Thin.link();
        let fair = run(thin, &bodies, 0);
        assert!(fair[1] < 540 * MS, "fair: {} ms", fair[1] / MS);
        let queued = run(thin.sharing(Sharing::FirstInFirstOut), &bodies, 0);
        assert!(queued[1] >= 2000 * MS, "queued: {} ms", queued[1] / MS);
    }

    #[test]
    fn a_client_that_does_not_read_gets_no_credit() {
        let mut shaper = Shaper::new(Profile::Home.link());
        let id = shaper.open(0);
        shaper.offer(0, id, mb(100));
        let mut arrived = Vec::new();
        shaper.advance(10_000 * MS, &mut arrived);
        let held = shaper.take(10_000 * MS, id, u64::MAX);
        assert!(held <= WINDOW_BYTES_MIN + CHUNK_BYTES_MAX, "{held}");
        shaper.advance(10_000 * MS, &mut arrived);
        let credit = shaper.take(10_000 * MS, id, u64::MAX);
        assert!(credit <= 12_000 * (WINDOW_NANOS / MS) + CHUNK_BYTES_MAX, "{credit}");
    }

    #[test]
    fn a_closed_flow_leaves_the_link_to_the_others() {
        let mut shaper = Shaper::new(Profile::Thin.link().sharing(Sharing::FirstInFirstOut));
        let (first, second) = (shaper.open(0), shaper.open(0));
        shaper.offer(0, first, mb(300));
        shaper.offer(0, second, 30_000);
        let mut arrived = Vec::new();
        shaper.advance(100 * MS, &mut arrived);
        shaper.close(first);
        shaper.advance(200 * MS, &mut arrived);
        assert_eq!(shaper.take(200 * MS, second, u64::MAX), 30_000);
    }
}
