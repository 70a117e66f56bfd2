//! Carries one answer of a data host into the sink as it arrives. Asks nothing; stops reading where nothing more is wanted.

use super::Sink;
use super::decode::RunDecoder;
use super::fault::Fault;
use super::http::Carried;
use super::layout::DataRequest;
use super::multipart::MultipartReader;
use super::pace::Pace;
use super::stats::Counter;
use reqwest::Response;
use std::ops::Range;

/// What an answer still carries when all that is wanted has come is read up to this, since that keeps the connection;
/// above, a new connection is cheaper.
const DRAIN_BYTES_MAX: u64 = 64 << 10;

/// Carries the chunks of a data request that was answered with success.
pub(crate) async fn xorb_ranges(
    mut response: Response,
    carried: Carried,
    request: DataRequest,
    sink: &dyn Sink,
    counter: &Counter,
    pace: &Pace,
) -> Result<(), Fault> {
    let wire_bytes = request.wire_bytes();
    let ranges: Vec<_> = request.parts.iter().map(|(part, _)| part.bytes.clone()).collect();
    let mut runs: Vec<_> = request
        .parts
        .into_iter()
        .map(|(part, placements)| RunDecoder::new(part.chunks, part.bytes.end - part.bytes.start, placements))
        .collect();
    let mut multipart = match carried {
        Carried::Multi(content_type) => Some(MultipartReader::new(&content_type, ranges.into_iter())?),
        Carried::Single => None,
        // A data host may answer the signed range as if it were the whole.
        Carried::Whole if runs.len() == 1 && response.content_length() == Some(wire_bytes) => None,
        Carried::Whole => return Err(Fault::mismatch("another length than asked for")),
    };
    let mut out = |at: u64, content: &[u8]| sink.write(at, content);
    while let Some(bytes) = response.chunk().await? {
        sink.received(bytes.len());
        counter.received(bytes.len());
        match &mut multipart {
            Some(multipart) => multipart.push(&bytes, &mut |part, bytes| runs[part].push(bytes, &mut out))?,
            None => runs[0].push(&bytes, &mut out)?,
        }
        let left: u64 = runs.iter().map(RunDecoder::wire_left).sum();
        if left > DRAIN_BYTES_MAX && runs.iter().all(|run| run.wanted_left() == 0) {
            return Ok(());
        }
        pace.pay(bytes.len()).await;
    }
    if let Some(multipart) = multipart {
        multipart.finish()?;
    }
    runs.iter().try_for_each(RunDecoder::finish)
}

/// Carries bytes of the file itself: of `wanted`, from a body that starts at `body_at` in the file.
pub(crate) async fn plain_range(
    mut response: Response,
    body: Range<u64>,
    wanted: Range<u64>,
    sink: &dyn Sink,
    counter: &Counter,
    pace: &Pace,
) -> Result<(), Fault> {
    let mut at = body.start;
    while let Some(bytes) = response.chunk().await? {
        sink.received(bytes.len());
        counter.received(bytes.len());
        let end = at + bytes.len() as u64;
        if end > body.end {
            return Err(Fault::mismatch("more bytes than asked for"));
        }
        let (from, to) = (at.max(wanted.start), end.min(wanted.end));
        if from < to {
            sink.write(from, &bytes[(from - at) as usize..(to - at) as usize]);
        }
        at = end;
        if at >= wanted.end && body.end - at > DRAIN_BYTES_MAX {
            return Ok(());
        }
        pace.pay(bytes.len()).await;
    }
    if at == body.end { Ok(()) } else { Err(Fault::new(crate::ErrorKind::Connection, "the answer ended early")) }
}
