//! The place of the Windows adapter. Mounts nothing yet, and says so.

use crate::MountOptions;
use crate::driver;
use crate::mounts::MountSource;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use weightless_core::Result;
use weightless_core::volume::Volume;

/// A mount on Windows; none can be made yet.
#[derive(Debug)]
pub struct WinFspMount<V> {
    volume: Arc<V>,
    never: Infallible,
}

impl<V: Volume> WinFspMount<V> {
    /// Mounts nothing.
    ///
    /// # Errors
    /// Always [`DriverMissing`](weightless_core::ErrorKind::DriverMissing).
    pub fn start(_volume: Arc<V>, _source: &MountSource, _at: &Path, _options: &MountOptions) -> Result<Self> {
        Err(driver::missing())
    }

    /// Where it is mounted.
    pub fn at(&self) -> &Path {
        match self.never {}
    }

    /// Dead mounts of ours that were cleared first.
    pub fn cleared(&self) -> usize {
        match self.never {}
    }

    /// What is mounted.
    pub fn volume(&self) -> &Arc<V> {
        &self.volume
    }

    /// Resolves when the mount is over.
    pub async fn ended(&self) {
        match self.never {}
    }

    /// Unmounts.
    ///
    /// # Errors
    /// None: there is no such mount.
    pub async fn unmount(&self) -> Result<()> {
        match self.never {}
    }

    /// Unmounts without waiting for who uses it.
    ///
    /// # Errors
    /// None: there is no such mount.
    pub async fn unmount_lazily(&self) -> Result<()> {
        match self.never {}
    }
}
