//! macOS: the menu bar is always there and inks template pictures itself.

use crate::tray::Ground;
use std::io::Write;
use std::process::{Command, Stdio};

/// Nothing can be missing.
pub(crate) fn prepare() -> Result<(), String> {
    Ok(())
}

/// The menu bar is always there.
pub(crate) fn watch_tray_place(told: impl Fn(bool) + Send + Sync + 'static) {
    told(true);
}

/// The system's own.
pub(crate) fn with_tray_library<T>(make: impl FnOnce() -> T) -> Option<T> {
    Some(make())
}

/// The system chooses the ink.
pub(crate) fn ground() -> Ground {
    Ground::Template
}

/// Puts text into the clipboard.
pub(crate) fn copy(text: &str) {
    let outcome = Command::new("/usr/bin/pbcopy").stdin(Stdio::piped()).spawn().and_then(|mut child| {
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(text.as_bytes())?;
        }
        child.wait()
    });
    if let Err(error) = outcome {
        tracing::warn!(%error, "nothing was copied");
    }
}
