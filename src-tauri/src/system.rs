//! What differs between desktops: the session looked at before anything is shown, whether there is a place for the tray,
//! its ground, the clipboard.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::{copy, ground, prepare, watch_tray_place, with_tray_library};

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
pub(crate) use macos::{copy, ground, prepare, watch_tray_place, with_tray_library};
