//! What is read: the files and access patterns of model loaders, as data. Never reads; see [`super::reader`].

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use weightless_hub_sim::Content;

use super::mixed;
use super::reader::{Opening, Plan, Share, Span};
use super::sample::Reads;
use super::tensors::{self, Order};

/// A pattern by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One file of so many MB (10^6), from start to end.
    WholeMb(u64),
    /// The same, in MiB.
    WholeMib(u64),
    /// Random preads of 1 MiB in 1 GiB, by so many threads on one descriptor.
    Pread(usize),
    /// So many threads copy one mapping of 1 GiB, each its own range.
    Mmap(usize),
    /// So many threads copy ranges of one mapping of 1 GiB, of any length and in any order, taking the next by turns.
    MmapRanges(usize),
    /// The same of ranges of a MiB each.
    MmapRandom(usize),
    /// So many threads load the tensors of one safetensors file, taking the next by turns.
    Tensors(Order, usize),
    /// One of eight ranks reads its slices of eight tensors: 2 MiB each, 17 MiB apart.
    Slices,
    /// So many bursts of 8 MiB, 30 s apart, through one file.
    Bursts(usize),
    /// So many files, one byte read of each, then left open for 130 s.
    Idle(usize),
    /// Readers of every kind, for so many minutes.
    Mixed(usize),
    /// So many files of 90 MB that are in memory when the clock starts.
    Held(usize),
    /// So many MiB by the reader alone, without a mount.
    Driven(u64),
    /// So many threads take tensors of 3 MiB from one queue, on one descriptor.
    Queue(usize),
    /// So many readers, each with a file of 64 MiB of its own, all at once.
    Cold(usize),
    /// 200 random preads of 4 KiB in 1 GiB.
    Small,
    /// 400 MiB by so many readers, each with a file of its own.
    Thin(usize),
}

/// One file of the repo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BenchFile {
    pub(super) path: String,
    pub(super) len: u64,
}

impl BenchFile {
    /// Incompressible, and of its own for each path.
    pub(super) fn content(&self) -> Content {
        let seed = self.path.bytes().fold(17, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        Content::random(seed, self.len)
    }
}

const MIB: u64 = 1 << 20;
const TENSOR_BYTES: u64 = 3 * MIB;
/// Ranges of the mapping begin here, so that they meet inside blocks.
const MMAP_FIRST: u64 = 100 << 10;
/// Of about 16 MiB each.
const MMAP_RANGES: usize = 64;
const PREADS: usize = 256;
const SLICE_BYTES: u64 = 2 * MIB;
const SLICE_EVERY: u64 = 17 * MIB;
const BURST_BYTES: u64 = 8 * MIB;
const BURST_EVERY: Duration = Duration::from_secs(30);
/// A file that is asked for whole when its first read comes.
const HELD_BYTES: u64 = 90_000_000;
/// The longest that all of [`Pattern::Held`] takes to arrive over `cloud`, and as much again.
const WARM_WITHIN: Duration = Duration::from_secs(6);
/// After this everything of an idle file is given back; and ten seconds.
const IDLE_FOR: Duration = Duration::from_secs(130);
const SMALL_READS: usize = 200;
const SMALL_BYTES: u64 = 4 << 10;
const THIN_BYTES: u64 = 400 * MIB;

impl Pattern {
    pub(super) const ALL: [Self; 33] = [
        Self::WholeMib(1024),
        Self::WholeMib(256),
        Self::WholeMb(1),
        Self::WholeMb(10),
        Self::WholeMb(50),
        Self::WholeMb(90),
        Self::WholeMb(270),
        Self::WholeMb(500),
        Self::Pread(1),
        Self::Pread(2),
        Self::Pread(4),
        Self::Pread(8),
        Self::Mmap(16),
        Self::MmapRanges(16),
        Self::MmapRandom(16),
        Self::Queue(1),
        Self::Queue(2),
        Self::Queue(8),
        Self::Tensors(Order::File, 1),
        Self::Tensors(Order::File, 4),
        Self::Tensors(Order::Natural, 1),
        Self::Tensors(Order::Natural, 4),
        Self::Slices,
        Self::Bursts(16),
        Self::Cold(24),
        Self::Cold(64),
        Self::Small,
        Self::Thin(1),
        Self::Thin(8),
        Self::Idle(200),
        Self::Mixed(30),
        Self::Held(8),
        Self::Driven(1024),
    ];

    pub(super) fn name(self) -> String {
        match self {
            Self::WholeMb(mb) => format!("whole-{mb}mb"),
            Self::WholeMib(mib) => format!("whole-{mib}mib"),
            Self::Pread(threads) => format!("pread-{threads}"),
            Self::Mmap(threads) => format!("mmap-{threads}"),
            Self::MmapRanges(threads) => format!("mmapranges-{threads}"),
            Self::MmapRandom(threads) => format!("mmaprandom-{threads}"),
            Self::Tensors(order, threads) => format!("{}-{threads}", order.name()),
            Self::Slices => "slices".to_owned(),
            Self::Bursts(count) => format!("bursts-{count}"),
            Self::Idle(files) => format!("idle-{files}"),
            Self::Mixed(minutes) => format!("mixed-{minutes}"),
            Self::Held(files) => format!("held-{files}"),
            Self::Driven(mib) => format!("driven-{mib}"),
            Self::Queue(threads) => format!("queue-{threads}"),
            Self::Cold(readers) => format!("cold-{readers}"),
            Self::Small => "small".to_owned(),
            Self::Thin(readers) => format!("thin-{readers}"),
        }
    }

    pub(super) fn about(self) -> String {
        match self {
            Self::WholeMb(mb) => format!("one file of {mb} MB, from start to end"),
            Self::WholeMib(mib) => format!("one file of {mib} MiB, from start to end"),
            Self::Pread(threads) => format!("{PREADS} random 1 MiB preads on one descriptor, {threads} threads"),
            Self::Mmap(threads) => format!("{threads} threads copy ranges of one 1 GiB mapping"),
            Self::MmapRanges(threads) => {
                format!("{threads} threads copy {MMAP_RANGES} ranges of any length of one 1 GiB mapping, in any order")
            }
            Self::MmapRandom(threads) => format!("{threads} threads copy random MiB of one 1 GiB mapping"),
            Self::Tensors(order, threads) => {
                format!("{threads} threads load a safetensors file of 1 GiB, tensor by tensor, in {}", order.about())
            }
            Self::Slices => "8 reads of 2 MiB, 17 MiB apart: the slices of one rank".to_owned(),
            Self::Bursts(count) => format!("{count} bursts of 8 MiB, 30 s apart"),
            Self::Idle(files) => format!("{files} open files, one byte read of each, memory after 130 s"),
            Self::Mixed(minutes) => format!("readers of every kind for {minutes} minutes; for --profile rough"),
            Self::Held(files) => format!("{files} files of 90 MB from memory: the mount alone"),
            Self::Driven(mib) => format!("{mib} MiB from start to end by the reader alone, without a mount"),
            Self::Queue(threads) => format!("{threads} threads take 3 MiB tensors from one queue"),
            Self::Cold(readers) => format!("{readers} files of 64 MiB at once"),
            Self::Small => format!("{SMALL_READS} random 4 KiB preads in 1 GiB"),
            Self::Thin(readers) => format!("400 MiB by {readers} readers with a file each; for --profile thin"),
        }
    }

    pub(super) fn files(self) -> Vec<BenchFile> {
        let several = |readers: usize, len: u64| {
            (0..readers).map(|n| BenchFile { path: format!("{}/{n:02}.bin", len / MIB), len }).collect()
        };
        match self {
            Self::WholeMb(mb) => vec![BenchFile { path: format!("{mb}mb.bin"), len: mb * 1_000_000 }],
            Self::WholeMib(mib) => vec![BenchFile { path: format!("{mib}mib.bin"), len: mib * MIB }],
            Self::Pread(_)
            | Self::Mmap(_)
            | Self::MmapRanges(_)
            | Self::MmapRandom(_)
            | Self::Queue(_)
            | Self::Slices
            | Self::Bursts(_)
            | Self::Small => Self::WholeMib(1024).files(),
            Self::Tensors(..) => vec![BenchFile { path: "model.safetensors".to_owned(), len: tensors::file_len() }],
            Self::Idle(files) => several(files, 20 * MIB),
            Self::Mixed(_) => mixed::files(),
            Self::Held(files) => {
                (0..files).map(|n| BenchFile { path: format!("held/{n:02}.bin"), len: HELD_BYTES }).collect()
            }
            Self::Driven(mib) => Self::WholeMib(mib).files(),
            Self::Cold(readers) => several(readers, 64 * MIB),
            Self::Thin(readers) => several(readers, THIN_BYTES / readers.max(1) as u64),
        }
    }

    /// The file, where the pattern is to read one whole file.
    pub(super) fn whole_file(self) -> Option<BenchFile> {
        matches!(self, Self::WholeMb(_) | Self::WholeMib(_)).then(|| self.files().remove(0))
    }

    /// Round trips that must follow one another before a whole file can arrive on a fresh mount: where its data is, connection to
    /// the data host, data.
    pub(super) fn round_trips_needed(self) -> Option<u64> {
        match self {
            Self::WholeMb(_) | Self::WholeMib(_) | Self::Cold(_) | Self::Thin(_) | Self::Mmap(_) | Self::Driven(_) => {
                Some(3)
            }
            Self::Pread(_)
            | Self::MmapRanges(_)
            | Self::MmapRandom(_)
            | Self::Tensors(..)
            | Self::Queue(_)
            | Self::Slices
            | Self::Bursts(_)
            | Self::Idle(_)
            | Self::Mixed(_)
            | Self::Held(_)
            | Self::Small => None,
        }
    }

    /// Whether its share of the link says nothing.
    pub(super) fn is_about_latency(self) -> bool {
        matches!(
            self,
            Self::Pread(_)
                | Self::Small
                | Self::Slices
                | Self::Bursts(_)
                | Self::Idle(_)
                | Self::Mixed(_)
                | Self::Held(_)
                | Self::WholeMb(..=10)
        )
    }

    /// Whether it is about memory after a while.
    pub(super) fn lingers(self) -> bool {
        matches!(self, Self::Idle(_))
    }

    /// Whether it is read by the reader alone, without a mount.
    pub(super) fn is_driven(self) -> bool {
        matches!(self, Self::Driven(_))
    }

    /// The stall timeout that it is to be read with, where it says: many cold readers must not come near a short one.
    pub(super) fn stall_timeout_ms(self) -> Option<u32> {
        matches!(self, Self::Cold(_)).then_some(5_000)
    }

    /// What is to be in memory before the clock starts; it stays there until the files returned are closed.
    pub(super) fn warm_up(self, dir: &Path) -> Result<Vec<File>> {
        if !matches!(self, Self::Held(_)) {
            return Ok(Vec::new());
        }
        let open = |file: BenchFile| {
            let path = dir.join(file.path);
            let opened = File::open(&path).with_context(|| path.display().to_string())?;
            opened.read_exact_at(&mut vec![0; 128 << 10], 0)?;
            Ok(opened)
        };
        let files = self.files().into_iter().map(open).collect::<Result<_>>();
        std::thread::sleep(WARM_WITHIN);
        files
    }

    /// Reads it below `dir`, and compares every byte once the clock has stopped.
    pub(super) fn read(self, dir: &Path) -> Result<Reads> {
        let files = self.files();
        let len = files[0].len;
        let whole = |file| Span { file, offset: 0, len };
        let plan = match self {
            Self::Mixed(minutes) => return mixed::read(dir, &files, Duration::from_secs(60 * minutes as u64)),
            Self::Driven(_) => bail!("this is read without a mount"),
            Self::MmapRanges(threads) => Plan {
                readers: threads,
                share: Share::Queue,
                opening: Opening::Mapping,
                spans: any_ranges(MMAP_FIRST, len, MMAP_RANGES),
                ..Plan::default()
            },
            Self::MmapRandom(threads) => Plan {
                readers: threads,
                share: Share::Queue,
                opening: Opening::Mapping,
                spans: scattered(len, MIB, (len / MIB) as usize),
                ..Plan::default()
            },
            Self::Tensors(order, threads) => Plan {
                readers: threads,
                share: Share::Queue,
                opening: Opening::Mapping,
                spans: tensors::spans(order),
                ..Plan::default()
            },
            Self::Slices => Plan {
                spans: (0..8).map(|n| Span { file: 0, offset: 5 * MIB + n * SLICE_EVERY, len: SLICE_BYTES }).collect(),
                ..Plan::default()
            },
            Self::Bursts(count) => {
                Plan { spans: cut(0, count as u64 * BURST_BYTES, BURST_BYTES), pause: BURST_EVERY, ..Plan::default() }
            }
            Self::Idle(readers) => Plan {
                spans: (0..readers).map(|file| Span { file, offset: 0, len: 1 }).collect(),
                linger: IDLE_FOR,
                ..Plan::default()
            },
            Self::Held(readers) => Plan { spans: (0..readers).map(whole).collect(), ..Plan::default() },
            Self::WholeMb(_) | Self::WholeMib(_) => Plan { spans: vec![whole(0)], ..Plan::default() },
            Self::Cold(readers) | Self::Thin(readers) => Plan {
                readers,
                share: Share::InTurn,
                opening: Opening::Descriptor,
                spans: (0..readers).map(whole).collect(),
                ..Plan::default()
            },
            Self::Pread(threads) => Plan {
                readers: threads,
                share: Share::Queue,
                opening: Opening::Descriptor,
                spans: scattered(len, MIB, PREADS),
                ..Plan::default()
            },
            Self::Small => Plan {
                readers: 1,
                share: Share::Queue,
                opening: Opening::Descriptor,
                spans: scattered(len, SMALL_BYTES, SMALL_READS),
                ..Plan::default()
            },
            Self::Queue(threads) => Plan {
                readers: threads,
                share: Share::Queue,
                opening: Opening::Descriptor,
                spans: cut(0, len, TENSOR_BYTES),
                ..Plan::default()
            },
            Self::Mmap(threads) => Plan {
                readers: threads,
                share: Share::InTurn,
                opening: Opening::Mapping,
                spans: cut(MMAP_FIRST, len, (len - MMAP_FIRST).div_ceil(threads as u64)),
                ..Plan::default()
            },
        };
        plan.run(dir, &files)
    }
}

/// Neighbouring spans of `step` bytes.
pub(super) fn cut(from: u64, to: u64, step: u64) -> Vec<Span> {
    (from..to)
        .step_by(usize::try_from(step).unwrap_or(usize::MAX))
        .map(|offset| Span { file: 0, offset, len: step.min(to - offset) })
        .collect()
}

/// `count` different spans of `len` bytes, aligned to their length, in an order that repeats from run to run.
pub(super) fn scattered(file_len: u64, len: u64, count: usize) -> Vec<Span> {
    let slots = file_len / len;
    // An odd multiplier visits every slot of a power of two once; this one jumps far each time.
    (0..count as u64)
        .map(|n| Span {
            file: 0,
            offset: n.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(12_345) % slots * len,
            len,
        })
        .collect()
}

/// All of it in `count` neighbouring ranges of any length, in an order that repeats from run to run.
fn any_ranges(from: u64, to: u64, count: usize) -> Vec<Span> {
    const PAGE: u64 = 4 << 10;
    let mut state = 7u64;
    let mut any = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut cuts: BTreeSet<u64> = [from, to].into();
    while cuts.len() <= count {
        cuts.insert(from + any((to - from) / PAGE) * PAGE);
    }
    let cuts: Vec<u64> = cuts.into_iter().collect();
    let mut spans: Vec<Span> =
        cuts.windows(2).map(|pair| Span { file: 0, offset: pair[0], len: pair[1] - pair[0] }).collect();
    for last in (1..spans.len()).rev() {
        spans.swap(last, any(last as u64 + 1) as usize);
    }
    spans
}

impl FromStr for Pattern {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "small" => return Ok(Self::Small),
            "slices" => return Ok(Self::Slices),
            _ => {}
        }
        let (kind, amount) = name.split_once('-').unwrap_or((name, ""));
        let digits = amount.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let Ok(number @ 1..=65_536) = digits.parse::<usize>() else {
            bail!("no pattern is called {name:?}; `bench list` names them, with other numbers allowed");
        };
        Ok(match (kind, &amount[digits.len()..]) {
            ("whole", "mb") => Self::WholeMb(number as u64),
            ("whole", "mib") => Self::WholeMib(number as u64),
            ("pread", "") => Self::Pread(number),
            ("mmap", "") => Self::Mmap(number),
            ("mmapranges", "") => Self::MmapRanges(number),
            ("mmaprandom", "") => Self::MmapRandom(number),
            ("tensors", "") => Self::Tensors(Order::File, number),
            ("keys", "") => Self::Tensors(Order::Natural, number),
            ("bursts", "") => Self::Bursts(number),
            ("idle", "") => Self::Idle(number),
            ("mixed", "") => Self::Mixed(number),
            ("held", "") => Self::Held(number),
            ("driven", "") => Self::Driven(number as u64),
            ("queue", "") => Self::Queue(number),
            ("cold", "") => Self::Cold(number),
            ("thin", "") => Self::Thin(number),
            _ => bail!("no pattern is called {name:?}; `bench list` names them, with other numbers allowed"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.name().parse::<Pattern>().unwrap(), pattern);
        }
        for wrong in ["", "whole", "whole-5", "pread-0", "pread-8mb", "cold-x"] {
            assert!(wrong.parse::<Pattern>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn scattered_reads_never_meet() {
        for (len, count) in [(MIB, PREADS), (SMALL_BYTES, SMALL_READS)] {
            let offsets: BTreeSet<u64> =
                scattered(1024 * MIB, len, count).into_iter().map(|span| span.offset).collect();
            assert_eq!(offsets.len(), count);
        }
    }

    #[test]
    fn neighbours_cover_all() {
        for mut spans in [cut(MMAP_FIRST, 1024 * MIB, 64 * MIB), any_ranges(MMAP_FIRST, 1024 * MIB, MMAP_RANGES)] {
            spans.sort_by_key(|span| span.offset);
            assert_eq!(spans.iter().map(|span| span.len).sum::<u64>(), 1024 * MIB - MMAP_FIRST);
            assert!(spans.windows(2).all(|pair| pair[0].offset + pair[0].len == pair[1].offset));
        }
    }
}
