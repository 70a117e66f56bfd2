//! Not asked on Windows yet: the store's cap alone holds there.

use std::io;
use std::path::Path;

/// Says that it does not know.
///
/// # Errors
/// Always [`io::ErrorKind::Unsupported`].
pub fn free_bytes(_folder: &Path) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}
