//! Files and folders of POSIX systems, for their owner alone.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A new file; one that exists is an error.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// A rename is on the disk once its folder is (fsync(2)).
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use crate::durable::replace;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn the_file_is_its_owners_alone_whatever_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/file");
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        replace(&path, b"x").unwrap();
        assert_eq!((mode(&path), mode(&dir.path().join("new"))), (0o600, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        replace(&path, b"y").unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_link_stays_a_link_and_its_target_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("real/file"), "old").unwrap();
        symlink("real/file", at("link")).unwrap();
        symlink(at("link"), at("second")).unwrap();
        symlink("real/later", at("dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        replace(&at("second"), b"new").unwrap();
        replace(&at("dangling"), b"made").unwrap();
        assert!(replace(&at("loop"), b"x").is_err());
        assert_eq!(fs::read_to_string(at("real/file")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("real/later")).unwrap(), "made");
        for name in ["link", "second", "dangling"] {
            assert!(fs::symlink_metadata(at(name)).unwrap().is_symlink(), "{name}");
        }
    }
}
