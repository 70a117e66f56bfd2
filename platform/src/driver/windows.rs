//! WinFsp has no adapter here yet: says so instead of pretending.

use weightless_core::{Error, ErrorKind, Result};

pub(super) fn check() -> Result<()> {
    Err(missing())
}

pub(crate) fn missing() -> Error {
    Error::new(ErrorKind::DriverMissing, "WinFsp").advise("Mounting on Windows comes with a later version.")
}
