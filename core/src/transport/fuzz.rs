//! What data hosts and the Xet service say, for `crate::fuzz`.

use super::decode::{Placement, RunDecoder};
use super::http::{carried, wait_asked};
use super::layout::Layout;
use super::multipart::{MultipartReader, parse_content_range};
use crate::fuzz::words;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;
use xet_client::cas_types::{QueryReconstructionResponse, QueryReconstructionResponseV2};

/// Most of a chunk's decoded bytes (xet: `MAX_CHUNK_SIZE`).
const CHUNK_BYTES_MAX: u64 = 128 << 10;

/// A reconstruction, as both versions of the service write it; the first bytes say what was asked for.
pub(crate) fn reconstruction(data: &[u8]) {
    let Some((asked, body)) = data.split_first_chunk::<4>() else { return };
    let [start, len] = [u16::from_be_bytes([asked[0], asked[1]]), u16::from_be_bytes([asked[2], asked[3]])];
    let asked = u64::from(start)..u64::from(start) + u64::from(len) + 1;
    let first = serde_json::from_slice::<QueryReconstructionResponse>(body).map(QueryReconstructionResponseV2::from);
    let second = serde_json::from_slice::<QueryReconstructionResponseV2>(body);
    for answer in [first, second].into_iter().flatten() {
        let Ok(layout) = Layout::check(answer, asked.clone(), false) else { continue };
        // What is sent brings every byte that was asked for, once.
        let mut wanted: Vec<_> =
            layout.requests(std::slice::from_ref(&asked)).iter().flat_map(super::layout::DataRequest::wanted).collect();
        wanted.sort_by_key(|range| range.start);
        let end = wanted.iter().try_fold(asked.start, |at, range| (range.start == at).then_some(range.end));
        assert_eq!(end, Some(asked.end), "{wanted:?}");
    }
}

/// Chunks of a xorb; the first bytes say how many there are, and in what pieces they come.
pub(crate) fn xorb(data: &[u8]) {
    let Some(([count, step], wire)) = data.split_first_chunk::<2>() else { return };
    let chunks = 0..u32::from(*count) % 8 + 1;
    let len = u64::from(chunks.end) * CHUNK_BYTES_MAX;
    let wanted = len / 5..len / 2;
    let placement = Placement { chunks: chunks.clone(), file: 0..len, wanted: wanted.clone() };
    let mut decoder = RunDecoder::new(chunks, wire.len() as u64, vec![placement]);
    let mut at = wanted.start;
    for bytes in wire.chunks(usize::from(*step) * 16 + 1) {
        let pushed = decoder.push(bytes, &mut |offset, content| {
            assert_eq!(offset, at, "in order, each byte once");
            at += content.len() as u64;
            assert!(at <= wanted.end, "nothing that is not wanted");
        });
        if pushed.is_err() {
            return;
        }
    }
    let _ = decoder.finish();
}

/// A `multipart/byteranges` answer: its type, and its body in pieces.
pub(crate) fn multipart(data: &[u8]) {
    let Some(([step], data)) = data.split_first_chunk::<1>() else { return };
    let split = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let Ok(content_type) = std::str::from_utf8(&data[..split]) else { return };
    let body = data.get(split + 1..).unwrap_or_default();
    let asked = [0..10_u64, 20..25, 1_000..1_064];
    let Ok(mut reader) = MultipartReader::new(content_type, asked.iter().cloned()) else { return };
    let mut came = [0_u64; 3];
    for bytes in body.chunks(usize::from(*step) + 1) {
        let pushed = reader.push(bytes, &mut |part, bytes| {
            came[part] += bytes.len() as u64;
            Ok(())
        });
        for (came, asked) in came.iter().zip(&asked) {
            assert!(*came <= asked.end - asked.start, "no more than was asked for");
        }
        if pushed.is_err() {
            return;
        }
    }
    if reader.finish().is_ok() {
        assert_eq!(came, [10, 5, 64]);
    }
}

/// Status and headers of a data host.
pub(crate) fn headers(data: &[u8]) {
    let Some((status, data)) = data.split_first_chunk::<2>() else { return };
    let Ok(status) = StatusCode::from_u16(u16::from_be_bytes(*status) % 1_000) else { return };
    let mut headers = HeaderMap::new();
    for line in words(data) {
        if let Some((name, value)) = line.split_once(':')
            && let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.trim().parse::<HeaderValue>())
        {
            headers.append(name, value);
        }
        if let Some((range, total)) = parse_content_range(line) {
            assert!(range.start < range.end && total.is_none_or(|total| range.end <= total));
        }
    }
    assert!(wait_asked(&headers).is_none_or(|wait| wait <= Duration::from_secs(3_600)));
    let _ = carried(status, &headers, None, std::slice::from_ref(&(5..10)), Some(100));
}
