//! Serves bytes by range, streaming what is long. Never holds a whole file.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::header;
use crate::Content;
use crate::xet::{Blob, XetFile};

/// Long bodies are read and sent in pieces of this size.
const PIECE_BYTES: usize = 256 << 10;

/// Where the bytes of a response come from.
#[derive(Debug, Clone)]
pub(crate) enum ByteSource {
    Content(Content),
    Blob(Blob),
    File(Arc<XetFile>),
}

impl ByteSource {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Content(content) => content.len(),
            Self::Blob(blob) => blob.len(),
            Self::File(file) => file.len,
        }
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        match self {
            Self::Content(content) => content.read(offset, len),
            Self::Blob(blob) => blob.read(offset, len),
            Self::File(file) => file.read(offset, len),
        }
    }

    /// These bytes as a body.
    pub(crate) fn body(&self, range: Range<u64>) -> Body {
        let source = self.clone();
        Body::from_stream(futures_util::stream::unfold(Some(range), move |left| {
            let piece = left.filter(|range| !range.is_empty()).map(|range| {
                let len = (range.end - range.start).min(PIECE_BYTES as u64) as usize;
                let piece = source.read(range.start, len).and_then(|piece| match piece.len() {
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => Ok(piece),
                });
                let left = piece.as_ref().ok().map(|piece| range.start + piece.len() as u64..range.end);
                (piece, left)
            });
            std::future::ready(piece)
        }))
    }
}

/// What a `Range` header asks for, given the length.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// No header, or one to ignore: another unit, several ranges, or not a range at all.
    Whole,
    Part(Range<u64>),
    Unsatisfiable,
}

fn asked(value: &str, len: u64) -> Asked {
    let Some((first, last)) = value.strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Asked::Whole;
    };
    match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Err(_), Ok(suffix)) if first.trim().is_empty() => match suffix {
            0 => Asked::Unsatisfiable,
            _ if len == 0 => Asked::Unsatisfiable,
            suffix => Asked::Part(len.saturating_sub(suffix)..len),
        },
        (Ok(first), _) if first >= len => Asked::Unsatisfiable,
        (Ok(first), Ok(last)) if last >= first => Asked::Part(first..last.saturating_add(1).min(len)),
        (Ok(first), Err(_)) if last.trim().is_empty() => Asked::Part(first..len),
        _ => Asked::Whole,
    }
}

/// Answers GET and HEAD with 200, 206 or 416.
pub(crate) fn serve_bytes(method: &Method, request: &HeaderMap, source: &ByteSource) -> Response {
    let len = source.len();
    let (status, range) = match asked(header(request, "range"), len) {
        Asked::Whole => (StatusCode::OK, 0..len),
        Asked::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Asked::Unsatisfiable => {
            let content_range = [("content-range", format!("bytes */{len}"))];
            return (StatusCode::RANGE_NOT_SATISFIABLE, content_range, "Range Not Satisfiable").into_response();
        }
    };
    let body = if *method == Method::HEAD { Body::empty() } else { source.body(range.clone()) };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert("accept-ranges", HeaderValue::from_static("bytes"));
    headers.insert("content-length", HeaderValue::from(range.end - range.start));
    if status == StatusCode::PARTIAL_CONTENT
        && let Ok(value) = HeaderValue::from_str(&format!("bytes {}-{}/{len}", range.start, range.end - 1))
    {
        headers.insert("content-range", value);
    }
    response
}

/// Separates the parts of a multipart answer; random bytes do not hold it.
const BOUNDARY: &str = "hub-sim-8f1c0d7be2a94b53";

/// Answers a `Range` of several parts, all of which lie within the bytes, with `multipart/byteranges`.
pub(crate) fn serve_parts(method: &Method, range: &str, source: &ByteSource) -> Response {
    let len = source.len();
    let parts = range.strip_prefix("bytes=").unwrap_or_default().split(',');
    let parts: Option<Vec<Range<u64>>> = parts
        .map(|part| match asked(&format!("bytes={part}"), len) {
            Asked::Part(range) => Some(range),
            Asked::Whole | Asked::Unsatisfiable => None,
        })
        .collect();
    let Some(parts) = parts else {
        return (StatusCode::RANGE_NOT_SATISFIABLE, "Range Not Satisfiable").into_response();
    };
    let end = format!("\r\n--{BOUNDARY}--\r\n");
    let heads: Vec<String> = parts
        .iter()
        .map(|part| {
            let content_range = format!("bytes {}-{}/{len}", part.start, part.end - 1);
            format!(
                "\r\n--{BOUNDARY}\r\nContent-Type: application/octet-stream\r\nContent-Range: {content_range}\r\n\r\n"
            )
        })
        .collect();
    let content_length: u64 = parts.iter().map(|part| part.end - part.start).sum::<u64>()
        + heads.iter().map(|head| head.len() as u64).sum::<u64>()
        + end.len() as u64;
    let body = match *method {
        Method::HEAD => Body::empty(),
        _ => {
            let source = source.clone();
            let mut pieces: Vec<Body> = Vec::with_capacity(parts.len() * 2 + 1);
            for (head, part) in heads.into_iter().zip(parts) {
                pieces.push(Body::from(head));
                pieces.push(source.body(part));
            }
            pieces.push(Body::from(end));
            let streams = pieces.into_iter().map(Body::into_data_stream);
            Body::from_stream(futures_util::stream::iter(streams).flatten())
        }
    };
    let content_type = format!("multipart/byteranges; boundary={BOUNDARY}");
    let headers = [("content-type", content_type), ("content-length", content_length.to_string())];
    (StatusCode::PARTIAL_CONTENT, headers, body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_mean_what_rfc_9110_says() {
        let rows = [
            ("", Asked::Whole),
            ("bytes=0-0", Asked::Part(0..1)),
            ("bytes=0-99", Asked::Part(0..10)),
            ("bytes=3-", Asked::Part(3..10)),
            ("bytes=-4", Asked::Part(6..10)),
            ("bytes=-400", Asked::Part(0..10)),
            ("bytes=-0", Asked::Unsatisfiable),
            ("bytes=10-", Asked::Unsatisfiable),
            ("bytes=10-12", Asked::Unsatisfiable),
            ("bytes=5-4", Asked::Whole),
            ("bytes=0-1,4-5", Asked::Whole),
            ("items=0-1", Asked::Whole),
            ("bytes=x-1", Asked::Whole),
        ];
        for (value, expected) in rows {
            assert_eq!(asked(value, 10), expected, "{value}");
        }
        assert_eq!(asked("bytes=0-0", 0), Asked::Unsatisfiable);
        assert_eq!(asked("bytes=-5", 0), Asked::Unsatisfiable);
    }
}
