//! How much room a disk has for this user. Asks the system each time; remembers nothing.

#[cfg(windows)]
mod windows;

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod unix;

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use unix::free_bytes;
#[cfg(windows)]
pub use windows::free_bytes;
