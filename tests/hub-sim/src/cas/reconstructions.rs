//! Answers with the terms of files and signed addresses for their xorb ranges.

use std::collections::HashMap;
use std::ops::Range;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use xet_client::cas_types::{
    BatchQueryReconstructionResponse, ChunkRange, HexMerkleHash, HttpRange, QueryReconstructionResponse,
    QueryReconstructionResponseV2, XorbMultiRangeFetch, XorbRangeDescriptor, XorbReconstructionFetchInfo,
    XorbReconstructionTerm,
};
use xet_core_structures::merklehash::MerkleHash;

use crate::http::Refusal;
use crate::hub::Hub;
use crate::xet::{Reconstruction, Term, XetFile, Xorb};

/// The service splits an address of several ranges before it exceeds 8 KiB, which is at about this many.
const RANGES_PER_URL_MAX: usize = 300;

/// Two ways to write the same reconstruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// An address for each range.
    V1,
    /// An address for all ranges of a xorb.
    V2,
}

pub(super) fn one(hub: &Hub, file: MerkleHash, range: &str, version: Version) -> Result<Response, Refusal> {
    let file = find(hub, &file)?;
    let reconstruction = match range {
        "" => Reconstruction::whole(&file),
        range => {
            let range = parse_range(range).ok_or_else(|| Refusal::bad_request("malformed Range"))?;
            Reconstruction::of_range(&file, range)
                .ok_or_else(|| Refusal::new(StatusCode::RANGE_NOT_SATISFIABLE, "", "Range Not Satisfiable"))?
        }
    };
    let terms = reconstruction.terms.iter().map(term).collect();
    let offset_into_first_range = reconstruction.offset_into_first_range;
    match version {
        Version::V1 => {
            let fetch_info = v1_fetches(hub, &reconstruction);
            Ok(answer("1", &QueryReconstructionResponse { offset_into_first_range, terms, fetch_info }))
        }
        Version::V2 => {
            let xorbs = v2_fetches(hub, &reconstruction);
            Ok(answer("2", &QueryReconstructionResponseV2 { offset_into_first_range, terms, xorbs }))
        }
    }
}

pub(super) fn batch(hub: &Hub, files: &[MerkleHash]) -> Result<Response, Refusal> {
    let mut answers = HashMap::new();
    let mut fetch_info = HashMap::new();
    for hash in files {
        let reconstruction = Reconstruction::whole(&*find(hub, hash)?);
        answers.insert(HexMerkleHash::from(*hash), reconstruction.terms.iter().map(term).collect());
        fetch_info.extend(v1_fetches(hub, &reconstruction));
    }
    Ok(answer("1", &BatchQueryReconstructionResponse { files: answers, fetch_info }))
}

fn find(hub: &Hub, file: &MerkleHash) -> Result<std::sync::Arc<XetFile>, Refusal> {
    hub.store.file(file).ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "", format!("no file {}", file.hex())))
}

fn term(term: &Term) -> XorbReconstructionTerm {
    XorbReconstructionTerm {
        hash: term.xorb.hash.into(),
        unpacked_length: term.len as u32,
        range: ChunkRange::new(term.chunks.start, term.chunks.end),
    }
}

fn v1_fetches(hub: &Hub, reconstruction: &Reconstruction) -> HashMap<HexMerkleHash, Vec<XorbReconstructionFetchInfo>> {
    let fetches = reconstruction.fetches().into_iter();
    fetches
        .map(|(xorb, ranges)| {
            let infos = ranges.iter().map(|chunks| XorbReconstructionFetchInfo {
                range: ChunkRange::new(chunks.start, chunks.end),
                url: signed_url(hub, &xorb, std::slice::from_ref(chunks)),
                url_range: http_range(&xorb, chunks),
            });
            (xorb.hash.into(), infos.collect())
        })
        .collect()
}

fn v2_fetches(hub: &Hub, reconstruction: &Reconstruction) -> HashMap<HexMerkleHash, Vec<XorbMultiRangeFetch>> {
    let fetches = reconstruction.fetches().into_iter();
    fetches
        .map(|(xorb, ranges)| {
            let entries = ranges.chunks(RANGES_PER_URL_MAX).map(|ranges| XorbMultiRangeFetch {
                url: signed_url(hub, &xorb, ranges),
                ranges: ranges
                    .iter()
                    .map(|chunks| XorbRangeDescriptor {
                        chunks: ChunkRange::new(chunks.start, chunks.end),
                        bytes: http_range(&xorb, chunks),
                    })
                    .collect(),
            });
            (xorb.hash.into(), entries.collect())
        })
        .collect()
}

fn signed_url(hub: &Hub, xorb: &Xorb, ranges: &[Range<u32>]) -> String {
    let ranges: Vec<String> = ranges.iter().map(|chunks| http_range(xorb, chunks).to_string()).collect();
    let path = format!("/xorbs/default/{}", xorb.hash.hex());
    let query = hub.signer.query(&path, &format!("bytes={}", ranges.join(",")), hub.lifetimes().signed_url);
    format!("{}{path}?{query}", hub.addresses.data)
}

fn http_range(xorb: &Xorb, chunks: &Range<u32>) -> HttpRange {
    let bytes = xorb.byte_range(chunks);
    HttpRange::new(bytes.start, bytes.end - 1)
}

/// `bytes=first-last`, the only form the service takes.
fn parse_range(value: &str) -> Option<Range<u64>> {
    let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then(|| first..last.saturating_add(1))
}

fn answer(version: &'static str, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(body) => {
            let headers = [("content-type", "application/json"), ("x-xet-reconstruction-version", version)];
            (headers, body).into_response()
        }
        Err(error) => Refusal::broken(&error).into_response(),
    }
}
