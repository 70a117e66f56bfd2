//! Reads spans of files with some threads, takes the time, and compares every byte afterwards, when the clock has
//! stopped. Never decides which spans.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use memmap2::Mmap;

use super::pattern::BenchFile;
use super::sample::Reads;

#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// Who reads which span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Share {
    /// Reader n takes spans n, n + readers, …; all have equal work.
    InTurn,
    /// Whoever is free takes the next one.
    Queue,
}

/// How the bytes are got at; one for all readers of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Opening {
    Descriptor,
    Mapping,
}

pub(super) struct Plan {
    pub(super) readers: usize,
    pub(super) share: Share,
    pub(super) opening: Opening,
    pub(super) spans: Vec<Span>,
    /// Before each span but a reader's first; no part of the time taken.
    pub(super) pause: Duration,
    /// How long files stay open after the last read; no part of the time taken.
    pub(super) linger: Duration,
}

/// One reader through one descriptor, without a pause.
impl Default for Plan {
    fn default() -> Self {
        Plan {
            readers: 1,
            share: Share::InTurn,
            opening: Opening::Descriptor,
            spans: Vec::new(),
            pause: Duration::ZERO,
            linger: Duration::ZERO,
        }
    }
}

/// One call of a reader that goes through a file; spans below this are read in one call.
const CALL_BYTES: usize = 256 << 10;
/// A span up to this is one call: the pattern is about such calls.
const SINGLE_CALL_BYTES_MAX: u64 = 4 << 20;
const COMPARE_BYTES: usize = 8 << 20;

enum Opened {
    Descriptor(File),
    Mapping(Mmap),
}

/// A span's buffer and how long it took; owned by whichever reader holds the lock.
struct Slot {
    bytes: Vec<u8>,
    took: Duration,
}

impl Plan {
    pub(super) fn run(&self, dir: &Path, files: &[BenchFile]) -> Result<Reads> {
        // Filled with ones: zeros would be pages that the kernel makes while the clock runs.
        let slots: Vec<Mutex<Slot>> = self
            .spans
            .iter()
            .map(|span| Ok(Mutex::new(Slot { bytes: vec![1; usize::try_from(span.len)?], took: Duration::ZERO })))
            .collect::<Result<_>>()?;
        let next = AtomicUsize::new(0);
        let barrier = Barrier::new(self.readers + 1);
        let opened: Vec<Mutex<Option<Arc<Opened>>>> = files.iter().map(|_| Mutex::new(None)).collect();
        let mut took = Duration::ZERO;
        let outcomes = std::thread::scope(|scope| {
            let reader = |number: usize| {
                let (slots, next, barrier, opened) = (&slots, &next, &barrier, &opened);
                move || {
                    barrier.wait();
                    let start = Instant::now();
                    let mut first_byte = None;
                    let mut turn = number;
                    let mut paused = Duration::ZERO;
                    let mut is_first = true;
                    loop {
                        let index = match self.share {
                            Share::Queue => next.fetch_add(1, Ordering::Relaxed),
                            Share::InTurn => turn,
                        };
                        turn += self.readers;
                        let Some((span, slot)) = self.spans.get(index).zip(slots.get(index)) else { break };
                        if !std::mem::take(&mut is_first) && !self.pause.is_zero() {
                            std::thread::sleep(self.pause);
                            paused += self.pause;
                        }
                        let source = self.open(dir, files, opened, span.file)?;
                        let mut slot = slot.lock().expect("no reader panics with a slot");
                        let begun = Instant::now();
                        source.read(&mut slot.bytes, span, || {
                            first_byte.get_or_insert_with(|| start.elapsed());
                        })?;
                        slot.took = begun.elapsed();
                    }
                    Ok::<_, anyhow::Error>((first_byte, start.elapsed(), paused))
                }
            };
            let readers: Vec<_> = (0..self.readers).map(|number| scope.spawn(reader(number))).collect();
            barrier.wait();
            let start = Instant::now();
            let outcomes: Vec<_> =
                readers.into_iter().map(|reader| reader.join().expect("a reader panicked")).collect();
            took = start.elapsed();
            std::thread::sleep(self.linger);
            outcomes
        });
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>>>()?;
        drop(opened);
        let slots: Vec<Slot> =
            slots.into_iter().map(|slot| slot.into_inner().expect("no reader panics with a slot")).collect();
        self.compare(files, &slots)?;

        let mut each: Vec<Duration> = slots.iter().map(|slot| slot.took).collect();
        each.sort();
        let times: Vec<f64> = outcomes.iter().map(|(_, took, paused)| (*took - *paused).as_secs_f64()).collect();
        let paused = outcomes.iter().map(|(.., paused)| *paused).max().unwrap_or_default();
        let (least, most) =
            times.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), time| (least.min(*time), most.max(*time)));
        Ok(Reads {
            took: took - paused,
            bytes: self.spans.iter().map(|span| span.len).sum(),
            first_byte: outcomes.iter().filter_map(|(first, ..)| *first).min().unwrap_or(took),
            each: if self.spans.iter().all(|span| span.len <= SINGLE_CALL_BYTES_MAX) { each } else { Vec::new() },
            spread: (self.readers > 1 && self.share == Share::InTurn).then_some(most / least),
        })
    }

    /// Opens a file with the clock running, once for all readers.
    fn open(
        &self,
        dir: &Path,
        files: &[BenchFile],
        opened: &[Mutex<Option<Arc<Opened>>>],
        index: usize,
    ) -> Result<Arc<Opened>> {
        let mut place = opened[index].lock().expect("no reader panics while opening");
        if let Some(source) = &*place {
            return Ok(source.clone());
        }
        let path = dir.join(&files[index].path);
        let file = File::open(&path).with_context(|| path.display().to_string())?;
        let source = match self.opening {
            Opening::Descriptor => Opened::Descriptor(file),
            // SAFETY: the mount is read-only and shows one commit, so nobody changes the file under the mapping.
            Opening::Mapping => Opened::Mapping(unsafe { Mmap::map(&file)? }),
        };
        let source = Arc::new(source);
        *place = Some(source.clone());
        Ok(source)
    }

    fn compare(&self, files: &[BenchFile], slots: &[Slot]) -> Result<()> {
        for (span, slot) in self.spans.iter().zip(slots) {
            let content = files[span.file].content();
            for (index, got) in slot.bytes.chunks(COMPARE_BYTES).enumerate() {
                let offset = span.offset + (index * COMPARE_BYTES) as u64;
                let wanted = content.read(offset, got.len())?;
                ensure!(wanted == got, "{} is wrong within 8 MiB of {offset}", files[span.file].path);
            }
        }
        Ok(())
    }
}

impl Opened {
    fn read(&self, bytes: &mut [u8], span: &Span, mut progress: impl FnMut()) -> Result<()> {
        let call = if span.len <= SINGLE_CALL_BYTES_MAX { bytes.len() } else { CALL_BYTES };
        let mut offset = span.offset;
        for piece in bytes.chunks_mut(call) {
            match self {
                Self::Descriptor(file) => file.read_exact_at(piece, offset)?,
                Self::Mapping(mapping) => {
                    let from = usize::try_from(offset)?;
                    piece.copy_from_slice(mapping.get(from..from + piece.len()).context("the file is too short")?);
                }
            }
            offset += piece.len() as u64;
            progress();
        }
        Ok(())
    }
}
