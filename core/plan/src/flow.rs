//! What the link carries, and how much may be asked of it at once. Integer arithmetic only. Never starts or stops a fetch.

use crate::Time;
use crate::limits::Limits;

/// Shortest stretch that a rate is taken from.
const SAMPLE_MS: u64 = 100;

/// The link as seen so far.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    rate: Option<u64>,
    best: u64,
    poor: u32,
    since: Option<Time>,
    bytes: u64,
    busy: bool,
    /// In-flight cap that a new reader starts from.
    cap_bytes: u64,
    /// Requests at once, for read-ahead.
    fetches: usize,
}

impl Link {
    pub(crate) fn new(limits: &Limits) -> Self {
        Link {
            rate: None,
            best: 0,
            poor: 0,
            since: None,
            bytes: 0,
            busy: false,
            cap_bytes: limits.in_flight_start_bytes,
            fetches: limits.fetches_start,
        }
    }

    pub(crate) fn rate(&self) -> Option<u64> {
        self.rate
    }

    /// Bytes the link carries in `ms`; no bound while it is unknown.
    pub(crate) fn carries(&self, ms: u64) -> u64 {
        self.rate.map_or(u64::MAX, |rate| rate.saturating_mul(ms) / 1_000)
    }

    /// Read-ahead in flight of all readers together: a link that serves first in, first out makes a waiting read queue behind
    /// all of it.
    pub(crate) fn ahead_bytes(&self, limits: &Limits) -> u64 {
        self.rate.map_or(limits.in_flight_start_bytes / 4 * 3, |_| {
            self.carries(limits.ahead_ms).max(limits.in_flight_bytes_min)
        })
    }

    pub(crate) fn start_cap(&self) -> u64 {
        self.cap_bytes
    }

    pub(crate) fn fetches(&self) -> usize {
        self.fetches
    }

    /// A request starts with `flying` others in flight: an idle link says nothing about its rate, nor do the round trips before
    /// the first byte.
    pub(crate) fn started(&mut self, flying: usize) {
        if flying == 0 {
            self.since = None;
            self.busy = false;
        }
        if flying + 1 >= self.fetches / 2 {
            self.busy = true;
        }
    }

    pub(crate) fn received(&mut self, now: Time, bytes: u64, flying: usize, limits: &Limits) {
        let Some(since) = self.since else {
            self.since = Some(now);
            self.bytes = 0;
            return;
        };
        self.bytes += bytes;
        let took = now.0.saturating_sub(since.0);
        if took < SAMPLE_MS {
            return;
        }
        let sample = self.bytes * 1_000 / took;
        // Up at once, down slowly: a reader that pauses says nothing about the link.
        self.rate = Some(self.rate.map_or(sample, |rate| sample.max((rate * 7 + sample) / 8)));
        self.judge(sample, flying, limits);
        self.since = Some(now);
        self.bytes = 0;
        self.busy = flying >= self.fetches / 2;
    }

    /// Two poor samples in a row under load are a collapse: halve what is asked at once. Good ones under load add to it.
    fn judge(&mut self, sample: u64, flying: usize, limits: &Limits) {
        self.best = self.best.max(sample);
        if !self.busy || flying < self.fetches / 2 {
            self.poor = 0;
            return;
        }
        if sample < self.best / 2 {
            self.poor += 1;
            if self.poor >= 2 {
                self.fetches = (self.fetches.min(flying) / 2).max(limits.fetches_min);
                self.best = sample;
                self.poor = 0;
            }
        } else {
            self.poor = 0;
            self.best -= self.best / 64;
            if flying >= self.fetches && sample >= self.best / 10 * 9 {
                self.fetches = (self.fetches + 4).min(limits.fetches_max);
            }
        }
    }

    /// After a clock jump the current stretch says nothing.
    pub(crate) fn woke(&mut self, now: Time) {
        self.since = self.since.map(|_| now);
        self.bytes = 0;
    }

    /// A reader's cap changed: the next reader starts from it.
    pub(crate) fn learned(&mut self, cap_bytes: u64) {
        self.cap_bytes = cap_bytes;
    }
}

/// A reader's in-flight cap after a fetch of `bytes` that took `ms`, or failed.
pub(crate) fn cap_after(cap: u64, bytes: u64, timely: bool, limits: &Limits) -> u64 {
    if timely { cap + bytes } else { cap / 2 }.clamp(limits.in_flight_bytes_min, limits.in_flight_bytes_max)
}
