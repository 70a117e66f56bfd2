//! Mounts of ours in this system: found in the system's own table, probed, cleared, unmounted, and who holds one. Keeps no
//! list of its own, so that a killed process leaves nothing to repair but the mount.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use weightless_core::{Error, ErrorKind, Result};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod source;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(target_os = "macos")]
use macos as os;
#[cfg(windows)]
use windows as os;

pub use source::MountSource;

/// The part of the file-system type that marks a mount as ours: `fuse.weightless`.
pub const SUBTYPE: &str = "weightless";

/// How long a mount of ours may take to answer a statfs, which it does from memory. Beyond it, its process hangs.
const PROBE_MS: u64 = 2_000;

/// A mount of ours, whichever process serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    /// Where it is mounted.
    pub at: PathBuf,
    /// What it shows.
    pub source: MountSource,
    /// The user who mounted it, where the system tells.
    pub owner_uid: Option<u32>,
    /// The kernel's number of this connection: two mounts at one place, one after the other, differ in it.
    pub connection: u64,
}

/// Whether a mount is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountState {
    /// Its process answers.
    Alive,
    /// Its process is gone; every access fails until it is cleared.
    Dead,
    /// No answer within two seconds: stopped, or stuck in the kernel.
    Silent,
}

/// How to unmount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmount {
    /// Only if nobody uses it.
    Strict,
    /// From the name space at once; who holds a file keeps it until closing it.
    Lazy,
}

/// Who keeps a mount busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Process.
    pub pid: u32,
    /// Its program's name.
    pub program: String,
    /// One path below the mount point that it holds: an open file, a mapping, its working folder.
    pub path: PathBuf,
}

/// `python3 (4711): /mnt/model.safetensors`
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.program, self.pid, self.path.display())
    }
}

/// The cause of a [`ErrorKind::MountPointBusy`]: who holds it, as far as this user may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// Holders, by pid.
    pub holders: Vec<Holder>,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, holder) in self.holders.iter().enumerate() {
            write!(f, "{}{holder}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Busy {}

/// Mounts of ours in this name space, oldest first.
///
/// # Errors
/// The system's table of mounts cannot be read.
pub fn list() -> Result<Vec<MountEntry>> {
    os::list().map_err(|error| Error::new(ErrorKind::Internal, os::TABLE).because(error))
}

/// The mount of ours that is on top at `at`, an absolute path without links.
///
/// # Errors
/// As [`list`].
pub fn find(at: &Path) -> Result<Option<MountEntry>> {
    Ok(list()?.into_iter().rfind(|entry| entry.at == at))
}

/// Asks a mount for its numbers, on a thread of its own, since a hanging mount holds whoever asks.
pub fn probe(entry: &MountEntry) -> MountState {
    let (answer, answered) = mpsc::channel();
    let at = entry.at.clone();
    let asked = thread::Builder::new().name("weightless-probe".to_owned()).spawn(move || {
        // The receiver may have given up.
        let _ = answer.send(os::answers(&at));
    });
    match asked.map(|_| answered.recv_timeout(Duration::from_millis(PROBE_MS))) {
        Ok(Ok(true)) => MountState::Alive,
        Ok(Ok(false)) => MountState::Dead,
        Ok(Err(_)) | Err(_) => MountState::Silent,
    }
}

/// Unmounts `entry`, and nothing that has since been mounted in its place. Blocks for some milliseconds. A mount that is
/// gone already is no error.
///
/// # Errors
/// [`ErrorKind::MountPointBusy`], with [`Busy`] as its cause where holders were found; or what the system said.
pub fn unmount(entry: &MountEntry, how: Unmount) -> Result<()> {
    let is_there = || Ok::<_, Error>(find(&entry.at)?.is_some_and(|top| top.connection == entry.connection));
    if !is_there()? {
        return Ok(());
    }
    let Err(error) = os::unmount(&entry.at, how) else { return Ok(()) };
    // The helper's exit code does not tell why; somebody else may have been quicker.
    if !is_there()? {
        return Ok(());
    }
    let busy = Error::new(ErrorKind::MountPointBusy, entry.at.display().to_string());
    let holders = match how {
        Unmount::Strict => holders(&entry.at),
        Unmount::Lazy => Vec::new(),
    };
    Err(if holders.is_empty() { busy.because(error) } else { busy.because(Busy { holders }) })
}

/// Ends the connection of a mount that is [`MountState::Silent`]: whoever waits for it gets an error, and it can then be
/// unmounted.
///
/// # Errors
/// The system offers no way, or not to this user.
pub fn abort(entry: &MountEntry) -> Result<()> {
    os::abort(entry)
        .map_err(|error| Error::new(ErrorKind::MountPointBusy, entry.at.display().to_string()).because(error))
}

/// Clears every dead mount of ours at `at`; says how many.
///
/// # Errors
/// As [`unmount`].
pub fn clear_dead(at: &Path) -> Result<usize> {
    let mut cleared = 0;
    while cleared < DEAD_AT_ONE_PLACE_MAX {
        match find(at)? {
            Some(entry) if probe(&entry) == MountState::Dead => unmount(&entry, Unmount::Lazy)?,
            _ => break,
        }
        cleared += 1;
    }
    Ok(cleared)
}

/// Processes that keep a mount busy, by pid, one path each; those of other users only as root. Never touches the mount.
pub fn holders(at: &Path) -> Vec<Holder> {
    os::holders(at)
}

/// Mounts over dead mounts; more than a few mean a loop that we should not join.
const DEAD_AT_ONE_PLACE_MAX: usize = 16;
