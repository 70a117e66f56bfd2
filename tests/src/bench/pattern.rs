//! What is read: the files and access patterns of model loaders, as data. Never reads; see [`super::reader`].

use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, bail};
use weightless_hub_sim::Content;

use super::reader::{Opening, Plan, Share, Span};
use super::sample::Reads;

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
const PREADS: usize = 256;
const SMALL_READS: usize = 200;
const SMALL_BYTES: u64 = 4 << 10;
const THIN_BYTES: u64 = 400 * MIB;

impl Pattern {
    pub(super) const ALL: [Self; 19] = [
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
        Self::Queue(1),
        Self::Queue(8),
        Self::Cold(24),
        Self::Cold(64),
        Self::Small,
        Self::Thin(8),
    ];

    pub(super) fn name(self) -> String {
        match self {
            Self::WholeMb(mb) => format!("whole-{mb}mb"),
            Self::WholeMib(mib) => format!("whole-{mib}mib"),
            Self::Pread(threads) => format!("pread-{threads}"),
            Self::Mmap(threads) => format!("mmap-{threads}"),
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
            Self::Pread(_) | Self::Mmap(_) | Self::Queue(_) | Self::Small => Self::WholeMib(1024).files(),
            Self::Cold(readers) => several(readers, 64 * MIB),
            Self::Thin(readers) => several(readers, THIN_BYTES / readers.max(1) as u64),
        }
    }

    /// The file, where the pattern is to read one whole file.
    pub(super) fn whole_file(self) -> Option<BenchFile> {
        matches!(self, Self::WholeMb(_) | Self::WholeMib(_)).then(|| self.files().remove(0))
    }

    /// Round trips that must follow one another before a whole file can arrive on a fresh mount: token, connection to
    /// the store, reconstruction, connection to the data host, data.
    pub(super) fn round_trips_needed(self) -> Option<u64> {
        match self {
            Self::WholeMb(_) | Self::WholeMib(_) | Self::Cold(_) | Self::Thin(_) | Self::Mmap(_) => Some(5),
            Self::Pread(_) | Self::Queue(_) | Self::Small => None,
        }
    }

    /// Whether its share of the link says nothing.
    pub(super) fn is_about_latency(self) -> bool {
        matches!(self, Self::Pread(_) | Self::Small | Self::WholeMb(..=10))
    }

    /// Reads it below `dir`, and compares every byte once the clock has stopped.
    pub(super) fn read(self, dir: &Path) -> Result<Reads> {
        let files = self.files();
        let len = files[0].len;
        let whole = |file| Span { file, offset: 0, len };
        let plan = match self {
            Self::WholeMb(_) | Self::WholeMib(_) => {
                Plan { readers: 1, share: Share::InTurn, opening: Opening::Descriptor, spans: vec![whole(0)] }
            }
            Self::Cold(readers) | Self::Thin(readers) => Plan {
                readers,
                share: Share::InTurn,
                opening: Opening::Descriptor,
                spans: (0..readers).map(whole).collect(),
            },
            Self::Pread(threads) => Plan {
                readers: threads,
                share: Share::Queue,
                opening: Opening::Descriptor,
                spans: scattered(len, MIB, PREADS),
            },
            Self::Small => Plan {
                readers: 1,
                share: Share::Queue,
                opening: Opening::Descriptor,
                spans: scattered(len, SMALL_BYTES, SMALL_READS),
            },
            Self::Queue(threads) => Plan {
                readers: threads,
                share: Share::Queue,
                opening: Opening::Descriptor,
                spans: cut(0, len, TENSOR_BYTES),
            },
            Self::Mmap(threads) => Plan {
                readers: threads,
                share: Share::InTurn,
                opening: Opening::Mapping,
                spans: cut(MMAP_FIRST, len, (len - MMAP_FIRST).div_ceil(threads as u64)),
            },
        };
        plan.run(dir, &files)
    }
}

/// Neighbouring spans of `step` bytes.
fn cut(from: u64, to: u64, step: u64) -> Vec<Span> {
    (from..to)
        .step_by(usize::try_from(step).unwrap_or(usize::MAX))
        .map(|offset| Span { file: 0, offset, len: step.min(to - offset) })
        .collect()
}

/// `count` different spans of `len` bytes, aligned to their length, in an order that repeats from run to run.
fn scattered(file_len: u64, len: u64, count: usize) -> Vec<Span> {
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

impl FromStr for Pattern {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        if name == "small" {
            return Ok(Self::Small);
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
            ("queue", "") => Self::Queue(number),
            ("cold", "") => Self::Cold(number),
            ("thin", "") => Self::Thin(number),
            _ => bail!("no pattern is called {name:?}; `bench list` names them, with other numbers allowed"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
        let spans = cut(MMAP_FIRST, 1024 * MIB, 64 * MIB);
        assert_eq!(spans.iter().map(|span| span.len).sum::<u64>(), 1024 * MIB - MMAP_FIRST);
        assert!(spans.windows(2).all(|pair| pair[0].offset + pair[0].len == pair[1].offset));
    }
}
