//! The place of the Windows adapter. Mounts nothing yet, and says so.

use crate::MountOptions;
use crate::driver;
use std::path::Path;
use std::sync::Arc;
use weightless_core::Result;
use weightless_core::mount::Mount;

/// A mount on Windows; none can be made yet.
#[derive(Debug)]
pub enum WinFspMount {}

impl WinFspMount {
    /// Mounts nothing.
    ///
    /// # Errors
    /// Always [`DriverMissing`](weightless_core::ErrorKind::DriverMissing).
    pub fn start(_mount: Arc<Mount>, _at: &Path, _options: &MountOptions) -> Result<Self> {
        Err(driver::missing())
    }

    /// Where it is mounted.
    pub fn at(&self) -> &Path {
        match *self {}
    }

    /// Dead mounts of ours that were cleared first.
    pub fn cleared(&self) -> usize {
        match *self {}
    }

    /// Resolves when the mount is over.
    pub async fn ended(&self) {
        match *self {}
    }

    /// Unmounts.
    ///
    /// # Errors
    /// None: there is no such mount.
    pub async fn unmount(&self) -> Result<()> {
        match *self {}
    }

    /// Unmounts without waiting for who uses it.
    ///
    /// # Errors
    /// None: there is no such mount.
    pub async fn unmount_lazily(&self) -> Result<()> {
        match *self {}
    }
}
