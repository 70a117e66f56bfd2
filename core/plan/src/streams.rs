//! Follows sequential streams of one handle. Pure bookkeeping of offsets: never fetches, never touches blocks.

use crate::Time;
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
    /// Where it will end if it is as long as those before it.
    pub(crate) expected_end: u64,
    pub(crate) scan: Scan,
    /// Bytes read by the streams that this one jumped on from.
    scanned: u64,
    /// Where its window was last looked at.
    looked_at: u64,
    /// Reads of it that wait now: it lives as long as they do.
    pub(crate) waits: u32,
    /// A read of it waited since its window was last looked at.
    pub(crate) waited: bool,
    /// When it last read.
    last_at: Time,
    /// Its length was taken as an example.
    learned: bool,
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
            expected_end: 0,
            scan: Scan::Inside,
            scanned: 0,
            looked_at: end,
            waits: 0,
            waited: false,
            last_at: Time(0),
            learned: false,
            last_read: 0,
            last_block: None,
            unread: BTreeSet::new(),
        }
    }

    /// Goes on with the read-ahead of a stream that reached over this one's start.
    pub(crate) fn take_over(&mut self, from: &TakenOver) {
        self.asked = self.asked.max(from.asked);
        self.target = self.target.max(from.target);
        if from.window > self.window {
            (self.window, self.scan, self.scanned) = (from.window, from.scan, from.scanned);
            self.looked_at = self.pos;
        }
        self.expected_end = 0;
    }

    pub(crate) fn taken_over(&self) -> TakenOver {
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
        self.pos = read.end;
        let step = match self.proof {
            Proof::Stepped => Step::Forward,
            Proof::None | Proof::Probe | Proof::Given => Step::Proved,
        };
        if self.proof == Proof::Probe {
            self.target = self.start + self.window;
        }
        self.proof = Proof::Stepped;
        self.retarget(limits);
        (self.id, step)
    }

    /// Whether other streams stop where it began: a lone read somewhere stops nobody.
    pub(crate) fn holds_its_start(&self) -> bool {
        matches!(self.proof, Proof::Given | Proof::Stepped)
    }

    /// Looks again at how far ahead to be once half of the window is used up. A window grows only if the reader waited: one
    /// that never waits is far enough ahead.
    fn retarget(&mut self, limits: &Limits) {
        let used = self.pos.saturating_sub(self.looked_at);
        let slice = self.scan == Scan::Inside && self.scanned + self.pos - self.start < limits.jump_bytes;
        let early = !slice && self.waited && used >= self.window / 8;
        if !early && self.target >= self.pos + self.window / 2 {
            return;
        }
        if self.pos <= self.expected_end {
            // Others of this handle ended after such a run: all of it, and no more.
            self.target = self.expected_end;
            return;
        }
        if slice {
            // As far ahead as it has come: a slice that ends soon costs little.
            let run = self.scanned + self.pos - self.start;
            self.window = self.window.max(run.next_multiple_of(limits.block_bytes));
        } else if self.waited {
            self.window = windows::grow(self.window.max(limits.step_window_bytes), limits);
        }
        self.waited = false;
        self.looked_at = self.pos;
        self.target = self.target.max(self.pos + self.window);
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
    /// Length of the last stream that ended; bytes.
    run: u64,
    /// How many before it were as long.
    alike: u32,
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
    /// Other reads of the handle wait.
    pub(crate) others_wait: bool,
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
    pub(crate) fn follow(&mut self, read: &Reading, limits: &Limits) -> (StreamId, Step, Option<Stream>) {
        match self.find(read, limits) {
            Some(Match::Same(index)) => {
                self.recent = index;
                let (id, step) = self.all[index].go_on(read, limits);
                (id, step, None)
            }
            found => {
                self.learn_runs(read, limits);
                let from = match found {
                    Some(Match::Jump(index)) => Some(self.all[index].clone_scan()),
                    _ => None,
                };
                let replaced = self.make_place(limits);
                let mut s = Stream::new(StreamId(self.next), read.offset, read.end);
                self.next += 1;
                s.last_read = read.number;
                s.last_at = read.now;
                s.asked = read.end.div_ceil(limits.block_bytes) as u32;
                if read.offset < limits.block_bytes && self.all.iter().all(|s| s.start >= limits.block_bytes) {
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
                } else {
                    s.expected_end = read.offset + self.run;
                    if self.alike >= 2 && s.expected_end > read.end {
                        s.target = s.expected_end;
                    }
                }
                let id = s.id;
                self.all.push(s);
                self.recent = self.all.len() - 1;
                (id, Step::Began, replaced)
            }
        }
    }

    /// Takes the length of streams that ended as what to expect of the next: the one that read last, if its reader waits for
    /// nothing else, and those that others have long gone past.
    fn learn_runs(&mut self, read: &Reading, limits: &Limits) {
        let recent = self.recent;
        for (index, s) in self.all.iter_mut().enumerate() {
            let ended = match read.others_wait {
                false => index == recent,
                true => s.last_read + limits.sweep_reads / 4 < read.number,
            };
            if ended && !s.learned {
                s.learned = true;
                let run = s.pos - s.start;
                self.alike = if run.abs_diff(self.run) <= limits.block_bytes { self.alike + 1 } else { 0 };
                self.run = run;
            }
        }
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
            if read.others_wait { s.last_read + limits.sweep_reads / 4 >= read.number } else { index == self.recent };
        let run = s.pos - s.start;
        let slices = self.alike >= 2 && gap > self.run;
        recent && !slices && gap <= limits.jump_bytes && (run + gap <= limits.jump_bytes || gap <= run / 8)
    }

    fn make_place(&mut self, limits: &Limits) -> Option<Stream> {
        if self.all.len() < limits.streams_max {
            return None;
        }
        let (index, _) = self.all.iter().enumerate().min_by_key(|(_, s)| (s.waits > 0, s.last_read))?;
        Some(self.all.swap_remove(index))
    }

    /// First byte from `from` on at which another stream began, which `id` must not read past.
    pub(crate) fn next_start(&self, id: StreamId, from: u64) -> Option<u64> {
        self.all.iter().filter(|s| s.id != id && s.holds_its_start() && s.start >= from).map(|s| s.start).min()
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

    /// Takes out the streams that did not read since read `number`, nor since `at`: other threads may have been quick.
    pub(crate) fn take_stopped(&mut self, number: u64, at: Time) -> Vec<Stream> {
        let stopped = |s: &Stream| s.last_read < number && s.last_at < at && s.waits == 0;
        let (stopped, live) = std::mem::take(&mut self.all).into_iter().partition(stopped);
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
