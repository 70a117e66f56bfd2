//! macFUSE, found by its bundle.

use std::path::Path;
use weightless_core::{Error, ErrorKind, Result};

/// Where macFUSE installs itself.
const BUNDLE: &str = "/Library/Filesystems/macfuse.fs";

pub(super) fn check() -> Result<()> {
    if Path::new(BUNDLE).exists() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::DriverMissing, "macFUSE")
        .advise("Install it from https://macfuse.github.io or with: brew install --cask macfuse."))
}
