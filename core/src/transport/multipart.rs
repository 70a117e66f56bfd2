//! Reads a `multipart/byteranges` answer as it arrives (RFC 9110 §14.6) and hands out the bytes of each part. Trusts the
//! `Content-Range` of a part only if that range was asked for; holds no more than one part's header lines.

use super::fault::Fault;
use std::ops::Range;

/// Header lines of one part, with the boundary before them.
const PART_HEADER_BYTES_MAX: usize = 4 << 10;

/// Receives the index of a part, in the order asked, and bytes of it.
pub(crate) type PartOut<'a> = &'a mut dyn FnMut(usize, &[u8]) -> Result<(), Fault>;

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct MultipartReader {
    boundary: Vec<u8>,
    /// The ranges asked for, end exclusive, and whether each came.
    parts: Vec<(Range<u64>, bool)>,
    state: State,
    held: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Between parts: the delimiter line and the part's headers up to the empty line.
    Header,
    Body {
        part: usize,
        left: u64,
    },
    /// Behind the closing delimiter.
    End,
}

impl MultipartReader {
    /// `content_type` as answered; `asked` are the ranges of the request, end exclusive.
    pub(crate) fn new(content_type: &str, asked: impl Iterator<Item = Range<u64>>) -> Result<Self, Fault> {
        let boundary = content_type
            .split(';')
            .skip(1)
            .find_map(|parameter| {
                let (name, value) = parameter.split_once('=')?;
                name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
            })
            .filter(|boundary| (1..=70).contains(&boundary.len()))
            .ok_or_else(|| Fault::protocol("multipart answer without a boundary"))?;
        Ok(MultipartReader {
            boundary: boundary.as_bytes().to_vec(),
            parts: asked.map(|range| (range, false)).collect(),
            state: State::Header,
            held: Vec::new(),
        })
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, mut bytes: &[u8], out: PartOut<'_>) -> Result<(), Fault> {
        while !bytes.is_empty() {
            match self.state {
                State::Header => {
                    // Byte by byte, as headers are short; stops at the empty line or the closing delimiter.
                    let (first, rest) = bytes.split_at(1);
                    self.held.extend_from_slice(first);
                    bytes = rest;
                    if self.held.len() > PART_HEADER_BYTES_MAX {
                        return Err(Fault::protocol("multipart header too long"));
                    }
                    if self.held.ends_with(b"\r\n\r\n") && self.held.len() > 4 {
                        self.state = self.part()?;
                        self.held.clear();
                    } else if self.closes() {
                        self.state = State::End;
                    }
                }
                State::Body { part, left } => {
                    let take = left.min(bytes.len() as u64) as usize;
                    let (now, rest) = bytes.split_at(take);
                    out(part, now)?;
                    bytes = rest;
                    let left = left - take as u64;
                    self.state = if left == 0 { State::Header } else { State::Body { part, left } };
                }
                State::End => return Ok(()),
            }
        }
        Ok(())
    }

    /// To be called at the end of the answer: says whether every part came.
    pub(crate) fn finish(&self) -> Result<(), Fault> {
        if self.parts.iter().all(|(_, came)| *came) && !matches!(self.state, State::Body { .. }) {
            Ok(())
        } else {
            Err(Fault::new(crate::ErrorKind::Connection, "the multipart answer ended early"))
        }
    }

    fn closes(&self) -> bool {
        let line = self.held.strip_prefix(b"\r\n").unwrap_or(&self.held);
        line.strip_prefix(b"--")
            .and_then(|line| line.strip_prefix(self.boundary.as_slice()))
            .is_some_and(|tail| tail == b"--")
    }

    fn part(&mut self) -> Result<State, Fault> {
        let bad = || Fault::protocol("multipart header");
        let text = std::str::from_utf8(&self.held).map_err(|_| bad())?;
        let mut lines = text.trim_start_matches("\r\n").split("\r\n");
        let delimiter = lines.next().and_then(|line| line.strip_prefix("--")).ok_or_else(bad)?;
        if delimiter.trim_end().as_bytes() != self.boundary {
            return Err(bad());
        }
        let range = lines
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("content-range"))
            .and_then(|(_, value)| Some(parse_content_range(value)?.0))
            .ok_or_else(|| Fault::protocol("multipart part without its range"))?;
        let part = self
            .parts
            .iter()
            .position(|(asked, came)| *asked == range && !came)
            .ok_or_else(|| Fault::protocol("multipart part that was not asked for"))?;
        self.parts[part].1 = true;
        Ok(State::Body { part, left: range.end - range.start })
    }
}

/// `bytes 0-99/1000` or `bytes 0-99/*` as an end-exclusive, non-empty range, and the total if it is told.
pub(crate) fn parse_content_range(value: &str) -> Option<(Range<u64>, Option<u64>)> {
    let (range, total) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, last) = range.trim().split_once('-')?;
    let (start, last) = (start.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    (start <= last).then_some(())?;
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    total.is_none_or(|total| last < total).then_some(())?;
    Some((start..last.checked_add(1)?, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/byteranges; boundary=\"sep\"";

    fn read(body: &str, asked: &[Range<u64>], step: usize) -> Result<Vec<String>, Fault> {
        let mut reader = MultipartReader::new(TYPE, asked.iter().cloned())?;
        let mut parts = vec![String::new(); asked.len()];
        for bytes in body.as_bytes().chunks(step) {
            reader.push(bytes, &mut |part, bytes| {
                parts[part].push_str(std::str::from_utf8(bytes).unwrap());
                Ok(())
            })?;
        }
        reader.finish()?;
        Ok(parts)
    }

    #[test]
    fn parts_arrive_however_the_bytes_are_cut_and_whatever_is_in_them() {
        let body = "\r\n--sep\r\nContent-Type: x/y\r\nContent-Range: bytes 10-14/100\r\n\r\n\r\n--s\r\n\
                    --sep\r\ncontent-range:bytes 0-2/*\r\n\r\nabc\r\n--sep--\r\nepilogue";
        for step in [1, 2, 5, 1000] {
            let parts = read(body, &[0..3, 10..15], step).unwrap();
            assert_eq!(parts, ["abc", "\r\n--s"], "step {step}");
        }
    }

    #[test]
    fn what_was_not_asked_for_or_is_not_whole_is_refused() {
        let part = |range: &str, body: &str| format!("--sep\r\nContent-Range: bytes {range}/100\r\n\r\n{body}\r\n");
        let whole = part("0-2", "abc");
        for (name, body) in [
            ("another range", part("1-3", "abc") + "--sep--"),
            ("the same part twice", whole.clone() + &whole + "--sep--"),
            ("a part missing", whole.clone() + "--sep--"),
            ("cut inside a part", part("0-2", "abc") + "--sep\r\nContent-Range: bytes 5-9/100\r\n\r\nab"),
            ("no range", "--sep\r\nA: b\r\n\r\nabc".into()),
            ("another boundary", "--pes\r\nContent-Range: bytes 0-2/9\r\n\r\nabc".into()),
            ("an endless header", "--sep\r\nX: ".to_string() + &"x".repeat(PART_HEADER_BYTES_MAX)),
        ] {
            assert!(read(&body, &[0..3, 5..10], 3).is_err(), "{name}");
        }
        assert!(MultipartReader::new("multipart/byteranges", std::iter::empty()).is_err());
    }

    #[test]
    fn content_ranges() {
        let check = |value, expected| assert_eq!(parse_content_range(value), expected, "{value}");
        check("bytes 0-99/1000", Some((0..100, Some(1000))));
        check(" bytes 5-5/* ", Some((5..6, None)));
        check("bytes 5-4/10", None);
        check("bytes */10", None);
        check("bytes 0-18446744073709551615/*", None);
        check("bytes 0-1/x", None);
        check("lines 0-1/2", None);
    }
}
