//! Being the only engine of this user: a lock on a file, which the system lets go of when the process ends, however it ends.

use crate::exit::{Outcome, io_fault};
use crate::paths;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Duration;
use weightless_control::Fault;

/// Held as long as the engine lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// `None` if another engine holds it.
    pub(crate) fn take() -> Outcome<Option<Self>> {
        let path = paths::runtime_dir()?.join("engine.lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| io_fault(path.display(), &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(io_fault(path.display(), &error)),
        }
    }

    /// Waits until no engine holds it.
    pub(crate) fn wait(limit: Duration) -> Outcome {
        for _ in 0..limit.as_millis() / LOOK_MS as u128 {
            if Lock::take()?.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(LOOK_MS));
        }
        Err(Fault::new("silent", "the engine does not end"))
    }
}

/// Between two looks at a lock that is waited for.
const LOOK_MS: u64 = 20;
