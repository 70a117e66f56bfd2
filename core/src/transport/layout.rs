//! Which signed requests bring which bytes of a file: a reconstruction, checked once on arrival, and the choice of what to
//! ask for a wanted range. Never asks anything itself.
//!
//! Everything in a reconstruction is hostile until checked here; behind [`Layout::check`] terms are contiguous, cover the
//! range that was asked and point into a signed part.

use super::decode::Placement;
use super::fault::Fault;
use std::collections::HashMap;
use std::ops::Range;
use url::Url;
use xet_client::cas_types::QueryReconstructionResponseV2;

/// Terms of one reconstruction. A term is at least a chunk and a full chunk is 8 KiB at the least, so 32 MiB have 4096 at
/// most unless the file consists of tiny ones; this leaves room for those.
const TERMS_MAX: usize = 64 << 10;
/// Signed ranges of one reconstruction.
const PARTS_MAX: usize = 64 << 10;
/// A signed URL; the service keeps them below 8,192 bytes.
const URL_BYTES_MAX: usize = 16 << 10;
/// A chunk decoded (the format's limit).
const CHUNK_BYTES_MAX: u64 = 128 << 10;
/// Chunks of a xorb (the format's limit).
const XORB_CHUNKS_MAX: u32 = 8 << 10;
/// A xorb as stored: 64 MiB of chunks that did not shrink, their headers, and a footer.
const XORB_BYTES_MAX: u64 = 68 << 20;
/// A chunk header and at least a byte.
const CHUNK_WIRE_BYTES_MIN: u64 = 9;

/// A reconstruction of part of a file.
#[derive(Debug)]
pub(crate) struct Layout {
    terms: Vec<Term>,
    entries: Vec<Entry>,
    /// The part of the file for which it was asked.
    asked: Range<u64>,
}

/// A run of chunks in a xorb and where it lies in the file.
#[derive(Debug)]
struct Term {
    entry: usize,
    part: usize,
    chunks: Range<u32>,
    file: Range<u64>,
}

/// One signed URL. It takes exactly the ranges it was signed for, all of them.
#[derive(Debug)]
struct Entry {
    url: Url,
    parts: Vec<Part>,
}

/// One range of a signed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Chunk indices in the xorb.
    pub(crate) chunks: Range<u32>,
    /// Bytes in the xorb.
    pub(crate) bytes: Range<u64>,
}

/// One request to a data host, with what to do with each part of its answer.
#[derive(Debug)]
pub(crate) struct DataRequest {
    /// Signed.
    pub(crate) url: Url,
    /// The signed ranges in the order of the `Range` header.
    pub(crate) parts: Vec<(Part, Vec<Placement>)>,
}

impl DataRequest {
    /// Bytes that the answer carries, without multipart headers.
    pub(crate) fn wire_bytes(&self) -> u64 {
        self.parts.iter().map(|(part, _)| part.bytes.end - part.bytes.start).sum()
    }

    /// The `Range` header that the URL was signed for.
    pub(crate) fn range_header(&self) -> String {
        let ranges: Vec<_> =
            self.parts.iter().map(|(part, _)| format!("{}-{}", part.bytes.start, part.bytes.end - 1)).collect();
        format!("bytes={}", ranges.join(","))
    }

    /// The parts of the file that it is sent for, in file order.
    pub(crate) fn wanted(&self) -> Vec<Range<u64>> {
        let mut wanted: Vec<_> =
            self.parts.iter().flat_map(|(_, placements)| placements.iter().map(|p| p.wanted.clone())).collect();
        wanted.sort_by_key(|range| range.start);
        wanted
    }
}

impl Layout {
    /// Checks an answer to a reconstruction asked for `asked`. `secure` refuses data URLs without TLS.
    pub(crate) fn check(
        answer: QueryReconstructionResponseV2,
        asked: Range<u64>,
        secure: bool,
    ) -> Result<Layout, Fault> {
        let bad = |what: &'static str| Fault::protocol(format!("reconstruction: {what}"));
        if answer.terms.len() > TERMS_MAX {
            return Err(bad("too many terms"));
        }
        let mut entries = Vec::new();
        let mut entries_of_xorb = HashMap::new();
        let mut parts_total = 0;
        for (xorb, fetches) in answer.xorbs {
            let first = entries.len();
            for fetch in fetches {
                if fetch.url.len() > URL_BYTES_MAX {
                    return Err(bad("a URL too long"));
                }
                let url = Url::parse(&fetch.url).map_err(|_| bad("a data URL that is none"))?;
                match url.scheme() {
                    "https" => {}
                    "http" if !secure => {}
                    _ => return Err(bad("a data URL of another scheme")),
                }
                parts_total += fetch.ranges.len();
                if fetch.ranges.is_empty() || parts_total > PARTS_MAX {
                    return Err(bad("no ranges, or too many"));
                }
                let mut parts = Vec::with_capacity(fetch.ranges.len());
                for range in fetch.ranges {
                    let chunks = range.chunks.start..range.chunks.end;
                    let (start, last) = (range.bytes.start, range.bytes.end);
                    if chunks.is_empty() || chunks.end > XORB_CHUNKS_MAX || start > last || last >= XORB_BYTES_MAX {
                        return Err(bad("a range that cannot be"));
                    }
                    let bytes = start..last + 1;
                    if bytes.end - bytes.start < chunks.len() as u64 * CHUNK_WIRE_BYTES_MIN {
                        return Err(bad("a range shorter than its chunks"));
                    }
                    parts.push(Part { chunks, bytes });
                }
                entries.push(Entry { url, parts });
            }
            entries_of_xorb.insert(xorb, first..entries.len());
        }

        let mut at =
            asked.start.checked_sub(answer.offset_into_first_range).ok_or_else(|| bad("it starts before the file"))?;
        let mut terms = Vec::with_capacity(answer.terms.len());
        for term in answer.terms {
            let chunks = term.range.start..term.range.end;
            let len = u64::from(term.unpacked_length);
            if chunks.is_empty() || len == 0 || len > chunks.len() as u64 * CHUNK_BYTES_MAX {
                return Err(bad("a term that cannot be"));
            }
            let candidates = entries_of_xorb.get(&term.hash).cloned().ok_or_else(|| bad("a term without its xorb"))?;
            let (entry, part) = candidates
                .flat_map(|entry| (0..entries[entry].parts.len()).map(move |part| (entry, part)))
                .find(|(entry, part)| {
                    let part = &entries[*entry].parts[*part];
                    part.chunks.start <= chunks.start && chunks.end <= part.chunks.end
                })
                .ok_or_else(|| bad("a term outside of its xorb's ranges"))?;
            let end = at.checked_add(len).ok_or_else(|| bad("it ends past any file"))?;
            terms.push(Term { entry, part, chunks, file: at..end });
            at = end;
        }
        let covers = terms.first().is_some_and(|first| first.file.end > asked.start) && at >= asked.end;
        if !covers {
            return Err(bad("it does not cover what was asked"));
        }
        Ok(Layout { terms, entries, asked })
    }

    /// The part of the file for which it was asked.
    pub(crate) fn asked(&self) -> &Range<u64> {
        &self.asked
    }

    /// What it costs to keep.
    pub(crate) fn kept_bytes(&self) -> usize {
        let parts: usize = self.entries.iter().map(|entry| entry.parts.len()).sum();
        let urls: usize = self.entries.iter().map(|entry| entry.url.as_str().len()).sum();
        self.terms.len() * size_of::<Term>()
            + self.entries.len() * size_of::<Entry>()
            + parts * size_of::<Part>()
            + urls
    }

    /// The requests that bring `wanted` (disjoint ranges in order, within what was asked), first needed first.
    pub(crate) fn requests(&self, wanted: &[Range<u64>]) -> Vec<DataRequest> {
        let mut requests: Vec<DataRequest> = Vec::new();
        let mut request_of_entry = HashMap::new();
        for range in wanted {
            debug_assert!(self.asked.start <= range.start && range.end <= self.asked.end);
            let first = self.terms.partition_point(|term| term.file.end <= range.start);
            for term in self.terms[first..].iter().take_while(|term| term.file.start < range.end) {
                let entry = &self.entries[term.entry];
                let index = *request_of_entry.entry(term.entry).or_insert_with(|| {
                    let parts = entry.parts.iter().map(|part| (part.clone(), Vec::new())).collect();
                    requests.push(DataRequest { url: entry.url.clone(), parts });
                    requests.len() - 1
                });
                requests[index].parts[term.part].1.push(Placement {
                    chunks: term.chunks.clone(),
                    file: term.file.clone(),
                    wanted: range.start.max(term.file.start)..range.end.min(term.file.end),
                });
            }
        }
        requests
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, some of which have one")]
pub(crate) mod tests {
    use super::*;
    use xet_client::cas_types::{
        ChunkRange, HexMerkleHash, HttpRange, XorbMultiRangeFetch, XorbRangeDescriptor, XorbReconstructionTerm,
    };
    use xet_core_structures::merklehash::MerkleHash;

    pub(crate) const KIB: u64 = 1 << 10;

    /// A xorb and the ranges of one of its URLs as (chunks, first byte, last byte).
    pub(crate) type Entry<'a> = (u64, &'a [(Range<u32>, u64, u64)]);

    pub(crate) fn xorb(n: u64) -> HexMerkleHash {
        HexMerkleHash(MerkleHash::from([n, 0, 0, 0]))
    }

    /// Terms are (xorb, chunks, KiB).
    pub(crate) fn answer(
        offset: u64,
        terms: &[(u64, Range<u32>, u64)],
        entries: &[Entry<'_>],
    ) -> QueryReconstructionResponseV2 {
        let mut xorbs: HashMap<_, Vec<_>> = HashMap::new();
        for (index, (hash, ranges)) in entries.iter().enumerate() {
            let ranges = ranges
                .iter()
                .map(|(chunks, first, last)| XorbRangeDescriptor {
                    chunks: ChunkRange::new(chunks.start, chunks.end),
                    bytes: HttpRange::new(*first, *last),
                })
                .collect();
            let url = format!("https://data.test/{hash}/{index}");
            xorbs.entry(xorb(*hash)).or_default().push(XorbMultiRangeFetch { url, ranges });
        }
        let terms = terms
            .iter()
            .map(|(hash, chunks, kib)| XorbReconstructionTerm {
                hash: xorb(*hash),
                unpacked_length: (kib * KIB) as u32,
                range: ChunkRange::new(chunks.start, chunks.end),
            })
            .collect();
        QueryReconstructionResponseV2 { offset_into_first_range: offset, terms, xorbs }
    }

    fn describe(requests: &[DataRequest]) -> Vec<String> {
        let one = |request: &DataRequest| {
            let wanted: Vec<_> =
                request.wanted().iter().map(|r| format!("{}..{}", r.start / KIB, r.end / KIB)).collect();
            format!("{} {} for {}", request.url.path(), request.range_header(), wanted.join(" "))
        };
        requests.iter().map(one).collect()
    }

    #[test]
    fn a_wanted_range_costs_the_requests_of_the_terms_it_touches() {
        // 1000 KiB from xorb 1, 500 from xorb 2, 100 from xorb 1 again (its own range of the same URL), 50 of chunks that
        // the first range already brings.
        let layout = Layout::check(
            answer(
                100 * KIB,
                &[(1, 0..20, 1000), (2, 5..15, 500), (1, 30..32, 100), (1, 3..4, 50)],
                &[(1, &[(0..20, 0, 899_999), (30..32, 950_000, 999_999)]), (2, &[(5..15, 70, 400_069)])],
            ),
            1100 * KIB..2650 * KIB,
            true,
        )
        .unwrap();
        let check = |wanted: &[Range<u64>], expected: &[&str]| {
            let wanted: Vec<_> = wanted.iter().map(|r| r.start * KIB..r.end * KIB).collect();
            assert_eq!(describe(&layout.requests(&wanted)), expected);
        };
        let one = "/1/0 bytes=0-899999,950000-999999 for";
        let two = "/2/1 bytes=70-400069 for";
        check(&[1100..1200], &[&format!("{one} 1100..1200")]);
        check(&[2000..2500], &[&format!("{two} 2000..2500")]);
        check(&[1999..2001], &[&format!("{one} 1999..2000"), &format!("{two} 2000..2001")]);
        check(&[2499..2650], &[&format!("{two} 2499..2500"), &format!("{one} 2500..2600 2600..2650")]);
        check(&[1200..1300, 2100..2200], &[&format!("{one} 1200..1300"), &format!("{two} 2100..2200")]);
        let all = layout.requests(&[1100 * KIB..2650 * KIB]);
        assert_eq!(all.iter().map(DataRequest::wire_bytes).collect::<Vec<_>>(), [950_000, 400_000]);
    }

    #[test]
    fn a_reconstruction_that_does_not_add_up_is_refused() {
        let good_terms: &[(u64, Range<u32>, u64)] = &[(1, 0..20, 1000)];
        let good_entries: &[Entry<'_>] = &[(1, &[(0..20, 0, 99_999)])];
        let check = |name: &str, offset, terms, entries, asked: Range<u64>, ok: bool| {
            let asked = asked.start * KIB..asked.end * KIB;
            let checked = Layout::check(answer(offset, terms, entries), asked, true);
            assert_eq!(checked.is_ok(), ok, "{name}");
        };
        check("as it should be", 0, good_terms, good_entries, 0..1000, true);
        check("more than asked", 0, good_terms, good_entries, 0..10, true);
        check("too short", 0, good_terms, good_entries, 0..1001, false);
        check("short by the offset", KIB, good_terms, good_entries, 100..1100, false);
        check("before the file", 11 * KIB, good_terms, good_entries, 10..20, false);
        check("first term not needed", 1000 * KIB, good_terms, good_entries, 1000..1001, false);
        check("no terms", 0, &[], good_entries, 0..1, false);
        check("no xorb", 0, &[(2, 0..20, 1000)], good_entries, 0..1000, false);
        check("chunks outside", 0, &[(1, 0..21, 1000)], good_entries, 0..1000, false);
        check("chunks backwards", 0, &[(1, Range { start: 5, end: 4 }, 1000)], good_entries, 0..1000, false);
        check("more than chunks can hold", 0, &[(1, 0..2, 1000)], good_entries, 0..1000, false);
        check("empty range", 0, good_terms, &[(1, &[])], 0..1000, false);
        check("bytes backwards", 0, good_terms, &[(1, &[(0..20, 10, 9)])], 0..1000, false);
        check("bytes past any xorb", 0, good_terms, &[(1, &[(0..20, 0, XORB_BYTES_MAX)])], 0..1000, false);
        check("bytes too few", 0, good_terms, &[(1, &[(0..20, 0, 100)])], 0..1000, false);
        let mut plain_http = answer(0, good_terms, good_entries);
        plain_http.xorbs.get_mut(&xorb(1)).unwrap()[0].url = "http://data.test/".into();
        assert!(Layout::check(plain_http.clone(), 0..KIB, true).is_err());
        assert!(Layout::check(plain_http.clone(), 0..KIB, false).is_ok());
        plain_http.xorbs.get_mut(&xorb(1)).unwrap()[0].url = "file:///etc/passwd".into();
        assert!(Layout::check(plain_http, 0..KIB, false).is_err());
    }
}
