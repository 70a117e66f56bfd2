//! Follows sequential streams of one handle. Pure bookkeeping of offsets: never fetches, never touches blocks.

use crate::limits::Limits;
use crate::windows;
use std::collections::BTreeSet;

/// A stream of one handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StreamId(pub(crate) u32);

/// What a stream has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// One read: no read-ahead.
    None,
    /// A first read at the start of the file that may be a probe: one near fetch.
    Probe,
    /// Goes on from a stream that it jumped ahead of, or began at the start of the file; has not stepped itself.
    Given,
    /// Stepped forward.
    Stepped,
}

#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    /// Byte it began at.
    pub(crate) start: u64,
    /// Byte after the furthest it has read.
    pub(crate) pos: u64,
    pub(crate) window: u64,
    /// Byte to read ahead to.
    pub(crate) target: u64,
    /// First block that read-ahead has not asked for.
    pub(crate) asked: u32,
    pub(crate) proof: Proof,
    /// Number of the handle's read that was its last.
    pub(crate) last_read: u64,
    /// Block its last read ended in.
    pub(crate) last_block: Option<u32>,
    /// Its read-ahead that arrived.
    pub(crate) unread: BTreeSet<u32>,
}

impl Stream {
    fn new(id: StreamId, offset: u64, end: u64) -> Stream {
        Stream {
            id,
            start: offset,
            pos: end,
            window: 0,
            target: 0,
            asked: 0,
            proof: Proof::None,
            last_read: 0,
            last_block: None,
            unread: BTreeSet::new(),
        }
    }

    /// Whether other streams stop where it began: a lone read somewhere stops nobody.
    pub(crate) fn holds_its_start(&self) -> bool {
        matches!(self.proof, Proof::Given | Proof::Stepped)
    }

    /// Looks again at how far ahead to be: grows once half of the window is used up.
    fn retarget(&mut self, limits: &Limits) {
        if self.target >= self.pos + self.window / 2 {
            return;
        }
        if self.target > 0 {
            self.window = windows::grow(self.window, limits);
        }
        self.target = self.pos + self.window;
    }
}

/// How a read continued a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A new stream; others of the handle may end at it.
    Began,
    /// The stream moved on and has just proved itself: others may end at its start.
    Proved,
    /// The stream moved on.
    Forward,
    /// Read what it had passed.
    Within,
}

/// The streams of one handle, at most `streams_max`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams {
    all: Vec<Stream>,
    next: u32,
    recent: usize,
}

impl Streams {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.all.iter()
    }

    pub(crate) fn get(&self, id: StreamId) -> Option<&Stream> {
        self.all.iter().find(|s| s.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.all.iter_mut().find(|s| s.id == id)
    }

    /// Takes a read in: the stream it belongs to, how, and a stream that had to make place.
    pub(crate) fn follow(
        &mut self,
        offset: u64,
        end: u64,
        read_number: u64,
        limits: &Limits,
    ) -> (StreamId, Step, Option<Stream>) {
        match self.find(offset, limits) {
            Some(Match::Same(index)) => {
                self.recent = index;
                let s = &mut self.all[index];
                s.last_read = read_number;
                if end <= s.pos {
                    return (s.id, Step::Within, None);
                }
                s.pos = end;
                let step = match s.proof {
                    Proof::Stepped => Step::Forward,
                    Proof::None => {
                        s.window = limits.step_window_bytes;
                        Step::Proved
                    }
                    Proof::Probe | Proof::Given => Step::Proved,
                };
                if s.proof == Proof::Probe {
                    s.target = s.start + s.window;
                }
                s.proof = Proof::Stepped;
                s.retarget(limits);
                (s.id, step, None)
            }
            found => {
                let window = match found {
                    Some(Match::Jump(index)) => self.all[index].window,
                    _ => 0,
                };
                let replaced = self.make_place(limits);
                let mut s = Stream::new(StreamId(self.next), offset, end);
                self.next += 1;
                s.last_read = read_number;
                s.asked = end.div_ceil(limits.block_bytes) as u32;
                if offset < limits.block_bytes && self.all.iter().all(|s| s.start >= limits.block_bytes) {
                    s.window = limits.start_window_bytes;
                    if end - offset >= limits.eager_read_bytes {
                        s.proof = Proof::Given;
                        s.target = offset + s.window;
                    } else {
                        s.proof = Proof::Probe;
                        s.target = limits.near_bytes;
                    }
                } else if window > 0 {
                    s.window = window;
                    s.proof = Proof::Given;
                    s.target = end + window;
                }
                let id = s.id;
                self.all.push(s);
                self.recent = self.all.len() - 1;
                (id, Step::Began, replaced)
            }
        }
    }

    fn find(&self, offset: u64, limits: &Limits) -> Option<Match> {
        if self.all.get(self.recent).is_some_and(|s| s.pos == offset) {
            return Some(Match::Same(self.recent));
        }
        let mut best: Option<(u64, Match)> = None;
        for (index, s) in self.all.iter().enumerate() {
            // Ranked: the head itself, just ahead, just behind, a jump; nearer first within each.
            let candidate = if offset >= s.pos {
                let gap = offset - s.pos;
                if gap <= limits.block_bytes {
                    (gap, Match::Same(index))
                } else if gap <= limits.jump_bytes && s.proof == Proof::Stepped {
                    (gap + (2 << 40), Match::Jump(index))
                } else {
                    continue;
                }
            } else if offset >= s.start && s.pos - offset <= limits.disorder_bytes {
                (s.pos - offset + (1 << 40), Match::Same(index))
            } else {
                continue;
            };
            if best.is_none_or(|(rank, _)| candidate.0 < rank) {
                best = Some(candidate);
            }
        }
        best.map(|(_, found)| found)
    }

    fn make_place(&mut self, limits: &Limits) -> Option<Stream> {
        if self.all.len() < limits.streams_max {
            return None;
        }
        let (index, _) = self.all.iter().enumerate().min_by_key(|(_, s)| s.last_read)?;
        Some(self.all.swap_remove(index))
    }

    /// First byte after `from` at which another stream began, which `id` must not read past.
    pub(crate) fn next_start(&self, id: StreamId, from: u64) -> Option<u64> {
        self.all.iter().filter(|s| s.id != id && s.holds_its_start() && s.start > from).map(|s| s.start).min()
    }

    /// The stream whose read-ahead reaches over `id`'s start, nearest before it.
    pub(crate) fn reaching_over(&self, id: StreamId, limits: &Limits) -> Option<StreamId> {
        let start = self.get(id)?.start;
        self.all
            .iter()
            .filter(|s| s.id != id && s.start < start && u64::from(s.asked) * limits.block_bytes > start)
            .max_by_key(|s| s.start)
            .map(|s| s.id)
    }

    /// Takes out the streams that did not read since `read_number`.
    pub(crate) fn take_stopped(&mut self, read_number: u64) -> Vec<Stream> {
        let (stopped, live) = std::mem::take(&mut self.all).into_iter().partition(|s| s.last_read < read_number);
        self.all = live;
        self.recent = 0;
        stopped
    }

    pub(crate) fn take_all(&mut self) -> Vec<Stream> {
        self.recent = 0;
        std::mem::take(&mut self.all)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Same(usize),
    Jump(usize),
}
