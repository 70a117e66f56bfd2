//! Runs the shaper against the clock: bodies wait here for their bytes to arrive. One timer serves all of them, and
//! there is none while no body waits. Never decides an order; see [`super::shaper`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::link::Link;
use super::shaper::{FlowId, Nanos, Shaper};

pub(super) struct Pacer {
    started: Instant,
    /// Std, for it is never held across an await; wakers are called after it is released.
    state: Mutex<State>,
    sooner: Notify,
}

struct State {
    shaper: Shaper,
    link: Link,
    waiting: HashMap<FlowId, Waker>,
    timer: Timer,
}

#[derive(PartialEq)]
enum Timer {
    Off,
    /// Running, asleep until then at the latest.
    Until(Nanos),
}

impl Pacer {
    pub(super) fn new(link: Link) -> Self {
        let state = State { shaper: Shaper::new(link), link, waiting: HashMap::new(), timer: Timer::Off };
        Self { started: Instant::now(), state: Mutex::new(state), sooner: Notify::new() }
    }

    pub(super) fn link(&self) -> Link {
        self.state().link
    }

    /// Bodies under way take the new rates; those that began on an unlimited link end on it.
    pub(super) fn set_link(&self, link: Link) {
        let mut state = self.state();
        state.link = link;
        state.shaper.set_link(link);
        drop(state);
        self.sooner.notify_one();
    }

    /// A body that begins now and will have `bytes`, as far as known.
    pub(super) fn open(self: &Arc<Self>, bytes: Option<u64>) -> Flow {
        let now = self.now();
        let mut state = self.state();
        let id = state.shaper.open(now);
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
            state.shaper.offer(now, id, bytes);
        }
        Flow { pacer: self.clone(), id }
    }

    fn poll_take(self: &Arc<Self>, cx: &mut Context<'_>, id: FlowId, max: u64) -> Poll<u64> {
        let mut arrived = Vec::new();
        let mut state = self.state();
        let now = self.now();
        let mut taken = state.shaper.take(now, id, max);
        if taken == 0 {
            state.shaper.advance(now, &mut arrived);
            taken = state.shaper.take(now, id, max);
        }
        let wakers = state.wakers(&arrived);
        if taken == 0 {
            state.waiting.insert(id, cx.waker().clone());
            self.arm(&mut state);
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        if taken == 0 { Poll::Pending } else { Poll::Ready(taken) }
    }

    fn arm(self: &Arc<Self>, state: &mut State) {
        let next = state.shaper.next_event().unwrap_or(Nanos::MAX);
        match state.timer {
            Timer::Off => {
                state.timer = Timer::Until(next);
                tokio::spawn(self.clone().run());
            }
            Timer::Until(planned) if next < planned => {
                state.timer = Timer::Until(next);
                self.sooner.notify_one();
            }
            Timer::Until(_) => {}
        }
    }

    async fn run(self: Arc<Self>) {
        let mut arrived = Vec::new();
        loop {
            let (wakers, next) = {
                let mut state = self.state();
                state.shaper.advance(self.now(), &mut arrived);
                let wakers = state.wakers(&arrived);
                arrived.clear();
                let next = state.shaper.next_event().filter(|_| !state.waiting.is_empty() || !wakers.is_empty());
                state.timer = next.map_or(Timer::Off, Timer::Until);
                (wakers, next)
            };
            wakers.into_iter().for_each(Waker::wake);
            let Some(next) = next else { return };
            tokio::select! {
                () = sleep_until(self.started + Duration::from_nanos(next)) => {}
                () = self.sooner.notified() => {}
            }
        }
    }

    fn now(&self) -> Nanos {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(Nanos::MAX)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wakers(&mut self, arrived: &[FlowId]) -> Vec<Waker> {
        arrived.iter().filter_map(|id| self.waiting.remove(id)).collect()
    }
}

/// One body's share of the link, until dropped.
pub(super) struct Flow {
    pacer: Arc<Pacer>,
    id: FlowId,
}

impl Flow {
    /// Waits until some of the next `max` bytes have arrived; says how many.
    pub(super) fn poll_take(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<usize> {
        self.pacer.poll_take(cx, self.id, max as u64).map(|taken| usize::try_from(taken).unwrap_or(max))
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        let mut state = self.pacer.state();
        state.waiting.remove(&self.id);
        state.shaper.close(self.id);
    }
}
