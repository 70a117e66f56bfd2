//! `unmount`: takes mounts away, through their process where it answers, else through the system. Never touches a mount that
//! is not ours.

use crate::args::UnmountArgs;
use crate::exit::{Outcome, io_fault};
use crate::output::{self, Format};
use crate::processes::{self, Known, Via};
use crate::{paths, wanted};
use std::path::Path;
use std::time::Duration;
use weightless_control::{Fault, MountState, MountStatus, Unmount, UnmountManner};
use weightless_core::repo::RepoSpec;
use weightless_platform::mounts;

/// Unmounting ends what waits, which has its own bounds; beyond this the process hangs.
const UNMOUNT_MS_MAX: u64 = 20_000;

/// Whether an engine is there is answered from memory.
const ANSWER_MS_MAX: u64 = 1_000;

pub(crate) fn run(args: &UnmountArgs) -> Outcome {
    // An engine that died left mounts that the next one brings back: it must know that they are not wanted any more.
    if let Err(fault) = processes::engine_if_needed(Duration::from_millis(ANSWER_MS_MAX)) {
        tracing::warn!("{fault}");
    }
    let chosen = match &args.target {
        Some(target) => choose(target)?,
        None => processes::all()?,
    };
    // A command that was started in a mount must not be what keeps it busy. Every path is absolute by now; at the root nothing
    // of ours can be, and it is always there.
    std::env::set_current_dir("/").map_err(|error| io_fault("/", &error))?;
    let manner = match (args.lazy, args.force) {
        (true, _) => UnmountManner::Lazily,
        (_, true) => UnmountManner::Force,
        _ => UnmountManner::Refuse,
    };
    let format = Format::of(args.json);
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for known in &chosen {
        match unmount(known, manner) {
            Ok(()) => {
                output::note(format_args!("unmounted {}", known.status.dir));
                done.push(&known.status.dir);
            }
            Err(fault) => failed.push(fault),
        }
    }
    if format == Format::Json && failed.is_empty() {
        output::json(&serde_json::json!({ "unmounted": done }));
    }
    let Some(last) = failed.pop() else { return Ok(()) };
    for fault in failed {
        output::fault(&fault, Format::Text);
    }
    Err(last)
}

/// The one mount that `target` means.
pub(crate) fn choose_one(target: &str) -> Outcome<Known> {
    let mut chosen = choose(target)?;
    match chosen.len() {
        1 => Ok(chosen.remove(0)),
        count => Err(Fault::new("usage", format!("{target} is mounted {count} times")).advise("Name the folder.")),
    }
}

/// The mounts that `target` means: the one at this folder, else all of this repo (at this revision and folder, if named).
pub(crate) fn choose(target: &str) -> Outcome<Vec<Known>> {
    if let Ok(dir) = paths::absolute(Path::new(target))
        && let Some(known) = processes::at(&dir)?
    {
        return Ok(vec![known]);
    }
    let spec = spec(target);
    let is_of = |known: &Known| spec.as_ref().is_some_and(|spec| matches(&known.status, spec));
    let chosen: Vec<Known> = processes::all()?.into_iter().filter(is_of).collect();
    if chosen.is_empty() {
        return Err(Fault::new("not_mounted", format!("{target}: neither a mounted folder nor a mounted repo"))
            .advise("weightless status shows what is mounted."));
    }
    Ok(chosen)
}

fn spec(target: &str) -> Option<RepoSpec> {
    let hub = crate::args::HubArgs { endpoint: None, token_file: None };
    RepoSpec::parse(target, wanted::net(&hub).ok()?.endpoint()).ok()
}

fn matches(mount: &MountStatus, spec: &RepoSpec) -> bool {
    mount.repo == spec.repo.to_string()
        && spec.revision.as_ref().is_none_or(|revision| *revision == mount.revision)
        && spec.path.as_ref().is_none_or(|path| *path == mount.subfolder)
}

fn unmount(known: &Known, manner: UnmountManner) -> Outcome {
    let entry = match &known.via {
        Via::Socket(socket) => {
            let request = Unmount { dir: known.status.dir.clone(), manner };
            return processes::connect(socket, Duration::from_millis(UNMOUNT_MS_MAX))
                .and_then(|mut client| client.call(&request))
                .map(|_| ())
                .map_err(|error| error.into_fault());
        }
        Via::Table(entry) => entry,
    };
    let how = match (known.status.state, manner) {
        (MountState::Dead, _) | (_, UnmountManner::Lazily | UnmountManner::Force) => mounts::Unmount::Lazy,
        (MountState::Silent, UnmountManner::Refuse) => {
            let sentence = format!("{}: the process of this mount does not answer", known.status.dir);
            return Err(
                Fault::new("silent", sentence).advise("weightless unmount --lazy takes the folder away all the same.")
            );
        }
        (_, UnmountManner::Refuse) => mounts::Unmount::Strict,
    };
    processes::unmount(entry, how)
}
