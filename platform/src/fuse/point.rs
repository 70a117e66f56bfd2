//! What may be a mount point: an existing folder of the user's, empty unless asked, not already a mount of ours. Clears
//! dead mounts of ours from it; unmounts nothing that lives.

use crate::Covering;
use crate::mounts;
use nix::unistd::{AccessFlags, access};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use weightless_core::{Error, ErrorKind, Result};

/// A mount point that can be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountPoint {
    /// Absolute, without links.
    pub(super) at: PathBuf,
    /// Dead mounts of ours that were cleared from it.
    pub(super) cleared: usize,
}

pub(super) fn prepare(at: &Path, covering: Covering) -> Result<MountPoint> {
    let invalid = |error: io::Error| Error::new(ErrorKind::MountPointInvalid, at.display().to_string()).because(error);
    let cleared = mounts::clear_dead(&through_the_parent(at).map_err(invalid)?)?;
    // Only now: a dead mount fails every look at it.
    let at = at.canonicalize().map_err(invalid)?;
    if let Some(entry) = mounts::find(&at)? {
        let busy = Error::new(ErrorKind::MountPointBusy, at.display().to_string());
        return Err(busy.because(entry.source.to_string()));
    }
    let mut entries = fs::read_dir(&at).map_err(invalid)?;
    if covering == Covering::EmptyOnly && entries.next().is_some() {
        return Err(invalid(io::ErrorKind::DirectoryNotEmpty.into()));
    }
    // The kernel lets nobody but root cover a folder that they could not write to.
    access(&at, AccessFlags::W_OK).map_err(|errno| invalid(errno.into()))?;
    Ok(MountPoint { at, cleared })
}

/// The absolute path of `at` without touching what it leads to, which may be a dead mount.
fn through_the_parent(at: &Path) -> io::Result<PathBuf> {
    let mut at = at.to_owned();
    for _ in 0..LINKS_MAX {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            // `/` and paths that end in `..`: whoever names them so has passed through, so they are not dead.
            return at.canonicalize();
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let place = parent.canonicalize()?.join(name);
        match fs::read_link(&place) {
            Ok(target) => at = parent.join(target),
            // Not a link, or dead: reading a link does not open what lies there.
            Err(_) => return Ok(place),
        }
    }
    Err(nix::errno::Errno::ELOOP.into())
}

/// As the kernel's.
const LINKS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_mount_point_is_an_empty_folder_unless_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("its path");
        for name in ["empty", "full/inside"] {
            fs::create_dir_all(root.join(name)).expect("a folder");
        }
        fs::write(root.join("file"), b"").expect("a file");
        symlink("empty", root.join("link")).expect("a link");
        symlink("link", root.join("far")).expect("a link");
        symlink("loop", root.join("loop")).expect("a link");

        use Covering::*;
        let table = [
            ("empty", EmptyOnly, Ok("empty")),
            ("empty/", EmptyOnly, Ok("empty")),
            ("empty/.", EmptyOnly, Ok("empty")),
            ("full/../empty", EmptyOnly, Ok("empty")),
            ("link", EmptyOnly, Ok("empty")),
            ("far", EmptyOnly, Ok("empty")),
            ("full", Anything, Ok("full")),
            ("full", EmptyOnly, Err(ErrorKind::MountPointInvalid)),
            ("file", EmptyOnly, Err(ErrorKind::MountPointInvalid)),
            ("absent", EmptyOnly, Err(ErrorKind::MountPointInvalid)),
            ("absent/too", EmptyOnly, Err(ErrorKind::MountPointInvalid)),
            ("loop", EmptyOnly, Err(ErrorKind::MountPointInvalid)),
        ];
        for (name, covering, expected) in table {
            let found = prepare(&root.join(name), covering).map_err(|error| error.kind());
            let expected = expected.map(|name| MountPoint { at: root.join(name), cleared: 0 });
            assert_eq!(found, expected, "{name} {covering:?}");
        }
    }
}
