//! Starts an engine that outlives the app, and waits until it can be asked.

use super::place;
use crate::texts;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use weightless_control::{Fault, MESSAGE_BYTES_MAX};

/// Starting takes a few hundred milliseconds; a machine that swaps takes longer.
const START_LIMIT: Duration = Duration::from_secs(30);

/// The line that `weightless engine --background` prints.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Report {
    /// What else there is to say.
    Ready(Vec<String>),
    Failed(Fault),
}

/// Starts an engine; one that is there already is as good.
pub(crate) fn start() -> Result<(), Fault> {
    let program = place::program()?;
    let mut child = Command::new(&program)
        .args(["engine", "--background"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| {
            Fault::new("engine_missing", format!("{}: {error}", program.display())).advise(texts::ENGINE_MISSING_ADVICE)
        })?;
    let report = child.stdout.take().map(|pipe| receive(pipe, START_LIMIT));
    reap(child);
    report.unwrap_or_else(|| Err(ended()))
}

/// Nobody else waits for it; one that stays for the engine's life ends with it.
fn reap(mut child: Child) {
    thread::spawn(move || child.wait());
}

/// Reads the report, on a thread of its own since a pipe knows no time.
fn receive(pipe: impl Read + Send + 'static, limit: Duration) -> Result<(), Fault> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(pipe.take(MESSAGE_BYTES_MAX as u64)).read_line(&mut line);
        // An error means that nobody waits any more.
        let _ = sender.send(read.ok().and_then(|_| serde_json::from_str(&line).ok()));
    });
    match receiver.recv_timeout(limit) {
        Ok(Some(Report::Ready(notes))) => {
            for note in notes {
                tracing::warn!("{note}");
            }
            Ok(())
        }
        Ok(Some(Report::Failed(fault))) => Err(fault),
        Ok(None) => Err(ended()),
        Err(_) => Err(Fault::new("silent", texts::ENGINE_SILENT)),
    }
}

fn ended() -> Fault {
    Fault::new("internal", texts::ENGINE_ENDED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn what_an_engine_reports_is_understood_and_nonsense_is_an_error() {
        #[track_caller]
        fn check(says: &'static str, expected: Result<(), &str>) {
            let outcome = receive(says.as_bytes(), Duration::from_secs(60));
            assert_eq!(outcome.map_err(|fault| fault.code), expected.map_err(str::to_owned), "{says}");
        }
        check("{\"ready\":[\"a dead mount was cleared\"]}\n", Ok(()));
        check("{\"failed\":{\"code\":\"driver_missing\",\"sentence\":\"no fuse\"}}\n", Err("driver_missing"));
        check("", Err("internal"));
        check("error: unrecognised subcommand\n", Err("internal"));
    }

    #[test]
    fn an_engine_that_says_nothing_is_not_waited_for_for_ever() {
        struct Silent(mpsc::Receiver<()>);
        impl Read for Silent {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                let _ = self.0.recv();
                Ok(0)
            }
        }
        let (_open, silent) = mpsc::channel();
        assert_eq!(receive(Silent(silent), Duration::ZERO).unwrap_err().code, "silent");
    }
}
