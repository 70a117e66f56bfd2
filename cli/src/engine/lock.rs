//! Being the only engine of this user: a lock on a file, which the system lets go of when the process ends, however it ends.
//! The file says who holds it, so that an engine which answers nobody can be ended.

use crate::exit::{Outcome, io_fault};
use crate::paths;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use weightless_control::Fault;
use weightless_platform::programs;

/// Held as long as the engine lives.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock and writes down whose it is. `None` if another engine holds it.
    pub(crate) fn take() -> Outcome<Option<Self>> {
        let path = path()?;
        let Some(mut lock) = Lock::try_take(&path)? else { return Ok(None) };
        lock.file
            .set_len(0)
            .and_then(|()| lock.file.write_all(std::process::id().to_string().as_bytes()))
            .map_err(|error| io_fault(path.display(), &error))?;
        Ok(Some(lock))
    }

    fn try_take(path: &Path) -> Outcome<Option<Self>> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| io_fault(path.display(), &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(io_fault(path.display(), &error)),
        }
    }

    /// Waits until no engine holds it.
    pub(crate) fn wait(limit: Duration) -> Outcome {
        match is_free_within(&path()?, limit)? {
            true => Ok(()),
            false => Err(Fault::new("silent", "the engine does not end")),
        }
    }
}

/// The process that holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder(Pid);

impl Holder {
    /// Who holds it. `None` if nobody does, or if it cannot be told for certain who: a process that does not have the file open
    /// is another one under a number that was used again.
    pub(crate) fn find() -> Outcome<Option<Self>> {
        Holder::of(&path()?)
    }

    fn of(path: &Path) -> Outcome<Option<Self>> {
        if Lock::try_take(path)?.is_some() {
            return Ok(None);
        }
        let text = fs::read_to_string(path).map_err(|error| io_fault(path.display(), &error))?;
        let pid = text.trim().parse::<u32>().ok().filter(|pid| programs::may_have_open(*pid, path));
        Ok(pid.and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 1).map(|pid| Holder(Pid::from_raw(pid))))
    }

    /// Its process id.
    pub(crate) fn pid(self) -> i32 {
        self.0.as_raw()
    }

    /// Ends it: as it is asked to, else as the system does it.
    pub(crate) fn end(self) -> Outcome {
        let path = path()?;
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            // Looked at before each signal: the number must still be that of who holds the lock.
            if Holder::of(&path)? != Some(self) {
                break;
            }
            kill(self.0, signal).map_err(|errno| io_fault(format_args!("process {}", self.pid()), &errno.into()))?;
            if is_free_within(&path, Duration::from_millis(END_MS))? {
                return Ok(());
            }
        }
        Lock::wait(Duration::from_millis(END_MS))
    }
}

fn path() -> Outcome<PathBuf> {
    Ok(paths::runtime_dir()?.join("engine.lock"))
}

fn is_free_within(path: &Path, limit: Duration) -> Outcome<bool> {
    for _ in 0..limit.as_millis() / LOOK_MS as u128 {
        if Lock::try_take(path)?.is_some() {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(LOOK_MS));
    }
    Ok(false)
}

/// Between two looks at a lock that is waited for.
const LOOK_MS: u64 = 20;
/// How long an engine may take to end once it was told so by a signal; in order it takes a tenth of that.
const END_MS: u64 = 5_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_who_wrote_itself_down_and_has_the_file_open() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        assert_eq!(Holder::of(&path).unwrap(), None, "nobody holds it");
        let mut lock = Lock::try_take(&path).unwrap().unwrap();
        assert_eq!(Holder::of(&path).unwrap(), None, "nobody has said who it is");
        lock.file.write_all(std::process::id().to_string().as_bytes()).unwrap();
        assert_eq!(Holder::of(&path).unwrap().map(Holder::pid), Some(std::process::id() as i32));
        // A number that was used again: the process of it knows nothing of the lock.
        fs::write(&path, "1").unwrap();
        assert_eq!(Holder::of(&path).unwrap(), None);
        drop(lock);
        assert_eq!(Holder::of(&path).unwrap(), None);
    }
}
