//! Every interleaving of a few events in small worlds: two readers of one or two files with hardly any memory, and a network
//! that delivers, fails or stays silent in any order.

use super::walks::tiny;
use super::world::World;
use crate::*;

/// What may happen next.
#[derive(Debug, Clone, Copy)]
enum Event {
    Read(usize),
    Bring(FetchId, u32),
    Settle(FetchId, Outcome),
    Cancel(ReadId),
    Close(HandleId),
    Pass(u64),
}

#[derive(Clone)]
struct State {
    world: World,
    handles: Vec<HandleId>,
    /// Reads that each handle still makes: offset and length.
    todo: Vec<Vec<(u64, u32)>>,
    failures: u32,
    others: u32,
}

impl State {
    fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> =
            (0..self.todo.len()).filter(|n| !self.todo[*n].is_empty()).map(Event::Read).collect();
        for (fetch, asked) in &self.world.flying {
            if asked.cancelled {
                events.push(Event::Settle(*fetch, Outcome::Cancelled));
                continue;
            }
            match asked.blocks.clone().find(|ix| !asked.came.contains(ix)) {
                Some(ix) => events.push(Event::Bring(*fetch, ix)),
                None => events.push(Event::Settle(*fetch, Outcome::Complete)),
            }
            if self.failures > 0 {
                events.extend([Outcome::Fatal, Outcome::Retry].map(|outcome| Event::Settle(*fetch, outcome)));
            }
        }
        if self.others > 0 {
            events.extend(self.world.waiting.keys().map(|read| Event::Cancel(*read)));
            events.extend(self.world.handles.keys().map(|handle| Event::Close(*handle)));
            events.extend(self.world.plan.next_timeout().map(|at| Event::Pass(at.0)));
        }
        events
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Read(n) => {
                let (offset, len) = self.todo[n].remove(0);
                self.world.read(self.handles[n], offset, len);
            }
            Event::Bring(fetch, ix) => self.world.bring(fetch, ix),
            Event::Settle(fetch, outcome) => {
                if matches!(outcome, Outcome::Fatal | Outcome::Retry) {
                    self.failures -= 1;
                }
                self.world.settle(fetch, outcome);
            }
            Event::Cancel(read) => {
                self.others -= 1;
                self.world.cancel(read);
            }
            Event::Close(handle) => {
                self.others -= 1;
                self.world.close(handle);
            }
            Event::Pass(ms) => {
                self.others -= 1;
                self.world.wait_until(ms);
            }
        }
    }

    fn finish(mut self) {
        for _ in 0..20 {
            self.world.complete_all();
            if self.world.waiting.is_empty() {
                break;
            }
            self.world.pass(1_000);
        }
        assert!(self.world.waiting.is_empty(), "a read is stuck: {:?}", self.world.plan.reads);
        self.world.end();
    }
}

fn search(state: &State, depth: u32, ends: &mut u64) {
    let events = state.events();
    if depth == 0 || events.is_empty() {
        *ends += 1;
        state.clone().finish();
        return;
    }
    for event in events {
        let mut next = state.clone();
        next.happen(event);
        search(&next, depth - 1, ends);
    }
}

pub(crate) fn every_small_world(depth: u32) -> u64 {
    let mut ends = 0;
    for (contents, budget, reads) in [
        ([1, 1], 16, [vec![(0, 8), (8, 8)], vec![(4, 8)]]),
        ([1, 2], 16, [vec![(0, 8), (10, 4)], vec![(0, 12)]]),
        ([1, 2], 24, [vec![(3, 4), (7, 4)], vec![(16, 12), (0, 4)]]),
    ] {
        let mut world = World::new(tiny(budget));
        let handles = contents.iter().map(|c| world.open(*c, 30)).collect();
        let state = State { world, handles, todo: reads.to_vec(), failures: 1, others: 1 };
        search(&state, depth, &mut ends);
    }
    ends
}

#[test]
fn every_interleaving_of_small_worlds_keeps_every_invariant() {
    let ends = every_small_world(6);
    println!("{ends} ends");
    assert!(ends > 10_000, "the search looks at many worlds: {ends}");
}
