//! `engine`: the process that owns the mounts. Without a command it is that process.

use crate::args::{EngineArgs, EngineVerb, ReaderArgs};
use crate::engine::lock::Lock;
use crate::engine::ready::{self, Report};
use crate::engine::{self, Options};
use crate::exit::{Outcome, io_fault};
use crate::{log, output, paths, processes};
use std::io;
use std::time::Duration;
use weightless_control::upkeep::{Diagnose, Stop};
use weightless_control::{ClientError, Fault};

/// Unmounting everything ends what waits, which has its own bounds.
const STOP_MS_MAX: u64 = 30_000;
/// Hello is answered from memory.
const ANSWER_MS_MAX: u64 = 1_000;
/// How much of the log's end is printed.
const LOG_BYTES: u64 = 64 << 10;

pub(crate) fn run(args: &EngineArgs) -> Outcome {
    match &args.what {
        None if args.background => in_background(),
        None => in_terminal(),
        Some(EngineVerb::Stop { force }) => stop(*force, false),
        Some(EngineVerb::Restart { force }) => {
            stop(*force, true)?;
            let client = processes::engine(Duration::from_millis(STOP_MS_MAX))?;
            output::note(format_args!("the engine runs again, as process {}", client.welcome().pid));
            Ok(())
        }
        Some(EngineVerb::Log) => print_log(),
        Some(EngineVerb::Diagnostics) => {
            let mut client = processes::engine(Duration::from_millis(STOP_MS_MAX))?;
            output::line(client.call(&Diagnose {}).map_err(ClientError::into_fault)?.text);
            Ok(())
        }
    }
}

/// The engine as clients start it: a session of its own, its story in a file.
fn in_background() -> Outcome {
    // Neither Ctrl-C nor the end of the terminal is meant for it.
    if let Err(error) = nix::unistd::setsid() {
        tracing::warn!(%error, "no session of its own");
    }
    let outcome = live(|notes| {
        ready::send(&Report::Ready(notes), io::stdout().lock())
            .and_then(|()| Ok(nix::unistd::dup2_stdout(io::stderr())?))
            .map_err(|error| io_fault("nobody waits for this engine", &error))
    });
    if let Err(fault) = &outcome {
        tracing::error!(code = fault.code, "{fault}");
        // Whoever started it is waiting for this, or gone.
        let _ = ready::send(&Report::Failed(fault.clone()), io::stdout().lock());
    }
    outcome
}

fn in_terminal() -> Outcome {
    if processes::connect(&paths::runtime_dir()?.join(paths::ENGINE_SOCKET), Duration::from_millis(ANSWER_MS_MAX))
        .is_ok()
    {
        output::note("The engine runs already: weightless status shows its mounts, weightless engine stop ends it.");
        return Ok(());
    }
    live(|notes| {
        notes.iter().for_each(output::note);
        output::note("The engine runs; Ctrl-C unmounts everything and ends it.");
        Ok(())
    })
}

fn live(announce: impl FnOnce(Vec<String>) -> Outcome) -> Outcome {
    let log_path = paths::log_file()?;
    log::turn(&log_path);
    match Lock::take()? {
        Some(_lock) => {
            let options = Options::for_user(log_path, ReaderArgs::default().overrides())?;
            engine::run(&options, |_, notes| announce(notes))
        }
        // Whoever wanted one has one.
        None => announce(Vec::new()),
    }
}

/// Ends the engine as it is asked to; by force also one that does not answer, or does not end.
fn stop(force: bool, keep_mounts: bool) -> Outcome {
    let ended = match ask_to_stop(force, keep_mounts) {
        Err(fault) if fault.code == "silent" && force => {
            output::note(format_args!("{fault}; ending it"));
            processes::end_unanswering(keep_mounts)?
        }
        outcome => outcome?,
    };
    output::note(if ended { "The engine has ended." } else { "No engine runs." });
    Ok(())
}

/// `false`: there is none.
fn ask_to_stop(force: bool, keep_mounts: bool) -> Outcome<bool> {
    let limit = Duration::from_millis(STOP_MS_MAX);
    let Some(mut client) = processes::engine_if_needed(limit)? else { return Ok(false) };
    client.call(&Stop { force, keep_mounts }).map_err(ClientError::into_fault)?;
    // It closes the connection last.
    match client.next_event() {
        Err(ClientError::Io(error))
            if error.kind() != io::ErrorKind::TimedOut && error.kind() != io::ErrorKind::WouldBlock => {}
        _ => return Err(Fault::new("silent", "the engine does not end")),
    }
    Lock::wait(limit)?;
    Ok(true)
}

fn print_log() -> Outcome {
    let path = paths::log_file()?;
    match log::tail(&path, LOG_BYTES) {
        Ok(text) => text.lines().for_each(output::line),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io_fault(path.display(), &error)),
    }
    output::note(path.display());
    Ok(())
}
