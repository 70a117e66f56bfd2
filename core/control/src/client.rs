//! The blocking client. One call at a time, each within the deadline given at connecting. Starts no engine and tries nothing
//! twice.
//!
//! Blocking, because its users are a command that exits after one call and a tray whose calls run on a worker thread;
//! neither wants a runtime for it.

use crate::events::EventMessage;
use crate::hello::Hello;
use crate::lines::{LineError, Lines};
use crate::message::{Id, Incoming, Method, Reply, Request, RpcError};
use crate::{Fault, Welcome};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use thiserror::Error;

/// Events that came while a reply was waited for, kept at most; the oldest go.
const EVENTS_KEPT_MAX: usize = 256;

/// A connection whose version is settled.
#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    lines: Lines,
    last_id: u64,
    welcome: Welcome,
    events: VecDeque<EventMessage>,
}

/// Why a call has no result.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody listens, the connection broke, or no answer came in time.
    #[error("the engine does not answer")]
    Io(#[from] io::Error),
    /// The other side sent something that is no reply of this protocol.
    #[error("the engine answers in a way this version does not understand")]
    Protocol,
    /// The other side refused the request.
    #[error(transparent)]
    Refused(RpcError),
}

impl ClientError {
    /// The error in words.
    pub fn into_fault(self) -> Fault {
        match self {
            ClientError::Refused(RpcError { data: Some(fault), .. }) => *fault,
            ClientError::Refused(error) => Fault::new("protocol", error.message),
            ClientError::Io(_) => Fault::new("silent", self.to_string()),
            ClientError::Protocol => Fault::new("protocol", self.to_string()),
        }
    }
}

impl From<LineError> for ClientError {
    fn from(error: LineError) -> Self {
        match error {
            LineError::Half => ClientError::Io(io::ErrorKind::UnexpectedEof.into()),
            LineError::TooLong => ClientError::Protocol,
        }
    }
}

impl<S: Read + Write> Client<S> {
    /// Says hello over a stream that is connected; its reads should time out.
    pub fn start(stream: S, hello: &Hello) -> Result<Self, ClientError> {
        let welcome = Welcome { protocol: 0, version: String::new(), pid: 0 };
        let mut client = Client { stream, lines: Lines::default(), last_id: 0, welcome, events: VecDeque::new() };
        client.welcome = client.call(hello)?;
        Ok(client)
    }

    /// What the other side said about itself.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Sends a request and waits for its reply. Events that come first are kept for [`Client::next_event`].
    pub fn call<M: Method>(&mut self, params: &M) -> Result<M::Reply, ClientError> {
        self.last_id += 1;
        self.stream.write_all(&Request::line(self.last_id, params))?;
        let reply = self.reply()?;
        // An error without an id answers a line that the other side could not read, which can only be ours.
        match reply.outcome {
            Err(error) => Err(ClientError::Refused(error)),
            Ok(_) if reply.id != Some(Id::Number(self.last_id)) => Err(ClientError::Protocol),
            Ok(result) => serde_json::from_value(result).map_err(|_| ClientError::Protocol),
        }
    }

    /// The next event of a stream that [`Subscribe`](crate::Subscribe) started.
    pub fn next_event(&mut self) -> Result<EventMessage, ClientError> {
        if let Some(event) = self.events.pop_front() {
            return Ok(event);
        }
        match Incoming::parse(&self.line()?) {
            Some(Incoming::Event(event)) => Ok(event),
            _ => Err(ClientError::Protocol),
        }
    }

    fn reply(&mut self) -> Result<Reply, ClientError> {
        loop {
            match Incoming::parse(&self.line()?).ok_or(ClientError::Protocol)? {
                Incoming::Reply(reply) => return Ok(reply),
                Incoming::Event(event) => {
                    if self.events.len() == EVENTS_KEPT_MAX {
                        self.events.pop_front();
                    }
                    self.events.push_back(event);
                }
            }
        }
    }

    fn line(&mut self) -> Result<Vec<u8>, ClientError> {
        let mut piece = [0; 16 << 10];
        loop {
            if let Some(line) = self.lines.take()? {
                return Ok(line);
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) => self.lines.push(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(unix)]
pub use unix::DeadlineStream;

#[cfg(unix)]
mod unix {
    use super::{Client, ClientError};
    use crate::hello::Hello;
    use std::io::{self, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::time::{Duration, Instant};

    /// This module performs I/O, and a socket's timeouts are relative: somebody here has to look at the clock.
    #[expect(clippy::disallowed_methods, reason = "a deadline of blocking I/O, beside the I/O")]
    fn now() -> Instant {
        Instant::now()
    }

    /// A Unix socket whose reads and writes all end at one moment, also when bytes drip in one by one.
    #[derive(Debug)]
    pub struct DeadlineStream {
        stream: UnixStream,
        deadline: Instant,
    }

    impl Client<DeadlineStream> {
        /// Connects to the socket at `path`; everything on this connection ends within `limit`. Connecting itself waits
        /// only for a listener whose queue is full.
        pub fn connect(path: &Path, hello: &Hello, limit: Duration) -> Result<Self, ClientError> {
            let deadline = now() + limit;
            Client::start(DeadlineStream { stream: UnixStream::connect(path)?, deadline }, hello)
        }
    }

    impl Client<DeadlineStream> {
        /// From now on, everything on this connection ends within `limit`.
        pub fn set_limit(&mut self, limit: Duration) {
            self.stream.deadline = now() + limit;
        }
    }

    impl DeadlineStream {
        fn left(&self) -> io::Result<Duration> {
            let left = self.deadline.saturating_duration_since(now());
            if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
        }
    }

    impl Read for DeadlineStream {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.stream.set_read_timeout(Some(self.left()?))?;
            self.stream.read(into)
        }
    }

    impl Write for DeadlineStream {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.stream.set_write_timeout(Some(self.left()?))?;
            self.stream.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Status, Subscribe, Unmount, UnmountManner};

    /// Plays a server: what it will say is written down beforehand, what it was told is kept.
    struct Script {
        says: io::Cursor<Vec<u8>>,
        told: Vec<u8>,
    }

    impl Read for Script {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            // Three bytes at a time: a reply arrives in any pieces.
            let most = into.len().min(3);
            self.says.read(&mut into[..most])
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.told.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const WELCOME: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocol":1,"version":"0.1.0","pid":9}}"#;

    fn connect(says: &str) -> Result<Client<Script>, ClientError> {
        let script = Script { says: io::Cursor::new(says.as_bytes().to_vec()), told: Vec::new() };
        Client::start(script, &Hello::new("test"))
    }

    #[test]
    fn hello_comes_first_and_calls_are_numbered() {
        let second = r#"{"jsonrpc":"2.0","id":2,"result":{"engine":{"pid":9,"version":"0.1.0"},"mounts":[]}}"#;
        let mut client = connect(&format!("{WELCOME}\n{second}\n")).unwrap();
        assert_eq!(client.welcome().pid, 9);
        assert!(client.call(&Status {}).unwrap().mounts.is_empty());
        let told = String::from_utf8(client.stream.told).unwrap();
        let methods: Vec<_> = told.lines().map(|line| Request::parse(line.as_bytes()).unwrap().id).collect();
        assert_eq!(methods, [Id::Number(1), Id::Number(2)]);
    }

    #[test]
    fn a_refusal_keeps_code_sentence_and_advice() {
        let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"m","data":{"code":"mount_point_busy","sentence":"busy","advice":"close"}}}"#;
        let mut client = connect(&format!("{WELCOME}\n{error}\n")).unwrap();
        let fault = client
            .call(&Unmount { dir: "/m".into(), manner: UnmountManner::Refuse })
            .map(|_| ())
            .unwrap_err()
            .into_fault();
        assert_eq!(fault, Fault::new("mount_point_busy", "busy").advise("close"));
    }

    #[test]
    fn events_between_request_and_reply_are_kept_in_order() {
        let event = |dir: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"event","params":{{"lost":0,"event":{{"kind":"mount_gone","dir":"{dir}"}}}}}}"#
            )
        };
        let reply = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
        let mut client =
            connect(&format!("{WELCOME}\n{}\n{}\n{reply}\n{}\n", event("a"), event("b"), event("c"))).unwrap();
        client.call(&Subscribe { stats_ms: None }).unwrap();
        for dir in ["a", "b", "c"] {
            assert_eq!(client.next_event().unwrap().event, Event::MountGone { dir: dir.into() });
        }
        assert_eq!(client.next_event().unwrap_err().into_fault().code, "silent");
    }

    #[test]
    fn a_server_that_makes_no_sense_is_an_error_and_never_a_hang() {
        #[track_caller]
        fn check(says: &str, code: &str) {
            let fault = connect(says).map(|_| ()).unwrap_err().into_fault();
            assert_eq!(fault.code, code, "{says}");
        }
        check("", "silent");
        check(r#"{"jsonrpc":"2.0""#, "silent");
        check("hello\n", "protocol");
        check("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n", "protocol");
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", "protocol");
        check(&"x".repeat(crate::MESSAGE_BYTES_MAX + 1), "protocol");
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32001,\"message\":\"no common protocol\"}}\n",
            "protocol",
        );
    }
}
