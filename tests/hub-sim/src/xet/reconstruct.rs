//! Chooses the terms and the xorb ranges that make up a range of a file. Never signs a URL and never reads a xorb.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{Term, XetFile, Xorb};

/// What a client needs to rebuild a range of a file.
#[derive(Debug)]
pub(crate) struct Reconstruction {
    /// Bytes of the first term that lie before the range.
    pub(crate) offset_into_first_range: u64,
    pub(crate) terms: Vec<Term>,
}

impl Reconstruction {
    /// The whole file: whole terms.
    pub(crate) fn whole(file: &XetFile) -> Self {
        Self { offset_into_first_range: 0, terms: file.terms.clone() }
    }

    /// The terms of a range, the first and the last trimmed to chunks; `None` if it starts at or past the end.
    pub(crate) fn of_range(file: &XetFile, range: Range<u64>) -> Option<Self> {
        let end = range.end.min(file.len);
        if range.start >= end {
            return None;
        }
        let (first, last) = (file.term_at(range.start), file.term_at(end - 1));
        let mut terms = file.terms[first..=last].to_vec();
        let (last_chunk, _) = terms[terms.len() - 1].chunk_at(end - 1);
        let (first_chunk, offset_into_first_range) = terms[0].chunk_at(range.start);
        let last = terms.len() - 1;
        terms[last].chunks.end = last_chunk + 1;
        terms[0].chunks.start = first_chunk;
        for term in &mut terms {
            term.len = term.xorb.unpacked_len(&term.chunks);
        }
        Some(Self { offset_into_first_range, terms })
    }

    /// The chunk ranges to fetch, by xorb in order of hash: sorted, and merged where they touch.
    pub(crate) fn fetches(&self) -> Vec<(Arc<Xorb>, Vec<Range<u32>>)> {
        let mut by_xorb: BTreeMap<_, (Arc<Xorb>, Vec<Range<u32>>)> = BTreeMap::new();
        for term in &self.terms {
            let entry = by_xorb.entry(term.xorb.hash).or_insert_with(|| (term.xorb.clone(), Vec::new()));
            entry.1.push(term.chunks.clone());
        }
        by_xorb.into_values().map(|(xorb, ranges)| (xorb, merge(ranges))).collect()
    }
}

fn merge(mut ranges: Vec<Range<u32>>) -> Vec<Range<u32>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u32>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
