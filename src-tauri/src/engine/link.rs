//! A connection to the engine. Requests do not wait for each other: a reply finds whoever asked by its number. Starts nothing
//! and tries nothing twice.
//!
//! Replies and events are handed over on one thread in the order in which the engine wrote them, so that a `status` and the
//! changes after it cannot be mixed up.

use super::place::{Stream, shut};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use weightless_control::{ClientError, EventMessage, Fault, Id, Incoming, Lines, Method, Reply, Request};

/// What is done with an answer. Runs on the connection's thread: it must not wait.
type Answer = Box<dyn FnOnce(Result<Value, Fault>) + Send>;

/// A connection. It ends when it is dropped by all, when it is closed, or when the engine goes; then every request that has
/// no answer gets a fault.
pub(crate) struct Link {
    stream: Stream,
    /// Held while a line is written, so that lines do not mix; std because writing is bounded.
    writer: Mutex<Stream>,
    /// Held for a lookup only.
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    last_id: u64,
    answers: HashMap<u64, Answer>,
    is_over: bool,
}

impl Link {
    /// Takes a connection over. `on_end` is called once, after the last answer.
    pub(crate) fn open(
        stream: Stream,
        on_event: impl Fn(EventMessage) + Send + 'static,
        on_end: impl FnOnce() + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let writer = Mutex::new(stream.try_clone()?);
        let reader = stream.try_clone()?;
        let link = Arc::new(Link { stream, writer, asked: Mutex::default() });
        let of_reader = link.clone();
        thread::Builder::new().name("engine-link".into()).spawn(move || {
            of_reader.read(reader, &on_event);
            of_reader.end();
            on_end();
        })?;
        Ok(link)
    }

    /// Asks by name, as the window does.
    pub(crate) fn send(
        &self,
        method: &str,
        params: &Value,
        answer: impl FnOnce(Result<Value, Fault>) + Send + 'static,
    ) {
        let id = {
            let mut asked = self.asked();
            if asked.is_over {
                drop(asked);
                return answer(Err(gone()));
            }
            asked.last_id += 1;
            let id = asked.last_id;
            asked.answers.insert(id, Box::new(answer));
            id
        };
        let line = Request::line_of(id, method, params);
        let written = self.writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
        if written.is_err() {
            // Half a line may be out, so nothing can follow it.
            self.close();
        }
    }

    /// Asks with the protocol's own types.
    pub(crate) fn ask<M: Method>(&self, params: &M, answer: impl FnOnce(Result<M::Reply, Fault>) + Send + 'static) {
        let params = serde_json::to_value(params).unwrap_or_default();
        self.send(M::NAME, &params, |outcome| {
            answer(
                outcome
                    .and_then(|result| serde_json::from_value(result).map_err(|_| ClientError::Protocol.into_fault())),
            );
        });
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        shut(&self.stream);
    }

    fn read(&self, mut stream: Stream, on_event: &impl Fn(EventMessage)) {
        let mut lines = Lines::default();
        let mut piece = [0; 16 << 10];
        loop {
            match stream.read(&mut piece) {
                Ok(count) if count > 0 => lines.push(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                _ => return,
            }
            loop {
                match lines.take() {
                    Ok(Some(line)) => self.take(&line, on_event),
                    Ok(None) => break,
                    Err(error) => return tracing::warn!(%error, "the engine is not understood"),
                }
            }
        }
    }

    fn take(&self, line: &[u8], on_event: &impl Fn(EventMessage)) {
        match Incoming::parse(line) {
            Some(Incoming::Event(event)) => on_event(event),
            Some(Incoming::Reply(Reply { id: Some(Id::Number(id)), outcome })) => {
                let answer = self.asked().answers.remove(&id);
                if let Some(answer) = answer {
                    answer(outcome.map_err(|error| ClientError::Refused(error).into_fault()));
                }
            }
            _ => tracing::warn!("the engine said something that is neither a reply nor an event"),
        }
    }

    fn end(&self) {
        let answers = {
            let mut asked = self.asked();
            asked.is_over = true;
            std::mem::take(&mut asked.answers)
        };
        for answer in answers.into_values() {
            answer(Err(gone()));
        }
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The engine went before it answered.
pub(crate) fn gone() -> Fault {
    ClientError::Io(io::ErrorKind::NotConnected.into()).into_fault()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::{BufRead, BufReader};
    use std::sync::mpsc::{Receiver, channel};
    use weightless_control::{Event, Status};

    struct Engine {
        lines: BufReader<Stream>,
        stream: Stream,
    }

    impl Engine {
        fn next(&mut self) -> Value {
            let mut line = String::new();
            self.lines.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        }
        fn say(&mut self, value: &Value) {
            self.stream.write_all(format!("{value}\n").as_bytes()).unwrap();
        }
    }

    /// A link, the engine at its other end, and what the link tells: events' kinds, then `end`.
    fn pair() -> (Arc<Link>, Engine, Receiver<String>) {
        let (ours, theirs) = Stream::pair().unwrap();
        let (told, heard) = channel();
        let end = told.clone();
        let on_event = move |message: EventMessage| match message.event {
            Event::MountGone { dir } => told.send(dir).unwrap(),
            _ => told.send("other".into()).unwrap(),
        };
        let link = Link::open(ours, on_event, move || end.send("end".into()).unwrap()).unwrap();
        (link, Engine { lines: BufReader::new(theirs.try_clone().unwrap()), stream: theirs }, heard)
    }

    #[test]
    fn replies_find_who_asked_in_any_order_and_events_go_on_meanwhile() {
        let (link, mut engine, heard) = pair();
        let (sender, answers) = channel();
        for name in ["first", "second"] {
            let sender = sender.clone();
            link.send(name, &json!({}), move |outcome| sender.send((name, outcome)).unwrap());
        }
        let asked = [engine.next(), engine.next()];
        assert_eq!((&asked[0]["method"], &asked[1]["method"]), (&json!("first"), &json!("second")));
        engine.say(&json!({"jsonrpc":"2.0","id":asked[1]["id"],"result":2}));
        engine.say(
            &json!({"jsonrpc":"2.0","method":"event","params":{"lost":0,"event":{"kind":"mount_gone","dir":"/m"}}}),
        );
        engine.say(&json!({"jsonrpc":"2.0","id":asked[0]["id"],"error":{"code":-32000,"message":"no",
            "data":{"code":"gated","sentence":"no"}}}));
        assert_eq!(answers.recv().unwrap(), ("second", Ok(json!(2))));
        assert_eq!(heard.recv().unwrap(), "/m");
        assert_eq!(answers.recv().unwrap(), ("first", Err(Fault::new("gated", "no"))));
    }

    #[test]
    fn an_engine_that_goes_leaves_nobody_waiting() {
        let (link, engine, heard) = pair();
        let (sender, answers) = channel();
        let later = sender.clone();
        link.ask(&Status {}, move |outcome| sender.send(outcome.unwrap_err().code).unwrap());
        drop(engine);
        assert_eq!(answers.recv().unwrap(), "silent");
        assert_eq!(heard.recv().unwrap(), "end");
        link.ask(&Status {}, move |outcome| later.send(outcome.unwrap_err().code).unwrap());
        assert_eq!(answers.recv().unwrap(), "silent");
    }

    #[test]
    fn a_reply_of_another_shape_is_a_fault_and_nonsense_harms_nobody() {
        let (link, mut engine, _heard) = pair();
        let (sender, answers) = channel();
        link.ask(&Status {}, move |outcome| sender.send(outcome.unwrap_err().code).unwrap());
        let id = engine.next()["id"].clone();
        engine.say(&json!("nonsense"));
        engine.say(&json!({"jsonrpc":"2.0","id":99,"result":{}}));
        engine.say(&json!({"jsonrpc":"2.0","id":id,"result":{"mounts":7}}));
        assert_eq!(answers.recv().unwrap(), "protocol");
    }
}
