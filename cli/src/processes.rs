//! The client's view of what is mounted: every mount's process asked over its socket, and the records and the system's table
//! for those that nobody answers for. Changes nothing but removing sockets and records that nobody stands behind, and, when
//! asked, dead mounts.

use crate::exit::{Outcome, fault, io_fault};
use crate::{paths, record};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use weightless_control::client::DeadlineStream;
use weightless_control::{Client, ClientError, Hello, MountState, MountStatus, Status, StatusReply};
use weightless_platform::mounts::{self, MountEntry};

/// A process that answers does so in a millisecond; one that does not for this long is stopped or stuck.
const ANSWER_MS_MAX: u64 = 1_000;

/// A mount, and how to reach it.
#[derive(Debug)]
pub(crate) struct Known {
    /// What is known of it.
    pub(crate) status: MountStatus,
    /// Who can be told to unmount it.
    pub(crate) via: Via,
}

/// How to reach a mount.
#[derive(Debug)]
pub(crate) enum Via {
    /// Its process answers at this socket.
    Socket(PathBuf),
    /// Only the system knows it.
    Table(MountEntry),
}

/// Introduces this command.
pub(crate) fn hello() -> Hello {
    Hello::new(concat!("weightless ", env!("CARGO_PKG_VERSION")))
}

/// Connects to a mount's process.
pub(crate) fn connect(socket: &Path, limit: Duration) -> Result<Client<DeadlineStream>, ClientError> {
    Client::connect(socket, &hello(), limit)
}

/// All processes that answer, in the order of their sockets' names, that is by pid.
pub(crate) fn ask_all() -> Outcome<Vec<(PathBuf, StatusReply)>> {
    let sockets = sockets()?;
    let (sender, receiver) = mpsc::channel();
    // A thread each: connecting to a process that is stopped can block without end, and then only its thread is lost.
    for (index, socket) in sockets.iter().cloned().enumerate() {
        let sender = sender.clone();
        thread::spawn(move || {
            let status = connect(&socket, Duration::from_millis(ANSWER_MS_MAX)).and_then(|mut c| c.call(&Status {}));
            let _ = sender.send((index, status));
        });
    }
    drop(sender);
    let deadline = Instant::now() + Duration::from_millis(ANSWER_MS_MAX + 100);
    let mut answers: Vec<Option<StatusReply>> = sockets.iter().map(|_| None).collect();
    while let Ok((index, answer)) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        match answer {
            Ok(status) => answers[index] = Some(status),
            Err(ClientError::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Its process was killed.
                let _ = fs::remove_file(&sockets[index]);
            }
            Err(error) => tracing::warn!(socket = %sockets[index].display(), %error, "no answer"),
        }
    }
    Ok(sockets.into_iter().zip(answers).filter_map(|(socket, answer)| Some((socket, answer?))).collect())
}

fn sockets() -> Outcome<Vec<PathBuf>> {
    let dir = paths::runtime_dir()?;
    let listed = fs::read_dir(&dir).map_err(|error| io_fault(dir.display(), &error))?;
    let mut sockets: Vec<PathBuf> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        .collect();
    sockets.sort_by_key(|path| path.file_stem().and_then(|pid| pid.to_str()?.parse::<u32>().ok()));
    Ok(sockets)
}

/// Every mount that was made here: of processes that answer, and what others left behind.
pub(crate) fn all() -> Outcome<Vec<Known>> {
    let mut known: Vec<Known> = ask_all()?
        .into_iter()
        .flat_map(|(socket, reply)| {
            reply.mounts.into_iter().map(move |status| Known { status, via: Via::Socket(socket.clone()) })
        })
        .collect();
    let answered = known.iter().map(|known| known.status.dir.clone()).collect();
    known.extend(unanswered(&answered)?);
    Ok(known)
}

/// The mount of ours at `dir`, also if it was made elsewhere: in another session or container of this user.
pub(crate) fn at(dir: &Path) -> Outcome<Option<Known>> {
    // A mount that was unmounted lazily is out of the way.
    let is_there = |known: &Known| Path::new(&known.status.dir) == dir && known.status.state != MountState::Stopping;
    if let Some(known) = all()?.into_iter().rfind(is_there) {
        return Ok(Some(known));
    }
    let entry = mounts::find(dir).map_err(fault)?;
    Ok(entry.map(|entry| Known { status: from_table(mounts::probe(&entry), &entry), via: Via::Table(entry) }))
}

/// Recorded mounts that no process answered for and that are still in the system's table. Records of others are removed.
fn unanswered(answered: &HashSet<String>) -> Outcome<Vec<Known>> {
    let dir = paths::runtime_dir()?;
    let records = record::all(&dir).map_err(|error| io_fault(dir.display(), &error))?;
    let mut left = Vec::new();
    for (path, record) in records {
        if answered.contains(&record.dir) {
            continue;
        }
        match mounts::find(Path::new(&record.dir)).map_err(fault)? {
            // Side by side, since a stuck one takes its whole bound.
            Some(entry) => left.push(thread::spawn(move || (mounts::probe(&entry), entry, record))),
            None => record::remove(&path),
        }
    }
    let probed = left.into_iter().filter_map(|probe| probe.join().ok());
    Ok(probed
        .map(|(state, entry, record)| Known {
            status: MountStatus { state: unanswered_state(state), ..record },
            via: Via::Table(entry),
        })
        .collect())
}

/// A process that serves its mount and answers nobody is in no order either.
fn unanswered_state(state: mounts::MountState) -> MountState {
    match state {
        mounts::MountState::Dead => MountState::Dead,
        mounts::MountState::Alive | mounts::MountState::Silent => MountState::Silent,
    }
}

fn from_table(state: mounts::MountState, entry: &MountEntry) -> MountStatus {
    let state = match state {
        mounts::MountState::Alive => MountState::Other,
        mounts::MountState::Dead => MountState::Dead,
        mounts::MountState::Silent => MountState::Silent,
    };
    MountStatus::new(&*entry.source.repo, &*entry.source.revision, entry.at.to_string_lossy(), state)
}

/// Clears every dead mount that was made here; a sentence for each.
pub(crate) fn clear_dead() -> Outcome<Vec<String>> {
    let dead = all()?.into_iter().filter(|known| known.status.state == MountState::Dead);
    let mut said = Vec::new();
    for known in dead {
        if let Via::Table(entry) = &known.via {
            said.push(match mounts::unmount(entry, mounts::Unmount::Lazy) {
                Ok(()) => format!("cleared a dead mount at {}", entry.at.display()),
                Err(error) => format!("a dead mount stays at {}: {error}", entry.at.display()),
            });
        }
    }
    Ok(said)
}
