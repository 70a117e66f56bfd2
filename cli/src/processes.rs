//! The client's view of what is mounted: every engine asked over its socket (the user's own, and those that a terminal hosts),
//! and the records and the system's table for mounts that nobody answers for. Starts the user's engine when it is needed.
//! Changes nothing else but removing sockets and records that nobody stands behind, and, when asked, dead mounts.

use crate::engine::lock::{Holder, Lock};
use crate::engine::place::Place;
use crate::engine::ready;
use crate::engine::record::{self, Record};
use crate::exit::{Outcome, fault, io_fault};
use crate::{output, paths};
use std::collections::HashSet;
use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use weightless_control::client::DeadlineStream;
use weightless_control::{
    Client, ClientError, EngineStatus, Fault, FolderStatus, Hello, MountState, MountStatus, Status, StatusReply,
};
use weightless_platform::mounts::{self, MountEntry, MountSource};

/// A process that answers does so in a millisecond; one that does not for this long is stopped or stuck.
const ANSWER_MS_MAX: u64 = 1_000;
/// The same before a command gives up because of it: an engine that starts a hundred mounts on a busy machine is slow, not stuck.
const HELLO_MS_MAX: u64 = 3_000;
/// How long an engine may take to start; it asks nobody for that.
const START_MS_MAX: u64 = 20_000;
/// How often the engine is started before it is given up: one may end at the moment that it is asked.
const START_TRIES: usize = 3;

/// A mount, and how to reach it.
#[derive(Debug)]
pub(crate) struct Known {
    /// What is known of it.
    pub(crate) status: MountStatus,
    /// What is known besides, where it is the Hub folder; `status` names no repo then.
    pub(crate) folder: Option<FolderStatus>,
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

impl Known {
    fn of_folder(folder: FolderStatus, socket: &Path) -> Self {
        let mut status = MountStatus::new("", "", &*folder.dir, folder.state);
        status.fault.clone_from(&folder.fault);
        Known { status, folder: Some(folder), via: Via::Socket(socket.to_owned()) }
    }

    fn of_table(status: MountStatus, entry: MountEntry) -> Self {
        let is_folder = entry.source == MountSource::HubFolder;
        let folder = is_folder.then(|| FolderStatus::new(&*status.dir, status.state));
        Known { status, folder, via: Via::Table(entry) }
    }

    /// Whether the user's own engine has it.
    pub(crate) fn is_of_engine(&self) -> bool {
        matches!(&self.via, Via::Socket(socket) if socket.file_name().is_some_and(|name| name == paths::ENGINE_SOCKET))
    }
}

/// Introduces this command.
pub(crate) fn hello() -> Hello {
    Hello::new(concat!("weightless ", env!("CARGO_PKG_VERSION")))
}

/// Connects to an engine, whose hello comes from memory, and bounds by `limit` what is asked from then on.
pub(crate) fn connect(socket: &Path, limit: Duration) -> Result<Client<DeadlineStream>, ClientError> {
    let hello_limit = limit.min(Duration::from_millis(HELLO_MS_MAX));
    let (sender, receiver) = mpsc::channel();
    let path = socket.to_owned();
    // A thread of its own: the system lets nobody give up on a process whose queue is full and who takes nothing from it.
    thread::spawn(move || drop(sender.send(Client::connect(&path, &hello(), hello_limit))));
    let late = || Err(io::Error::from(io::ErrorKind::TimedOut).into());
    let mut client = receiver.recv_timeout(hello_limit).unwrap_or_else(|_| late())?;
    client.set_limit(limit);
    Ok(client)
}

/// The user's engine, started if it does not run. What was mounted by one that died is mounted again by the new one.
pub(crate) fn engine(limit: Duration) -> Outcome<Client<DeadlineStream>> {
    let socket = paths::runtime_dir()?.join(paths::ENGINE_SOCKET);
    for _ in 0..START_TRIES {
        match connect(&socket, limit) {
            Ok(client) => return Ok(client),
            // None runs, or one is just ending.
            Err(ClientError::Io(error)) if is_gone(&error) => start()?,
            Err(error) => return Err(unanswering(error)),
        }
    }
    connect(&socket, limit).map_err(unanswering)
}

/// The user's engine, if it runs, or if there is something for it to bring back: mounts of one that died.
pub(crate) fn engine_if_needed(limit: Duration) -> Outcome<Option<Client<DeadlineStream>>> {
    let dir = paths::runtime_dir()?;
    match connect(&dir.join(paths::ENGINE_SOCKET), limit) {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::Io(error)) if is_gone(&error) => {
            let left = Record::read(&dir.join(paths::ENGINE_RECORD));
            if left.is_some_and(|record| !record.is_empty()) { engine(limit).map(Some) } else { Ok(None) }
        }
        Err(error) => Err(unanswering(error)),
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}

/// The error in words, with what can be done about an engine that is there and does not answer.
fn unanswering(error: ClientError) -> Fault {
    let fault = error.into_fault();
    if fault.code != "silent" {
        return fault;
    }
    let log = paths::log_file().map(|log| format!(" Its log: {}", log.display())).unwrap_or_default();
    let advice = format!(
        "`weightless engine restart --force` ends it and brings its mounts back, `weightless engine stop --force` ends it.{log}"
    );
    let sentence = match Holder::find() {
        Ok(Some(holder)) => format!("the engine, process {}, does not answer", holder.pid()),
        _ => fault.sentence,
    };
    Fault::new(fault.code, sentence).advise(advice)
}

/// Ends an engine that answers nobody, then clears the mounts that it left dead. They are brought back by the next engine if
/// `keep_mounts` says so. `false`: there is none to end.
pub(crate) fn end_unanswering(keep_mounts: bool) -> Outcome<bool> {
    let dir = paths::runtime_dir()?;
    let Some(holder) = Holder::find()? else {
        return match Lock::take()? {
            Some(_) => Ok(false),
            None => Err(Fault::new("silent", "the engine does not answer, and which process it is cannot be told")),
        };
    };
    let path = dir.join(paths::ENGINE_RECORD);
    let record = Record::read(&path);
    holder.end()?;
    if keep_mounts {
        // An engine that still could end in order has forgotten them.
        if let Some(record) = record {
            record.write(&path).map_err(|error| io_fault(path.display(), &error))?;
        }
        return Ok(true);
    }
    // With the lock: the next engine, which may start at any moment, is left alone.
    let Some(_lock) = Lock::take()? else { return Ok(true) };
    clear_dead(&[])?.iter().for_each(output::note);
    record::remove(&path);
    match fs::remove_file(dir.join(paths::ENGINE_SOCKET)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_fault("the engine's socket", &error)),
        _ => Ok(true),
    }
}

/// Starts the engine and waits until it answers, or has found that another one runs already.
fn start() -> Outcome {
    let log_path = paths::log_file()?;
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&log_path)
        .map_err(|error| io_fault(log_path.display(), &error))?;
    let program = std::env::current_exe().map_err(|error| io_fault("this program", &error))?;
    let mut child = Command::new(program)
        .args(["engine", "--background"])
        // The token of this shell is no other shell's: a command sends its own along with its mount.
        .env_remove("HF_TOKEN")
        .env_remove("HUGGING_FACE_HUB_TOKEN")
        // So that it keeps no folder busy.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| io_fault("the engine", &error))?;
    let Some(pipe) = child.stdout.take() else { return Err(Fault::new("internal", "the engine has no pipe")) };
    // The child lives on; nobody waits for its end.
    let advice = format!("Its log: {}", log_path.display());
    let notes = ready::receive(pipe, Duration::from_millis(START_MS_MAX))
        .unwrap_or_else(|| {
            let sentence = format!("the engine is not ready within {} s", START_MS_MAX / 1000);
            Err(Fault::new("deadline", sentence).advise(&*advice))
        })
        .map_err(|fault| if fault.code == "internal" { fault.advise(advice) } else { fault })?;
    notes.iter().for_each(output::note);
    Ok(())
}

/// All engines that answer, in the order of their sockets' names, that is by pid.
pub(crate) fn ask_all() -> Outcome<Vec<(PathBuf, StatusReply)>> {
    let sockets = sockets()?;
    let (sender, receiver) = mpsc::channel();
    // Side by side, since each that does not answer takes its whole bound.
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
                // Its process was killed. The engine's own socket is replaced by the next engine, which holds the lock.
                if sockets[index].file_name().is_some_and(|name| name != paths::ENGINE_SOCKET) {
                    let _ = fs::remove_file(&sockets[index]);
                }
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
    Ok(all_of_engines()?.1)
}

/// The same, and the user's own engine, if it answers.
pub(crate) fn all_of_engines() -> Outcome<(Option<EngineStatus>, Vec<Known>)> {
    let (mut engine, mut known) = (None, Vec::new());
    for (socket, StatusReply { engine: of_socket, folder, mounts }) in ask_all()? {
        if socket.file_name().is_some_and(|name| name == paths::ENGINE_SOCKET) {
            engine = Some(of_socket);
        }
        let folder = folder.map(|folder| Known::of_folder(folder, &socket));
        // Behind what is in it: whoever takes all away takes that first.
        let via = || Via::Socket(socket.clone());
        known.extend(mounts.into_iter().map(|status| Known { status, folder: None, via: via() }));
        known.extend(folder);
    }
    let answered = known.iter().map(|known| known.status.dir.clone()).collect();
    known.extend(unanswered(&answered)?);
    Ok((engine, known))
}

/// The mount of ours at `dir`, also if it was made elsewhere: in another session or container of this user.
pub(crate) fn at(dir: &Path) -> Outcome<Option<Known>> {
    // A mount that was unmounted lazily is out of the way.
    let is_there = |known: &Known| Path::new(&known.status.dir) == dir && known.status.state != MountState::Stopping;
    if let Some(known) = all()?.into_iter().rfind(is_there) {
        return Ok(Some(known));
    }
    let entry = mounts::find(dir).map_err(fault)?;
    Ok(entry.map(|entry| Known::of_table(from_table(mounts::probe(&entry), &entry), entry)))
}

/// Recorded mounts that no engine answered for and that are still in the system's table. Records of engines that left nothing
/// there are removed, but for the user's own, whose mounts the next engine brings back.
fn unanswered(answered: &HashSet<String>) -> Outcome<Vec<Known>> {
    let dir = paths::runtime_dir()?;
    let records = record::all(&dir).map_err(|error| io_fault(dir.display(), &error))?;
    let mut left = Vec::new();
    for (path, record) in records {
        let mut is_empty = true;
        for at in record.dirs() {
            if answered.contains(at) {
                is_empty = false;
                continue;
            }
            if let Some(entry) = mounts::find(Path::new(at)).map_err(fault)? {
                is_empty = false;
                // Side by side, since a stuck one takes its whole bound.
                let pid = record.pid;
                left.push(thread::spawn(move || (mounts::probe(&entry), entry, pid)));
            }
        }
        if is_empty && path.file_name().is_some_and(|name| name != paths::ENGINE_RECORD) {
            record::remove(&path);
        }
    }
    let probed = left.into_iter().filter_map(|probe| probe.join().ok());
    Ok(probed
        .map(|(state, entry, pid)| {
            let state = unanswered_state(state);
            let silent_pid = (state == MountState::Silent).then_some(pid);
            let status = MountStatus { state, pid: silent_pid, ..from_table(mounts::MountState::Dead, &entry) };
            Known::of_table(status, entry)
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
    let (repo, revision) = match &entry.source {
        MountSource::Repo { repo, revision } => (repo.as_str(), revision.as_str()),
        MountSource::HubFolder => ("", ""),
    };
    MountStatus::new(repo, revision, entry.at.to_string_lossy(), state)
}

/// Clears every dead mount that was made here, but for those at `kept`, which are to be brought back; a sentence for each.
pub(crate) fn clear_dead(kept: &[PathBuf]) -> Outcome<Vec<String>> {
    let dead = all()?.into_iter().filter(|known| known.status.state == MountState::Dead);
    let mut said = Vec::new();
    for known in dead {
        let Via::Table(entry) = &known.via else { continue };
        let at = entry.at.display();
        if kept.contains(&entry.at) {
            said.push(format!("found a dead mount at {at}"));
            continue;
        }
        said.push(match unmount(entry, mounts::Unmount::Lazy) {
            Ok(()) => format!("cleared a dead mount at {at}"),
            Err(error) => format!("a dead mount stays at {at}: {error}"),
        });
    }
    Ok(said)
}

/// Unmounts what only the system knows, then removes the folders that were made for it.
pub(crate) fn unmount(entry: &MountEntry, how: mounts::Unmount) -> Outcome {
    mounts::unmount(entry, how).map_err(fault)?;
    let dir = paths::runtime_dir()?;
    for (_, record) in record::all(&dir).map_err(|error| io_fault(dir.display(), &error))? {
        drop(Place::inherit(&entry.at, &mut record.made.clone()));
    }
    Ok(())
}
