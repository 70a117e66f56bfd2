//! `status`: what is mounted, once or live. Asks the engines, never the Hub.

mod watch;

use crate::args::StatusArgs;
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::processes;
use std::time::Duration;
use weightless_control::{MountState, MountStatus};

/// Answered from memory.
const ANSWER_MS_MAX: u64 = 1_000;

pub(crate) fn run(args: &StatusArgs) -> Outcome {
    if args.watch {
        return watch::run();
    }
    // An engine that died left mounts that the next one brings back. One that does not answer is listed as silent.
    if let Err(fault) = processes::engine_if_needed(Duration::from_millis(ANSWER_MS_MAX)) {
        tracing::warn!("{fault}");
    }
    let mounts: Vec<MountStatus> = processes::all()?.into_iter().map(|known| known.status).collect();
    match Format::of(args.json) {
        Format::Json => output::json(&serde_json::json!({ "mounts": mounts })),
        Format::Text if mounts.is_empty() => {
            output::note("Nothing is mounted. Try: weightless mount Qwen/Qwen2.5-0.5B")
        }
        Format::Text => text(&mounts).iter().for_each(output::line),
    }
    Ok(())
}

fn text(mounts: &[MountStatus]) -> Vec<String> {
    let mut rows = vec![["REPO", "DIR", "STATE", "OPEN", "READ", "FETCHED"].map(String::from).to_vec()];
    for mount in mounts {
        rows.push(vec![
            title(mount),
            output::plain(&mount.dir),
            state(mount).to_owned(),
            mount.open_files.to_string(),
            output::size(mount.bytes_delivered),
            output::size(mount.bytes_fetched),
        ]);
    }
    let mut lines = output::table(&rows, &[3, 4, 5]);
    lines.extend(faults(mounts));
    lines
}

/// What is wrong with whom, in words.
fn faults(mounts: &[MountStatus]) -> impl Iterator<Item = String> {
    mounts.iter().filter_map(|mount| mount.fault.as_ref()).map(|fault| match fault.advice.is_empty() {
        true => output::plain(&format!("{fault}.")),
        false => output::plain(&format!("{fault}. {}", fault.advice)),
    })
}

fn title(mount: &MountStatus) -> String {
    let subfolder = if mount.subfolder.is_empty() { String::new() } else { format!("/{}", mount.subfolder) };
    output::plain(&format!("{}@{}{subfolder}", mount.repo, mount.revision))
}

fn state(mount: &MountStatus) -> &'static str {
    match mount.state {
        MountState::Starting => "starting",
        MountState::Ready if mount.is_paused => "paused",
        MountState::Ready => "ready",
        MountState::Failed => "failed",
        MountState::Stopping => "stopping",
        MountState::Silent => "not answering",
        MountState::Dead => "dead",
        MountState::Other => "unknown",
    }
}
