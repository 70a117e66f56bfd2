//! What the Hub, the CAS and the data host share in speaking HTTP: addresses, ranges, bodies, refusals.
//! Never knows a repo's rights.

mod body;
mod path;
mod refusal;

pub(crate) use body::{ByteSource, serve_bytes, serve_parts};
pub(crate) use path::{Query, encode_path, encode_segment, segments};
pub(crate) use refusal::{Refusal, json};

use http::HeaderMap;

/// A header's text; empty if it is absent or not text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
