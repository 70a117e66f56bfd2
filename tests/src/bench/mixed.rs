//! Readers of every kind, one after another for a while, on files of which the kernel is made to forget what it read. Every
//! byte is compared; the first error ends it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::pattern::{BenchFile, cut, scattered};
use super::reader::{Opening, Plan, Share, Span};
use super::sample::Reads;

const MIB: u64 = 1 << 20;
const FILES: usize = 8;
const FILE_BYTES: u64 = 64 * MIB;

pub(super) fn files() -> Vec<BenchFile> {
    (0..FILES).map(|n| BenchFile { path: format!("mixed/{n:02}.bin"), len: FILE_BYTES }).collect()
}

/// Reads until `lasting` is over, and the round under way.
pub(super) fn read(dir: &Path, files: &[BenchFile], lasting: Duration) -> Result<Reads> {
    let begun = Instant::now();
    let mut all = Reads::default();
    let mut rounds = 0;
    while begun.elapsed() < lasting {
        forget(dir, files)?;
        let reads = round(rounds).run(dir, files).with_context(|| format!("round {rounds}"))?;
        if rounds == 0 {
            all.first_byte = reads.first_byte;
        }
        all.took += reads.took;
        all.bytes += reads.bytes;
        rounds += 1;
    }
    Ok(all)
}

fn round(number: usize) -> Plan {
    let whole = |file| Span { file, offset: 0, len: FILE_BYTES };
    let on = |file: usize, mut spans: Vec<Span>| {
        spans.iter_mut().for_each(|span| span.file = file % FILES);
        spans
    };
    let one = number / 4;
    match number % 4 {
        0 => Plan { readers: FILES, spans: (0..FILES).map(whole).collect(), ..Plan::default() },
        1 => {
            Plan { readers: 4, share: Share::Queue, spans: on(one, scattered(FILE_BYTES, MIB, 48)), ..Plan::default() }
        }
        2 => Plan {
            readers: 16,
            opening: Opening::Mapping,
            spans: on(one, cut(100 << 10, FILE_BYTES, 4 * MIB)),
            ..Plan::default()
        },
        _ => Plan {
            readers: 2,
            share: Share::Queue,
            spans: on(one, scattered(FILE_BYTES, 4 << 10, 64)),
            ..Plan::default()
        },
    }
}

/// Makes the kernel drop the pages of these files.
fn forget(dir: &Path, files: &[BenchFile]) -> Result<()> {
    for file in files {
        let opened = File::open(dir.join(&file.path))?;
        // SAFETY: the descriptor is open; the call reads no memory of ours.
        let failed = unsafe { libc::posix_fadvise(opened.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        ensure!(failed == 0, "the kernel keeps its pages: {}", std::io::Error::from_raw_os_error(failed));
    }
    Ok(())
}
