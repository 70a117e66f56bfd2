//! Follows sequential streams of one handle. Pure bookkeeping of offsets: never fetches, never touches blocks.

use crate::Time;
use crate::limits::Limits;
use crate::planted::{Bug, planted};
use crate::runs::{Aim, Expected, Run, Runs};
use crate::windows;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

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
    /// Where the run began that it is a part of.
    origin: u64,
    /// Byte after the furthest it has read.
    pub(crate) pos: u64,
    pub(crate) window: u64,
    /// Byte to read ahead to.
    pub(crate) target: u64,
    /// First block that read-ahead has not asked for.
    pub(crate) asked: u32,
    pub(crate) proof: Proof,
    /// What it reads in one go, and how much of that is ahead.
    run: Run,
    /// Length of its fetches; none if their distance to the reader is to say it.
    pub(crate) piece: Option<u64>,
    pub(crate) scan: Scan,
    /// Bytes read by the streams that this one jumped on from, or that came to where it began.
    scanned: u64,
    /// The stream that it came to the start of: other threads read on from there.
    into: Option<StreamId>,
    /// Where its window was last looked at.
    looked_at: u64,
    /// Reads of it that wait now: it lives as long as they do.
    pub(crate) waits: u32,
    /// A read of it waited since its window was last looked at.
    pub(crate) waited: bool,
    /// When it last read.
    last_at: Time,
    /// The length that was taken as an example of a run, once it seemed to have ended.
    learned: Option<u64>,
    /// Number of the handle's read that was its last.
    pub(crate) last_read: u64,
    /// Block its last read ended in.
    pub(crate) last_block: Option<u32>,
    /// Its read-ahead that arrived.
    pub(crate) unread: BTreeSet<u32>,
}

impl Stream {
    fn new(id: StreamId, offset: u64, end: u64, limits: &Limits) -> Stream {
        Stream {
            id,
            start: offset,
            origin: offset,
            pos: end,
            window: 0,
            target: 0,
            asked: 0,
            proof: Proof::None,
            run: Run::unknown(offset, limits),
            piece: None,
            scan: Scan::Inside,
            scanned: 0,
            into: None,
            looked_at: end,
            waits: 0,
            waited: false,
            last_at: Time(0),
            learned: None,
            last_read: 0,
            last_block: None,
            unread: BTreeSet::new(),
        }
    }

    /// Goes on with the read-ahead of a stream that reached over this one's start.
    pub(crate) fn take_over(&mut self, from: &TakenOver, limits: &Limits) {
        self.asked = self.asked.max(from.asked);
        self.target = self.target.max(from.target);
        if from.window > self.window {
            (self.window, self.scan, self.scanned) = (from.window, from.scan, from.scanned);
            self.looked_at = self.pos;
        }
        (self.run, self.piece) = (Run::unknown(self.start, limits), None);
    }

    /// What `by` goes on with.
    pub(crate) fn taken_over(&mut self, by: StreamId) -> TakenOver {
        self.into = Some(by);
        let (scan, scanned, window) = self.clone_scan();
        TakenOver { asked: self.asked, target: self.target, window, scan, scanned }
    }

    fn clone_scan(&self) -> (Scan, u64, u64) {
        (self.scan, self.scanned + self.pos - self.start, self.window)
    }

    fn go_on(&mut self, read: &Reading, limits: &Limits) -> (StreamId, Step) {
        if read.now.0.saturating_sub(self.last_at.0) >= limits.idle_ms {
            // After a pause windows start small again; what is here stays.
            self.window = self.window.min(limits.step_window_bytes);
            self.waited = false;
        }
        self.last_at = read.now;
        self.last_read = read.number;
        if read.end <= self.pos {
            return (self.id, Step::Within);
        }
        let before = std::mem::replace(&mut self.pos, read.end);
        let step = match self.proof {
            Proof::Stepped => Step::Forward,
            Proof::None | Proof::Probe | Proof::Given => Step::Proved,
        };
        if self.proof == Proof::Probe {
            self.target = self.start + self.window;
        }
        self.proof = Proof::Stepped;
        self.retarget(before, limits);
        (self.id, step)
    }

    /// Whether other streams stop where it began: a lone read somewhere stops nobody.
    pub(crate) fn holds_its_start(&self) -> bool {
        matches!(self.proof, Proof::Given | Proof::Stepped)
    }

    /// Looks again at how far ahead to be once half of the window is used up. A window grows only if the reader waited: one
    /// that never waits is far enough ahead.
    fn retarget(&mut self, before: u64, limits: &Limits) {
        let short = self.scanned + self.pos - self.start < limits.jump_bytes;
        let expected = self.scanned < limits.jump_bytes && self.run.is_expected_beyond(self.pos);
        if self.scan == Scan::Inside && (short || expected) {
            if let Some(aim) = self.run.step(before, self.pos, self.target, limits) {
                self.head_to(aim);
            }
            return;
        }
        self.piece = None;
        let used = self.pos.saturating_sub(self.looked_at);
        let early = self.waited && used >= self.window / 8;
        if !early && self.target >= self.pos + self.window / 2 {
            return;
        }
        if self.waited {
            self.window = windows::grow(self.window.max(limits.step_window_bytes), limits);
            if self.scan == Scan::Inside {
                self.window = self.window.min(self.scanned + self.pos - self.start);
            }
        }
        self.waited = false;
        self.looked_at = self.pos;
        self.target = self.target.max(self.pos + self.window);
    }

    fn head_to(&mut self, aim: Aim) {
        (self.target, self.piece) = (aim.target, aim.piece);
        self.window = aim.target.saturating_sub(self.pos);
        self.looked_at = self.pos;
        self.waited = false;
    }
}

/// What a stream leaves to one that began inside its read-ahead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenOver {
    pub(crate) asked: u32,
    target: u64,
    window: u64,
    scan: Scan,
    scanned: u64,
}

/// Where the scan that a stream belongs to began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scan {
    /// At the start of the file: most likely all of it is read.
    AtStart,
    Inside,
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
    runs: Runs,
    /// What streams have read that are no more, neighbours joined; at most `streams_max`.
    past: VecDeque<Range<u64>>,
}

/// A read as its stream sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) now: Time,
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// Of the file.
    pub(crate) size: u64,
    /// Counts the handle's reads.
    pub(crate) number: u64,
}

impl Streams {
    /// No streams yet, of a reader that is expected to read as others of the content did.
    pub(crate) fn after(runs: Runs) -> Streams {
        Streams { runs, ..Streams::default() }
    }

    pub(crate) fn runs(&self) -> Runs {
        self.runs
    }

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
    pub(crate) fn follow(&mut self, read: &Reading, limits: &Limits) -> (StreamId, Step, Option<Stream>) {
        match self.find(read, limits) {
            Some(Match::Same(index)) => {
                self.recent = index;
                let (id, step) = self.all[index].go_on(read, limits);
                self.flow_on(index, limits);
                let s = &mut self.all[index];
                if let Some(learned) = &mut s.learned {
                    self.runs.correct(*learned, s.pos - s.origin);
                    *learned = s.pos - s.origin;
                }
                (id, step, None)
            }
            found => {
                self.learn_runs(read, limits);
                let from = match found {
                    Some(Match::Jump(index)) => {
                        self.all[index].into = Some(StreamId(self.next));
                        Some(self.all[index].clone_scan())
                    }
                    _ => None,
                };
                let replaced = self.make_place(limits);
                let mut s = Stream::new(StreamId(self.next), read.offset, read.end, limits);
                self.next += 1;
                s.last_read = read.number;
                s.last_at = read.now;
                s.asked = read.end.div_ceil(limits.block_bytes) as u32;
                // A file that others read elsewhere is not being read from its start on.
                let is_alone = self.all.iter().all(|s| s.start >= limits.block_bytes && s.waits == 0);
                if read.offset < limits.block_bytes && is_alone {
                    s.scan = Scan::AtStart;
                    s.window = limits.start_window(read.size);
                    if read.end - read.offset >= limits.eager_read_bytes {
                        s.proof = Proof::Given;
                        s.target = read.offset + s.window;
                    } else {
                        s.proof = Proof::Probe;
                        s.target = limits.near_bytes;
                    }
                } else if let Some((scan, scanned, window)) = from {
                    (s.scan, s.scanned, s.window) = (scan, scanned, window);
                    s.proof = Proof::Given;
                    s.target = read.end + window;
                } else if self.runs.are_parts() {
                    (s.scanned, s.window) = (limits.cell_bytes, limits.cell_bytes);
                    s.proof = Proof::Given;
                    s.target = read.end + s.window;
                } else {
                    let (run, aim) = Run::begin(read.offset, read.end, &self.runs, limits);
                    s.run = run;
                    if let Some(aim) = aim {
                        s.head_to(aim);
                    }
                }
                let id = s.id;
                self.all.push(s);
                self.recent = self.all.len() - 1;
                (id, Step::Began, replaced)
            }
        }
    }

    /// A stream that comes to where another began reads one scan with it: threads that take the tensors of a file by turns.
    fn flow_on(&mut self, index: usize, limits: &Limits) {
        let s = &self.all[index];
        if s.into.is_some() {
            return;
        }
        let (id, start, pos, read) = (s.id, s.start, s.pos, s.scanned + s.pos - s.start);
        let is_there =
            |other: &Stream| other.id != id && other.start > start && other.start.abs_diff(pos) <= limits.block_bytes;
        let mut next = self.all.iter().find(|other| is_there(other)).map(|other| other.id);
        self.all[index].into = next;
        while let Some(at) = next.and_then(|id| self.all.iter().position(|s| s.id == id)) {
            self.all[at].scanned += read;
            next = self.all[at].into;
        }
    }

    /// Takes the length of runs that ended as what to expect of the next: the one that read last, if no other waits for
    /// anything (it may wait itself, for what the kernel reads beyond), and those that others have long gone past.
    fn learn_runs(&mut self, read: &Reading, limits: &Limits) {
        let (recent, alone) = (self.recent, self.alone());
        for index in 0..self.all.len() {
            let s = &self.all[index];
            let passed = s.waits == 0 && s.last_read + limits.sweep_reads / 4 < read.number;
            let ended = if alone { index == recent } else { passed };
            if ended && s.learned.is_none() && s.scan == Scan::Inside {
                self.learn_run(index, limits);
            }
        }
    }

    /// A run ended. Where another thread reads on from there, it is a part of that one's: threads that take the tensors of one
    /// layer read a run as long as the layer.
    fn learn_run(&mut self, index: usize, limits: &Limits) {
        let (origin, end) = (self.all[index].origin, self.all[index].pos);
        self.runs.learn_place(self.is_beside_others(index, limits));
        let goes_on = |s: &&mut Stream| s.start > origin && s.start.abs_diff(end) <= limits.block_bytes;
        let next = self.all.iter_mut().enumerate().filter(|(other, _)| *other != index).map(|(_, s)| s).find(goes_on);
        if let Some(next) = next {
            next.origin = next.origin.min(origin);
            if let Some(learned) = &mut next.learned {
                self.runs.correct(*learned, next.pos - next.origin);
                *learned = next.pos - next.origin;
            }
            self.all[index].learned = Some(0);
            return;
        }
        let run = end - origin;
        self.all[index].learned = Some(run);
        self.runs.learn(run);
    }

    /// Whether another stream began where this one came to, or came to where this one began.
    fn is_beside_others(&self, index: usize, limits: &Limits) -> bool {
        let s = &self.all[index];
        let meet = |end: u64, start: u64| end.abs_diff(start) <= limits.block_bytes;
        let beside = |other: &Stream| other.id != s.id && (meet(s.pos, other.start) || meet(other.pos, s.start));
        s.into.is_some() || self.all.iter().any(beside)
    }

    /// Whether no stream but the one that read last waits for anything: most likely one thread reads.
    fn alone(&self) -> bool {
        self.all.iter().enumerate().all(|(index, s)| index == self.recent || s.waits == 0)
    }

    fn find(&self, read: &Reading, limits: &Limits) -> Option<Match> {
        let offset = read.offset;
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
                } else if s.proof == Proof::Stepped && self.is_jump(index, gap, read, limits) {
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

    /// Whether a read `gap` bytes ahead of a stream goes on with its scan: the stream was reading just now, and either the
    /// whole step from its start is short, or the gap is small beside what was read without one. Slices of one length with
    /// larger gaps are slices.
    fn is_jump(&self, index: usize, gap: u64, read: &Reading, limits: &Limits) -> bool {
        let s = &self.all[index];
        let recent =
            if self.alone() { index == self.recent } else { s.last_read + limits.sweep_reads / 4 >= read.number };
        let run = s.pos - s.start;
        let slices = matches!(self.runs.expected(limits), Expected::Alike(run) if gap > run);
        recent && !slices && gap <= limits.jump_bytes && (run + gap <= limits.jump_bytes || gap <= run / 8)
    }

    fn make_place(&mut self, limits: &Limits) -> Option<Stream> {
        if self.all.len() < limits.streams_max {
            return None;
        }
        let (index, _) = self.all.iter().enumerate().min_by_key(|(_, s)| (s.waits > 0, s.last_read))?;
        let replaced = self.all.swap_remove(index);
        self.remember(&replaced, limits);
        Some(replaced)
    }

    /// What a stream has read that is no more, joined with what was read beside it.
    fn remember(&mut self, s: &Stream, limits: &Limits) {
        if s.proof != Proof::Stepped || planted(Bug::PastForgotten) {
            return;
        }
        let mut read = s.start..s.pos;
        self.past.retain(|other| {
            let apart = other.start > read.end + limits.block_bytes || read.start > other.end + limits.block_bytes;
            if !apart {
                read = read.start.min(other.start)..read.end.max(other.end);
            }
            apart
        });
        self.past.push_back(read);
        if self.past.len() > limits.streams_max {
            self.past.pop_front();
        }
    }

    /// First byte from `from` on at which another stream began: `id` does not read ahead past it. Of those that are no more, only
    /// where much was read in one piece: a few probes do not stop a scan.
    pub(crate) fn next_start(&self, id: StreamId, from: u64, limits: &Limits) -> Option<u64> {
        let live = self.all.iter().filter(|s| s.id != id && s.holds_its_start()).map(|s| s.start);
        let past = self.past.iter().filter(|read| read.end - read.start >= limits.jump_bytes).map(|read| read.start);
        live.chain(past).filter(|start| *start >= from).min()
    }

    /// The stream whose read-ahead reaches over `id`'s start, nearest before it.
    pub(crate) fn reaching_over(&self, id: StreamId, limits: &Limits) -> Option<StreamId> {
        let start = self.get(id)?.start;
        self.all
            .iter()
            .filter(|s| {
                s.id != id
                    && s.start < start
                    && (s.pos <= start || planted(Bug::StaleTakeOver))
                    && u64::from(s.asked) * limits.block_bytes > start
            })
            .max_by_key(|s| s.start)
            .map(|s| s.id)
    }

    /// Streams at work that have at least `bytes` to themselves: each keeps a part of the link busy.
    pub(crate) fn apart(&self, bytes: u64, limits: &Limits) -> usize {
        let has_room = |s: &&Stream| self.next_start(s.id, s.pos, limits).is_none_or(|start| start - s.pos >= bytes);
        self.all.iter().filter(|s| s.waits > 0).filter(has_room).count()
    }

    /// Takes out the streams that did not read since read `number`, nor since `at`: other threads may have been quick.
    pub(crate) fn take_stopped(&mut self, number: u64, at: Time, limits: &Limits) -> Vec<Stream> {
        let stopped = |s: &Stream| s.last_read < number && s.last_at < at && s.waits == 0;
        let (stopped, live): (Vec<Stream>, Vec<Stream>) = std::mem::take(&mut self.all).into_iter().partition(stopped);
        self.all = live;
        self.recent = 0;
        for s in &stopped {
            self.remember(s, limits);
        }
        stopped
    }

    pub(crate) fn take_all(&mut self) -> Vec<Stream> {
        self.recent = 0;
        self.past.clear();
        std::mem::take(&mut self.all)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Same(usize),
    Jump(usize),
}
