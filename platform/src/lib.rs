//! What Weightless needs of an operating system: mounting, drivers, error numbers. Decides nothing about what is read, and
//! asks nothing of the network.
//!
//! | module | subject |
//! | --- | --- |
//! | [`errors`] | every `ErrorKind` as errno and as NTSTATUS |
//! | [`driver`] | is FUSE here, and if not, what to install |
//! | [`mounts`] | mounts of ours in this system: found, probed, cleared, unmounted; who holds one |
//! | [`programs`] | names of processes |
//! | [`clock`] | moments as a person's clock shows them |
//! | [`room`] | how much room a disk has |
//! | [`memory`] | how the allocator treats large buffers |
//! | `fuse` | the adapter of Linux and macOS |
//! | `winfsp` | its place on Windows |

pub mod clock;
pub mod driver;
pub mod errors;
pub mod memory;
pub mod mounts;
mod options;
pub mod programs;
pub mod room;

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub mod fuse;
#[cfg(windows)]
pub mod winfsp;

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use fuse::FuseMount as OsMount;
pub use options::{Audience, Covering, MountOptions};
#[cfg(windows)]
pub use winfsp::WinFspMount as OsMount;
