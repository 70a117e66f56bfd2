//! A repo, or the Hub folder, as a FUSE mount, on Linux and macOS. Decides nothing about bytes: every question goes to the core's
//! `Volume`, and no thread of ours waits for the network.
//!
//! One thread per event loop takes requests from the kernel; what the core can answer from memory is answered there, and
//! the rest is handed to its runtime with the reply in its pocket.

use crate::mounts::{self, MountEntry, MountSource, Unmount};
use crate::{MountOptions, driver};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::watch;
use weightless_core::volume::{Dropped, Volume};
use weightless_core::{Error, ErrorKind, Result};

mod adapter;
mod answer;
mod attributes;
mod directories;
mod extended;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod point;

use adapter::Adapter;
#[cfg(target_os = "linux")]
use linux as os;
#[cfg(target_os = "macos")]
use macos as os;

/// A volume that is mounted. Dropping it unmounts lazily.
#[derive(Debug)]
pub struct FuseMount<V: Volume> {
    volume: Arc<V>,
    at: PathBuf,
    cleared: usize,
    entry: MountEntry,
    /// True once no event loop is left: the kernel has let go of the mount, whoever unmounted it.
    ended: watch::Receiver<bool>,
}

impl<V: Volume> FuseMount<V> {
    /// Mounts `volume` at the folder `at`; `source` is what the system's table says of it. Blocks for some tens of milliseconds, never for the network. A dead mount of
    /// ours that lies there is cleared first, and [`cleared`](FuseMount::cleared) says so.
    ///
    /// # Errors
    /// [`ErrorKind::DriverMissing`], [`ErrorKind::MountPointInvalid`], [`ErrorKind::MountPointBusy`], or
    /// [`ErrorKind::InvalidInput`] where everyone should see it and the system does not allow that.
    pub fn start(volume: Arc<V>, source: &MountSource, at: &Path, options: &MountOptions) -> Result<Self> {
        driver::check()?;
        os::check_audience(options.audience)?;
        let point = point::prepare(at, options.covering)?;
        let adapter = Adapter::new(volume.clone());
        let session = os::session(adapter, &point.at, source, options)?;
        let entry =
            mounts::find(&point.at)?.ok_or_else(|| Error::new(ErrorKind::Internal, point.at.display().to_string()))?;

        let (end, ended) = watch::channel(false);
        let (notifier, place) = (session.notifier(), point.at.clone());
        volume.attach(Box::new(move |dropped| drop_name(&notifier, &place, dropped)));
        let served = volume.clone();
        let loops = thread::Builder::new().name("weightless-fuse".to_owned()).spawn(move || {
            if let Err(error) = session.run() {
                tracing::warn!(%error, "the FUSE session ended with an error");
            }
            served.shut_down();
            end.send_replace(true);
        });
        let this = FuseMount { volume, at: point.at, cleared: point.cleared, entry, ended };
        match loops {
            Ok(_) => Ok(this),
            // Dropping it unmounts.
            Err(error) => Err(Error::new(ErrorKind::Internal, this.at.display().to_string()).because(error)),
        }
    }

    /// Where it is mounted: absolute, without links.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Dead mounts of ours that were cleared from this place first.
    pub fn cleared(&self) -> usize {
        self.cleared
    }

    /// What is mounted.
    pub fn volume(&self) -> &Arc<V> {
        &self.volume
    }

    /// Resolves when the mount is over, also when somebody else unmounted it. Does not borrow the mount.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<V> {
        let mut ended = self.ended.clone();
        async move {
            // An error means that the sender is gone, and the session with it.
            let _ = ended.wait_for(|ended| *ended).await;
        }
    }

    /// Unmounts if nobody uses it; else the mount lives on unharmed.
    ///
    /// # Errors
    /// [`ErrorKind::MountPointBusy`], with [`mounts::Busy`] as its cause where the holders are known.
    pub async fn unmount(&self) -> Result<()> {
        self.leave(Unmount::Strict).await?;
        // Whoever asks again for a mount at this place must find the last one gone.
        let _ = tokio::time::timeout(Duration::from_millis(END_MS), self.ended()).await;
        Ok(())
    }

    /// Fails every read that waits, then takes the mount out of the name space at once. Programs that still have files
    /// open get errors for what they have not read; [`ended`](FuseMount::ended) resolves when the last one closes them.
    ///
    /// # Errors
    /// The system refuses, or does not answer.
    pub async fn unmount_lazily(&self) -> Result<()> {
        self.volume.shut_down();
        self.leave(Unmount::Lazy).await
    }

    /// On a thread that may block, and not for ever: the helper is a process, and the path may lead through a hanging
    /// mount of somebody else.
    async fn leave(&self, how: Unmount) -> Result<()> {
        let entry = self.entry.clone();
        let left = self.volume.runtime().spawn_blocking(move || mounts::unmount(&entry, how));
        match tokio::time::timeout(Duration::from_millis(UNMOUNT_MS), left).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(Error::new(ErrorKind::Internal, self.at.display().to_string()).because(panic)),
            Err(late) => Err(Error::new(ErrorKind::MountPointBusy, self.at.display().to_string()).because(late)),
        }
    }
}

/// Makes the kernel forget a name and what it leads to. A process that has its working folder there would find it without a
/// path. May block for as long as a lookup in the same folder does.
fn drop_name(notifier: &fuser::Notifier, at: &Path, dropped: &Dropped) {
    if dropped.unless_held && !mounts::holders(&at.join(&dropped.path)).is_empty() {
        return;
    }
    if let Err(error) = notifier.inval_entry(fuser::INodeNo(dropped.parent.0), OsStr::new(&*dropped.name)) {
        // Mostly that the kernel had forgotten it by itself.
        tracing::debug!(path = dropped.path, %error, "a name stays");
    }
}

impl<V: Volume> Drop for FuseMount<V> {
    fn drop(&mut self) {
        if *self.ended.borrow() {
            return;
        }
        self.volume.shut_down();
        if let Err(error) = mounts::unmount(&self.entry, Unmount::Lazy) {
            tracing::warn!(?error, "left mounted");
        }
    }
}

/// A helper process takes some 10 ms; a second is the promise for a whole shutdown, and this only its last resort.
const UNMOUNT_MS: u64 = 5_000;

/// From the unmount to the end of the event loops: they see it at once, being asleep in the kernel.
const END_MS: u64 = 1_000;
