//! `pause` and `resume`: of all network, or of one mount.

use crate::args::PauseArgs;
use crate::exit::Outcome;
use crate::output;
use crate::processes::{self, Via};
use crate::verbs::unmount::choose_one;
use std::time::Duration;
use weightless_control::upkeep::Pause;
use weightless_control::{ClientError, Fault, SetMount};

/// Both are answered from memory.
const ANSWER_MS_MAX: u64 = 5_000;

pub(crate) fn run(args: &PauseArgs, paused: bool) -> Outcome {
    let limit = Duration::from_millis(ANSWER_MS_MAX);
    let done = if paused { "paused" } else { "resumed" };
    let Some(target) = &args.target else {
        let mut client = match processes::engine_if_needed(limit)? {
            Some(client) => client,
            // It stays to remember it, so that nothing that is mounted later uses the network.
            None if paused => processes::engine(limit)?,
            None => {
                output::note("No engine runs, so nothing is paused.");
                return Ok(());
            }
        };
        client.call(&Pause { paused }).map_err(ClientError::into_fault)?;
        output::note(format_args!("all network is {done}"));
        return Ok(());
    };
    let known = choose_one(target)?;
    let Via::Socket(socket) = &known.via else {
        return Err(Fault::new("silent", format!("{}: the process of this mount does not answer", known.status.dir)));
    };
    let request = SetMount { dir: known.status.dir.clone(), paused: Some(paused), ..SetMount::default() };
    processes::connect(socket, limit).and_then(|mut client| client.call(&request)).map_err(ClientError::into_fault)?;
    output::note(format_args!("{} is {done}", known.status.dir));
    Ok(())
}
