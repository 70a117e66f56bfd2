//! `status`: what is mounted. Asks each mount's process, never the Hub.

use crate::args::StatusArgs;
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::processes;
use weightless_control::{MountState, MountStatus};

pub(crate) fn run(args: &StatusArgs) -> Outcome {
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
        let subfolder = if mount.subfolder.is_empty() { String::new() } else { format!("/{}", mount.subfolder) };
        rows.push(vec![
            output::plain(&format!("{}@{}{subfolder}", mount.repo, mount.revision)),
            output::plain(&mount.dir),
            state(mount.state).to_owned(),
            mount.open_files.to_string(),
            output::size(mount.bytes_delivered),
            output::size(mount.bytes_fetched),
        ]);
    }
    let mut lines = output::table(&rows, &[3, 4, 5]);
    for fault in mounts.iter().filter_map(|mount| mount.fault.as_ref()) {
        lines.push(format!("{fault}. {}", fault.advice));
    }
    lines
}

fn state(state: MountState) -> &'static str {
    match state {
        MountState::Starting => "starting",
        MountState::Ready => "ready",
        MountState::Failed => "failed",
        MountState::Stopping => "stopping",
        MountState::Silent => "not answering",
        MountState::Dead => "dead",
        MountState::Other => "unknown",
    }
}
