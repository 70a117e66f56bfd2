//! How an engine in the background tells whoever started it how that went: one JSON line on its standard output, which is a
//! pipe until then and the log afterwards.

use crate::exit::Outcome;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use weightless_control::{Fault, MESSAGE_BYTES_MAX};

/// How the start went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// An engine answers: this one, or one that was there already. What there is to say of the start, a sentence each.
    Ready(Vec<String>),
    /// None does.
    Failed(Fault),
}

/// Writes the report. Fails if nobody reads it any more.
pub(crate) fn send(report: &Report, mut pipe: impl Write) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    pipe.write_all(&line)?;
    pipe.flush()
}

/// Waits for the report, at most `limit`. `None`: no report in that time.
pub(crate) fn receive(pipe: impl Read + Send + 'static, limit: Duration) -> Option<Outcome<Vec<String>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(pipe.take(MESSAGE_BYTES_MAX as u64)).read_line(&mut line);
        let _ = sender.send(read.ok().and_then(|_| serde_json::from_str::<Report>(&line).ok()));
    });
    let report = receiver.recv_timeout(limit).ok()?;
    Some(match report {
        Some(Report::Ready(notes)) => Ok(notes),
        Some(Report::Failed(fault)) => Err(fault),
        None => Err(Fault::new("internal", "the engine ended before it was ready")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn a_report_arrives_as_it_was_sent() {
        let (host, parent) = UnixStream::pair().unwrap();
        let fault = Fault::new("gated", "a/b: no").advise("accept");
        send(&Report::Failed(fault.clone()), host).unwrap();
        assert_eq!(receive(parent, LIMIT), Some(Err(fault)));
    }

    #[test]
    fn a_host_that_dies_or_babbles_is_an_error_and_a_silent_one_no_hang() {
        let code = |outcome: Option<Outcome<Vec<String>>>| outcome.unwrap().unwrap_err().code;
        assert_eq!(code(receive(io::empty(), LIMIT)), "internal");
        assert_eq!(code(receive(&b"thread panicked"[..], LIMIT)), "internal");
        assert_eq!(code(receive(io::repeat(b'x'), LIMIT)), "internal");
        let (_host, parent) = UnixStream::pair().unwrap();
        assert_eq!(receive(parent, Duration::ZERO), None);
    }

    #[test]
    fn a_host_notices_that_nobody_waits() {
        let (host, parent) = UnixStream::pair().unwrap();
        drop(parent);
        assert!(send(&Report::Failed(Fault::new("x", "y")), host).is_err());
    }
}
