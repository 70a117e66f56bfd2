//! Decodes a run of xorb chunks as its bytes arrive and hands out what is wanted of it at its place in the file. Holds at
//! most one compressed chunk and its decoded form; never waits, never asks for more.
//!
//! A chunk that nobody wants is stepped over by the lengths in its header; an uncompressed one is handed out slice by slice
//! without being gathered first.

use super::fault::Fault;
use std::io::{BufRead, Read};
use std::ops::Range;
use xet_core_structures::xorb_object::{
    CompressionScheme, XORB_CHUNK_HEADER_LENGTH, byte_grouping::bg4::bg4_regroup, parse_chunk_header,
};

/// Where a term puts the chunks that it takes from a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Chunk indices in the xorb.
    pub(crate) chunks: Range<u32>,
    /// Where those chunks lie in the file, whole.
    pub(crate) file: Range<u64>,
    /// The part of `file` that is wanted.
    pub(crate) wanted: Range<u64>,
}

/// Receives decoded bytes with their offset in the file.
pub(crate) type Out<'a> = &'a mut dyn FnMut(u64, &[u8]);

/// Decodes one run of consecutive chunks.
#[derive(Debug)]
pub(crate) struct RunDecoder {
    /// The chunk whose header or body comes next, and the end of the run.
    chunks: Range<u32>,
    /// Bytes of the run that have not arrived.
    wire_left: u64,
    wanted_left: u64,
    placements: Vec<Placement>,
    /// Where the next chunk of each placement goes.
    cursors: Vec<u64>,
    state: State,
    /// A header or a compressed chunk in the making.
    held: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Header,
    Body(Body),
}

#[derive(Debug, Clone, Copy)]
struct Body {
    scheme: CompressionScheme,
    compressed_len: usize,
    len: usize,
    /// Compressed bytes seen so far.
    seen: usize,
    wanted: bool,
}

impl RunDecoder {
    /// `chunks` are the run's chunk indices, `wire_len` its length in bytes as signed for.
    pub(crate) fn new(chunks: Range<u32>, wire_len: u64, placements: Vec<Placement>) -> Self {
        debug_assert!(placements.iter().all(|p| p.chunks.start >= chunks.start && p.chunks.end <= chunks.end));
        debug_assert!(placements.iter().all(|p| p.file.start <= p.wanted.start && p.wanted.end <= p.file.end));
        RunDecoder {
            chunks,
            wire_left: wire_len,
            wanted_left: placements.iter().map(|p| p.wanted.end - p.wanted.start).sum(),
            cursors: placements.iter().map(|p| p.file.start).collect(),
            placements,
            state: State::Header,
            held: Vec::new(),
        }
    }

    /// Bytes that are wanted and have not been handed out.
    pub(crate) fn wanted_left(&self) -> u64 {
        self.wanted_left
    }

    /// Bytes of the run that have not arrived.
    pub(crate) fn wire_left(&self) -> u64 {
        self.wire_left
    }

    /// Takes the next bytes of the run.
    pub(crate) fn push(&mut self, mut bytes: &[u8], out: Out<'_>) -> Result<(), Fault> {
        if bytes.len() as u64 > self.wire_left {
            return Err(Fault::mismatch("more bytes than were signed for"));
        }
        self.wire_left -= bytes.len() as u64;
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Header => self.header(bytes)?,
                State::Body(body) => self.body(body, bytes, out)?,
            };
        }
        Ok(())
    }

    /// To be called when the run has ended: says whether all of it came.
    pub(crate) fn finish(&self) -> Result<(), Fault> {
        if self.wire_left > 0 {
            return Err(Fault::new(crate::ErrorKind::Connection, "the answer ended early"));
        }
        if !self.chunks.is_empty() || !matches!(self.state, State::Header) || !self.held.is_empty() {
            return Err(Fault::mismatch("fewer chunks than the run has"));
        }
        Ok(())
    }

    fn header<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], Fault> {
        if self.chunks.is_empty() {
            return Err(Fault::mismatch("more chunks than the run has"));
        }
        let take = (XORB_CHUNK_HEADER_LENGTH - self.held.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(take);
        self.held.extend_from_slice(head);
        let Ok(raw) = <[u8; XORB_CHUNK_HEADER_LENGTH]>::try_from(self.held.as_slice()) else { return Ok(rest) };
        self.held.clear();
        let bad = |error| Fault::mismatch(format!("chunk header: {error}"));
        let header = parse_chunk_header(raw).map_err(bad)?;
        let body = Body {
            scheme: header.get_compression_scheme().map_err(bad)?,
            compressed_len: header.get_compressed_length() as usize,
            len: header.get_uncompressed_length() as usize,
            seen: 0,
            wanted: self.wants_next(u64::from(header.get_uncompressed_length())),
        };
        if body.len == 0 || body.compressed_len == 0 {
            return Err(Fault::mismatch("an empty chunk"));
        }
        if body.scheme == CompressionScheme::None && body.compressed_len != body.len {
            return Err(Fault::mismatch("an uncompressed chunk with two lengths"));
        }
        self.state = State::Body(body);
        Ok(rest)
    }

    /// Whether any wanted byte lies in the next chunk, `len` bytes long.
    fn wants_next(&self, len: u64) -> bool {
        self.takers().any(|(placement, at)| at < placement.wanted.end && placement.wanted.start < at + len)
    }

    /// Placements of the next chunk with its offset in the file.
    fn takers(&self) -> impl Iterator<Item = (&Placement, u64)> {
        let next = self.chunks.start;
        self.placements.iter().zip(&self.cursors).filter(move |(p, _)| p.chunks.contains(&next)).map(|(p, at)| (p, *at))
    }

    fn body<'b>(&mut self, mut body: Body, bytes: &'b [u8], out: Out<'_>) -> Result<&'b [u8], Fault> {
        let (now, rest) = bytes.split_at((body.compressed_len - body.seen).min(bytes.len()));
        let at = body.seen;
        body.seen += now.len();
        let whole = body.seen == body.compressed_len;
        if body.wanted {
            if body.scheme == CompressionScheme::None {
                self.hand_out(at, now, out);
            } else if whole && at == 0 {
                self.decompress(body, now, out)?;
            } else {
                if at == 0 {
                    self.held.reserve_exact(body.compressed_len);
                }
                self.held.extend_from_slice(now);
                if whole {
                    let held = std::mem::take(&mut self.held);
                    self.decompress(body, &held, out)?;
                    self.held = held;
                    self.held.clear();
                }
            }
        }
        if whole {
            self.end_chunk(body.len as u64)?;
            self.state = State::Header;
        } else {
            self.state = State::Body(body);
        }
        Ok(rest)
    }

    /// Decompresses the next chunk, never past the length its header gave.
    fn decompress(&mut self, body: Body, compressed: &[u8], out: Out<'_>) -> Result<(), Fault> {
        let bad = |error: std::io::Error| Fault::mismatch(format!("lz4: {error}"));
        let mut decoder = lz4_flex::frame::FrameDecoder::new(compressed);
        let len = match body.scheme {
            CompressionScheme::LZ4 => {
                let mut at = 0;
                loop {
                    let decoded = decoder.fill_buf().map_err(bad)?;
                    if decoded.is_empty() {
                        break at;
                    }
                    if at + decoded.len() > body.len {
                        return Err(Fault::mismatch("a chunk longer than its header says"));
                    }
                    self.hand_out(at, decoded, out);
                    let taken = decoded.len();
                    at += taken;
                    decoder.consume(taken);
                }
            }
            CompressionScheme::ByteGrouping4LZ4 => {
                let mut grouped = Vec::with_capacity(body.len + 1);
                decoder.take(body.len as u64 + 1).read_to_end(&mut grouped).map_err(bad)?;
                if grouped.len() == body.len {
                    self.hand_out(0, &bg4_regroup(&grouped), out);
                }
                grouped.len()
            }
            CompressionScheme::None | CompressionScheme::Auto => {
                return Err(Fault::mismatch("a chunk with no compression scheme"));
            }
        };
        if len == body.len { Ok(()) } else { Err(Fault::mismatch("a chunk of another length than its header says")) }
    }

    /// Hands out what is wanted of `decoded`, which starts `at` bytes into the next chunk.
    fn hand_out(&mut self, at: usize, decoded: &[u8], out: Out<'_>) {
        let mut handed = 0;
        for (placement, chunk_at) in self.takers() {
            let start = chunk_at + at as u64;
            let from = placement.wanted.start.max(start);
            let to = placement.wanted.end.min(start + decoded.len() as u64);
            if from < to {
                out(from, &decoded[(from - start) as usize..(to - start) as usize]);
                handed += to - from;
            }
        }
        self.wanted_left -= handed;
    }

    fn end_chunk(&mut self, len: u64) -> Result<(), Fault> {
        let ended = self.chunks.start;
        self.chunks.start += 1;
        for (placement, cursor) in self.placements.iter().zip(&mut self.cursors) {
            if placement.chunks.contains(&ended) {
                *cursor += len;
                let last = ended + 1 == placement.chunks.end;
                if *cursor > placement.file.end || last && *cursor != placement.file.end {
                    return Err(Fault::mismatch("a term of another length than announced"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ErrorKind;
    use xet_core_structures::xorb_object::serialize_chunk;

    /// A small generator, so that a failing case is its seed.
    pub(crate) struct Rng(pub(crate) u64);

    impl Rng {
        pub(crate) fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }

        fn bytes(&mut self, len: usize, alphabet: u64) -> Vec<u8> {
            (0..len).map(|_| self.below(alphabet) as u8).collect()
        }
    }

    struct Run {
        wire: Vec<u8>,
        chunks: Vec<Vec<u8>>,
    }

    fn run(rng: &mut Rng, count: u64) -> Run {
        let mut wire = Vec::new();
        let mut chunks = Vec::new();
        for _ in 0..count {
            let len = 1 + rng.below(128 << 10) as usize;
            let alphabet = [2, 256][rng.below(2) as usize];
            let chunk = rng.bytes(len, alphabet);
            let scheme = [CompressionScheme::None, CompressionScheme::LZ4, CompressionScheme::ByteGrouping4LZ4];
            serialize_chunk(&chunk, &mut wire, scheme[rng.below(3) as usize]).unwrap();
            chunks.push(chunk);
        }
        Run { wire, chunks }
    }

    fn decode(decoder: &mut RunDecoder, wire: &[u8], step: usize, file: &mut [Option<u8>]) -> Result<(), Fault> {
        for bytes in wire.chunks(step) {
            decoder.push(bytes, &mut |at, content| {
                for (slot, byte) in file[at as usize..].iter_mut().zip(content) {
                    assert_eq!(slot.replace(*byte), None, "a byte handed out twice");
                }
            })?;
        }
        decoder.finish()
    }

    #[test]
    fn any_wanted_part_of_any_run_arrives_whole_and_once_however_the_bytes_are_cut() {
        for seed in 1..60 {
            let mut rng = Rng(seed * 0x9E37_79B9);
            let count = 1 + rng.below(6);
            let Run { wire, chunks } = run(&mut rng, count);
            // Two terms take overlapping chunks of the run, the second one behind the first in the file.
            let mut file: Vec<u8> = Vec::new();
            let mut placements = Vec::new();
            let first_chunk = 7;
            for _ in 0..2 {
                let from = rng.below(count) as usize;
                let to = from + 1 + rng.below(count - from as u64) as usize;
                let start = file.len() as u64;
                file.extend(chunks[from..to].iter().flatten());
                let len = file.len() as u64 - start;
                let wanted_from = rng.below(len);
                let wanted_to = wanted_from + 1 + rng.below(len - wanted_from);
                placements.push(Placement {
                    chunks: first_chunk + from as u32..first_chunk + to as u32,
                    file: start..start + len,
                    wanted: start + wanted_from..start + wanted_to,
                });
            }
            let mut got = vec![None; file.len()];
            let run_chunks = first_chunk..first_chunk + count as u32;
            let mut decoder = RunDecoder::new(run_chunks, wire.len() as u64, placements.clone());
            let step = [1, 7, 4096, 1 << 20][rng.below(4) as usize];
            decode(&mut decoder, &wire, step, &mut got).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
            assert_eq!(decoder.wanted_left(), 0, "seed {seed}");
            for (at, byte) in got.iter().enumerate() {
                let wanted = placements.iter().any(|p| p.wanted.contains(&(at as u64)));
                assert_eq!(*byte, wanted.then_some(file[at]), "seed {seed} at {at}");
            }
        }
    }

    #[test]
    fn what_does_not_add_up_is_an_error() {
        let mut rng = Rng(42);
        let chunk = rng.bytes(5000, 2);
        let mut wire = Vec::new();
        serialize_chunk(&chunk, &mut wire, CompressionScheme::LZ4).unwrap();
        serialize_chunk(&chunk, &mut wire, CompressionScheme::None).unwrap();
        let len = wire.len() as u64;
        let place = |chunks: Range<u32>, end: u64| vec![Placement { chunks, file: 0..end, wanted: 0..end }];
        let check = |wire: &[u8], announced: u64, chunks: Range<u32>, file_len: u64, expected: Option<ErrorKind>| {
            let mut decoder = RunDecoder::new(chunks.clone(), announced, place(chunks, file_len));
            let got = decode(&mut decoder, wire, 100, &mut vec![None; 20_000]);
            assert_eq!(got.err().map(|fault| fault.kind), expected);
        };
        use ErrorKind::{Connection, ContentMismatch};
        check(&wire, len, 0..2, 10_000, None);
        check(&wire[..wire.len() - 1], len, 0..2, 10_000, Some(Connection));
        check(&wire, len - 1, 0..2, 10_000, Some(ContentMismatch));
        check(&wire, len, 0..1, 5000, Some(ContentMismatch));
        check(&wire, len, 0..3, 10_000, Some(ContentMismatch));
        check(&wire, len, 0..2, 9_999, Some(ContentMismatch));
        check(&wire, len, 0..2, 10_001, Some(ContentMismatch));
        // A header that lies about the decoded length, one of an unknown version, one of an unknown scheme.
        for (at, value) in [(5, 1), (0, 9), (4, 3), (4, 99)] {
            let mut bad = wire.clone();
            bad[at] = value;
            check(&bad, len, 0..2, 10_000, Some(ContentMismatch));
        }
    }

    #[test]
    fn a_small_chunk_that_inflates_past_its_header_is_stopped() {
        let mut wire = Vec::new();
        serialize_chunk(&vec![0; 128 << 10], &mut wire, CompressionScheme::LZ4).unwrap();
        wire[5..8].copy_from_slice(&[16, 0, 0]);
        let placements = vec![Placement { chunks: 0..1, file: 0..16, wanted: 0..16 }];
        let mut decoder = RunDecoder::new(0..1, wire.len() as u64, placements);
        let mut out = 0;
        assert!(decoder.push(&wire, &mut |_, content| out += content.len()).is_err());
        assert_eq!(out, 0);
    }
}
