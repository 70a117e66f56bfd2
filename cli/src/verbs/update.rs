//! `update`: moves mounts to the commits that their branches stand for now.

use crate::args::UpdateArgs;
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::processes::{self, Known, Via};
use crate::verbs::unmount::choose;
use std::time::Duration;
use weightless_control::{ClientError, Fault, MountStatus, UpdateMount};

/// The Hub is asked as for a mount.
const UPDATE_MS_MAX: u64 = 70_000;

pub(crate) fn run(args: &UpdateArgs) -> Outcome {
    let chosen: Vec<Known> = match &args.target {
        Some(target) => choose(target)?,
        None => processes::all()?.into_iter().filter(|known| known.status.update.is_some()).collect(),
    };
    if chosen.is_empty() {
        output::note("No mount is known to have a newer commit. weightless update DIR asks the Hub for one.");
    }
    let mut moved = Vec::new();
    let mut failed = Vec::new();
    for known in &chosen {
        match update(known) {
            Ok(mount) => {
                output::note(words(&known.status, &mount));
                moved.push(mount);
            }
            Err(fault) => failed.push(fault),
        }
    }
    if Format::of(args.json) == Format::Json && failed.is_empty() {
        output::json(&serde_json::json!({ "mounts": moved }));
    }
    let Some(last) = failed.pop() else { return Ok(()) };
    for fault in failed {
        output::fault(&fault, Format::Text);
    }
    Err(last)
}

fn update(known: &Known) -> Outcome<MountStatus> {
    let Via::Socket(socket) = &known.via else {
        return Err(Fault::new("silent", format!("{}: the process of this mount does not answer", known.status.dir)));
    };
    let request = UpdateMount { dir: known.status.dir.clone() };
    processes::connect(socket, Duration::from_millis(UPDATE_MS_MAX))
        .and_then(|mut client| client.call(&request))
        .map_err(ClientError::into_fault)
}

fn words(before: &MountStatus, now: &MountStatus) -> String {
    let commit = now.commit.get(..8).unwrap_or(&now.commit);
    let verb = if before.commit == now.commit { "is at its newest commit" } else { "shows a newer commit now" };
    format!("{}@{} {verb}, {commit}", now.repo, now.revision)
}
