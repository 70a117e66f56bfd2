//! `status`: what is mounted, once or live. Asks the engines, never the Hub.

mod watch;

use crate::args::StatusArgs;
use crate::exit::Outcome;
use crate::output;
use crate::processes::{self, Known};
use crate::verbs::folder::problems;
use std::time::Duration;
use weightless_control::{EngineStatus, Fault, FolderStatus, MountState, MountStatus, StoreStatus};

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
    let (engine, known) = processes::all_of_engines()?;
    let (folders, mounts): (Vec<Known>, Vec<Known>) = known.into_iter().partition(|known| known.folder.is_some());
    let mounts: Vec<MountStatus> = mounts.into_iter().map(|known| known.status).collect();
    let folder = folders.into_iter().find_map(|known| known.folder);
    if args.json {
        let mut all = serde_json::json!({ "engine": engine, "mounts": mounts });
        if let Some(folder) = folder {
            all["folder"] = serde_json::json!(folder);
        }
        output::json(&all);
        return Ok(());
    }
    if mounts.is_empty() && folder.is_none() {
        output::note("Nothing is mounted. Try: weightless mount Qwen/Qwen2.5-0.5B");
    }
    if !mounts.is_empty() {
        text(&mounts).iter().for_each(output::line);
        engine.iter().filter_map(|engine| engine.store.as_deref()).map(kept).for_each(output::note);
    }
    folder.iter().flat_map(about).for_each(output::line);
    engine.iter().flat_map(notes).for_each(output::note);
    Ok(())
}

/// What is to be said of the Hub folder.
fn about(folder: &FolderStatus) -> Vec<String> {
    let state = match folder.state {
        MountState::Ready => String::new(),
        state => format!(" ({})", word(state)),
    };
    let mut lines = vec![output::plain(&format!("Hub folder: {}{state}", folder.dir))];
    lines.extend(folder.fault.as_ref().map(in_words));
    lines.extend(problems(folder));
    lines
}

/// What is to know beyond single mounts.
fn notes(engine: &EngineStatus) -> Vec<String> {
    let paused = engine.is_paused.then(|| "All network is paused. weightless resume ends the pause.".to_owned());
    paused.into_iter().chain(engine.faults.iter().map(in_words)).collect()
}

/// How much is kept on this device.
fn kept(store: &StoreStatus) -> String {
    format!("{} of {} kept on this device", output::size(store.used_bytes), output::size(store.max_bytes))
}

fn text(mounts: &[MountStatus]) -> Vec<String> {
    let mut rows = vec![["REPO", "DIR", "STATE", "OPEN", "READ", "FETCHED", "FROM DISK"].map(String::from).to_vec()];
    for mount in mounts {
        rows.push(vec![
            title(mount),
            output::plain(&mount.dir),
            state(mount).to_owned(),
            mount.open_files.to_string(),
            output::size(mount.bytes_delivered),
            output::size(mount.bytes_fetched),
            output::size(mount.bytes_from_store + mount.bytes_from_hub_cache),
        ]);
    }
    let mut lines = output::table(&rows, &[3, 4, 5, 6]);
    lines.extend(mounts.iter().filter_map(update));
    lines.extend(faults(mounts));
    lines
}

/// That there is a newer commit than the one that is shown.
fn update(mount: &MountStatus) -> Option<String> {
    let commit = mount.update.as_deref()?;
    let commit = commit.get(..8).unwrap_or(commit);
    let line = format!("{} has a newer commit, {commit}. weightless update {} shows it.", title(mount), mount.dir);
    Some(output::plain(&line))
}

/// What is wrong with whom, in words.
fn faults(mounts: &[MountStatus]) -> impl Iterator<Item = String> {
    mounts.iter().filter_map(|mount| mount.fault.as_ref()).map(in_words)
}

fn in_words(fault: &Fault) -> String {
    match fault.advice.is_empty() {
        true => output::plain(&format!("{fault}.")),
        false => output::plain(&format!("{fault}. {}", fault.advice)),
    }
}

fn title(mount: &MountStatus) -> String {
    let subfolder = if mount.subfolder.is_empty() { String::new() } else { format!("/{}", mount.subfolder) };
    output::plain(&format!("{}@{}{subfolder}", mount.repo, mount.revision))
}

fn state(mount: &MountStatus) -> &'static str {
    if mount.state == MountState::Ready && mount.is_paused { "paused" } else { word(mount.state) }
}

fn word(state: MountState) -> &'static str {
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
