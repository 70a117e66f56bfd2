//! Small files that must survive a crash: replaced whole or not at all, readable by their owner alone. Never leaves half a
//! file under the real name.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use self::other as system;
#[cfg(unix)]
use self::unix as system;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Symbolic links that are followed; the kernel's own limit (Linux, `MAXSYMLINKS`).
const LINKS_MAX: usize = 40;
/// Names tried for the temporary file; more than one is taken only if this process id has crashed here before.
const NAMES_MAX: u32 = 64;

/// Puts `content` in the place of the file at `path`: written beside it, synced, then renamed over it. A symbolic link stays
/// and its target is replaced. Folders that are missing are made; where the system has modes, file and folders are for their
/// owner alone (0600, 0700).
///
/// # Errors
/// Those of the file system; the file is then what it was.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = target(path)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    system::create_folder(folder)?;
    let (temporary, mut file) = create_beside(&path)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| {
            drop(file);
            fs::rename(&temporary, &path)
        })
        .inspect_err(|_| drop(fs::remove_file(&temporary)));
    written?;
    // Renamed already: whether the folder's entry is on the disk now or in a few seconds changes nothing for the caller.
    let _ = system::sync_folder(folder);
    Ok(())
}

/// Where `path` leads if its last part is a symbolic link, also to a file that is not there yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links"))
}

fn create_beside(path: &Path) -> io::Result<(PathBuf, fs::File)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file's name"))?;
    let mut attempt = 0;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match system::create_file(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < NAMES_MAX => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/file");
        for content in ["one", "", "three"] {
            replace(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(names(path.parent().unwrap()), ["file"]);
        }
    }

    #[test]
    fn what_cannot_be_replaced_stays_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder");
        fs::create_dir_all(path.join("inside")).unwrap();
        assert!(replace(&path, b"x").is_err());
        assert!(replace(&dir.path().join(".."), b"x").is_err());
        fs::write(dir.path().join("plain"), "old").unwrap();
        assert!(replace(&dir.path().join("plain/file"), b"x").is_err());
        assert_eq!(names(dir.path()), ["folder", "plain"]);
    }

    #[test]
    fn a_name_that_a_crash_left_behind_is_not_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let left = dir.path().join(format!(".file.{}-0.tmp", std::process::id()));
        fs::write(&left, "half").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_to_string(&left).unwrap(), "half");
    }
}
