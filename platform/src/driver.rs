//! Is the file-system driver here and usable, and if not, what to install. Looks only; installs and mounts nothing.

use weightless_core::Result;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(target_os = "macos")]
use macos as os;
#[cfg(windows)]
use windows as os;

#[cfg(target_os = "linux")]
pub(crate) use linux::{DEVICE, fusermount};
#[cfg(windows)]
pub(crate) use windows::missing;

/// Says whether a mount can be tried.
///
/// # Errors
/// [`DriverMissing`](weightless_core::ErrorKind::DriverMissing), its subject the missing part, its advice the way to get it.
pub fn check() -> Result<()> {
    os::check()
}
