//! By statvfs.

use nix::sys::statvfs::statvfs;
use std::io;
use std::path::Path;

/// Bytes that this user may still write on the disk of `folder`, or of the nearest folder above it that there is.
///
/// # Errors
/// Those of the file system.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    let facts = statvfs(there)?;
    Ok(wide(facts.blocks_available()).saturating_mul(facts.fragment_size()))
}

/// A count of blocks, whose type differs by system.
fn wide(count: impl Into<u64>) -> u64 {
    count.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_has_the_room_of_the_one_above() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert!(free_bytes(&dir.path().join("not/yet")).unwrap() > 0);
    }
}
