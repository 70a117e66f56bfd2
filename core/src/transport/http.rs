//! What the transport's requests have in common: what a status means, how long to wait, how much of a body to take.
//! Follows no redirect and repeats nothing.

use super::fault::Fault;
use super::stats::Counter;
use crate::ErrorKind;
use reqwest::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use std::ops::Range;
use std::time::Duration;

/// Waits named by a header are cut here; a longer one is no answer that a reader can use.
const WAIT_S_MAX: u64 = 3600;

/// Takes the whole body, up to `bytes_max`.
pub(crate) async fn body(mut response: Response, bytes_max: usize, counter: &Counter) -> Result<Vec<u8>, Fault> {
    let announced = response.content_length().unwrap_or(0);
    if announced > bytes_max as u64 {
        return Err(Fault::protocol("an answer longer than allowed"));
    }
    let mut body = Vec::with_capacity(announced as usize);
    while let Some(bytes) = response.chunk().await? {
        counter.received(bytes.len());
        if body.len() + bytes.len() > bytes_max {
            return Err(Fault::protocol("an answer longer than allowed"));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// What a status that is no success means, whoever sent it; `refused` is what 401, 403, 404 and 410 mean there.
pub(crate) fn refusal(response: &Response, refused: ErrorKind) -> Fault {
    let status = response.status();
    let kind = match status.as_u16() {
        401 | 403 | 404 | 410 => refused,
        429 => ErrorKind::RateLimited,
        500..=599 => ErrorKind::HubDown,
        _ => ErrorKind::Protocol,
    };
    Fault::new(kind, format!("status {status}")).wait(wait_asked(response.headers()))
}

/// How long the answer asks to wait: `Retry-After` in seconds, else the reset of the Hub's `RateLimit` header (`t=`).
pub(crate) fn wait_asked(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let retry_after = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let reset = || text("ratelimit")?.split([';', ',']).find_map(|item| item.trim().strip_prefix("t=")?.parse().ok());
    retry_after.or_else(reset).map(|seconds: u64| Duration::from_secs(seconds.min(WAIT_S_MAX)))
}

/// How a success carries the ranges that were asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// The body is the one range asked for.
    Single,
    /// The body is `multipart/byteranges` with this content type.
    Multi(String),
    /// The body is the whole file.
    Whole,
}

/// Checks status, `Content-Range` and `Content-Length` of an answer to a range request for `asked` (end exclusive) of a
/// file of `total` bytes, where that is known.
pub(crate) fn carried(
    status: StatusCode,
    headers: &HeaderMap,
    content_length: Option<u64>,
    asked: &[Range<u64>],
    total: Option<u64>,
) -> Result<Carried, Fault> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(CONTENT_ENCODING).is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(Fault::protocol("an encoded answer"));
    }
    if status == StatusCode::OK {
        return Ok(Carried::Whole);
    }
    if status != StatusCode::PARTIAL_CONTENT {
        return Err(Fault::protocol(format!("status {status}")));
    }
    let content_type = text(CONTENT_TYPE).unwrap_or_default();
    if content_type.trim_start().to_ascii_lowercase().starts_with("multipart/byteranges") {
        return Ok(Carried::Multi(content_type.to_owned()));
    }
    let range = text(CONTENT_RANGE).and_then(super::multipart::parse_content_range);
    let [only] = asked else { return Err(Fault::protocol("one range where several were asked for")) };
    let Some((range, told)) = range.filter(|(range, _)| range == only) else {
        return Err(Fault::mismatch("another range than asked for"));
    };
    if told.is_some() && total.is_some() && told != total {
        return Err(Fault::mismatch("a file of another size"));
    }
    if content_length.is_some_and(|len| len != range.end - range.start) {
        return Err(Fault::mismatch("another length than asked for"));
    }
    Ok(Carried::Single)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, some of which have one")]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn an_answer_is_taken_only_for_what_was_asked() {
        let check = |status: u16, pairs: &[_], length, asked: &[Range<u64>], expected: Option<Carried>| {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(carried(status, &headers(pairs), length, asked, Some(100)).ok(), expected, "{status} {pairs:?}");
        };
        let one: &[_] = &[5..10];
        let two: &[_] = &[5..10, 20..30];
        let multi = "multipart/byteranges; boundary=x";
        check(206, &[("content-range", "bytes 5-9/100")], Some(5), one, Some(Carried::Single));
        check(206, &[("content-range", "bytes 5-9/100")], None, one, Some(Carried::Single));
        check(206, &[("content-range", "bytes 5-9/100")], Some(4), one, None);
        check(206, &[("content-range", "bytes 4-9/100")], Some(6), one, None);
        check(206, &[("content-range", "bytes 5-9/*")], Some(5), one, Some(Carried::Single));
        check(206, &[("content-range", "bytes 5-9/101")], Some(5), one, None);
        check(206, &[], Some(5), one, None);
        check(206, &[("content-range", "bytes 5-9/100")], Some(5), two, None);
        check(206, &[("content-type", multi)], None, two, Some(Carried::Multi(multi.into())));
        check(200, &[], Some(100), one, Some(Carried::Whole));
        check(200, &[("content-encoding", "gzip")], None, one, None);
        check(302, &[], None, one, None);
        check(416, &[], None, one, None);
    }

    #[test]
    fn the_wait_is_what_the_header_names() {
        let check = |pairs: &[_], seconds: Option<u64>| {
            assert_eq!(wait_asked(&headers(pairs)), seconds.map(Duration::from_secs), "{pairs:?}");
        };
        check(&[], None);
        check(&[("retry-after", "7")], Some(7));
        check(&[("retry-after", "Mon, 30 Nov 2026 00:00:00 GMT")], None);
        check(&[("ratelimit", "\"api\";r=0;t=42")], Some(42));
        check(&[("retry-after", "999999")], Some(WAIT_S_MAX));
    }
}
