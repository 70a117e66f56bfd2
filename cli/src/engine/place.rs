//! The folder that a mount covers: made where it is missing, and taken away again afterwards if it was. Touches nothing that
//! it did not make.

use crate::exit::{Outcome, fault_of};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use weightless_control::Fault;
use weightless_core::ErrorKind;

/// A mount point, and which folders on the way to it are ours to remove. Dropping it removes them, provided that they are
/// empty.
#[derive(Debug)]
pub(crate) struct Place {
    dir: PathBuf,
    /// Deepest first.
    made: Vec<PathBuf>,
}

impl Place {
    /// Makes `dir` and its parents where they are missing. `dir` may be a dead mount: it exists, whatever `stat` says of it. What
    /// of `left` leads there, which engines before have made, is taken over.
    pub(crate) fn prepare(dir: &Path, left: &mut Vec<PathBuf>) -> Outcome<Self> {
        let mut missing = Vec::new();
        for at in dir.ancestors() {
            match fs::symlink_metadata(at) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::NotConnected => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(at.to_owned()),
                Err(error) => return Err(unusable(dir, &error)),
            }
        }
        let mut place = Place::inherit(dir, left);
        for at in missing.into_iter().rev() {
            match fs::create_dir(&at) {
                Ok(()) => place.made.insert(0, at),
                // Somebody else made it meanwhile; it is theirs.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unusable(dir, &error)),
            }
        }
        Ok(place)
    }

    /// A place where nothing is mounted any more: what of `left` leads there goes with it.
    pub(crate) fn inherit(dir: &Path, left: &mut Vec<PathBuf>) -> Self {
        let mut made: Vec<PathBuf> = left.extract_if(.., |at| dir.starts_with(at)).collect();
        made.sort_unstable_by_key(|at| std::cmp::Reverse(at.components().count()));
        Place { dir: dir.to_owned(), made }
    }

    /// The folders that are ours to remove.
    pub(crate) fn made(&self) -> &[PathBuf] {
        &self.made
    }

    /// Where.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

fn unusable(dir: &Path, error: &io::Error) -> Fault {
    fault_of(ErrorKind::MountPointInvalid, dir.display().to_string())
        .advise(format!("The folder cannot be made: {error}."))
}

impl Drop for Place {
    fn drop(&mut self) {
        for dir in &self.made {
            if let Err(error) = fs::remove_dir(dir) {
                tracing::debug!(dir = %dir.display(), %error, "the folder stays");
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_were_made_go_again_and_others_stay() {
        let temp = tempfile::tempdir().unwrap();
        let deep = temp.path().join("a/b/c");
        let prepare = |dir: &Path| Place::prepare(dir, &mut Vec::new());
        let place = prepare(&deep).unwrap();
        assert!(deep.is_dir());
        drop(place);
        assert!(!temp.path().join("a").exists());

        fs::create_dir(temp.path().join("a")).unwrap();
        drop(prepare(&deep).unwrap());
        assert!(temp.path().join("a").is_dir());

        let place = prepare(&deep).unwrap();
        fs::write(temp.path().join("a/b/file"), "").unwrap();
        drop(place);
        assert!(temp.path().join("a/b/file").exists());
        assert!(!deep.exists());
    }

    #[test]
    fn folders_that_an_engine_before_has_made_are_taken_over() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::create_dir_all(at("a/b/c")).unwrap();
        fs::create_dir_all(at("other")).unwrap();
        let mut left = vec![at("a/b"), at("other"), at("a/b/c")];
        let place = Place::prepare(&at("a/b/c"), &mut left).unwrap();
        assert_eq!((place.made(), &left), (&[at("a/b/c"), at("a/b")][..], &vec![at("other")]));
        drop(place);
        assert!(at("a").is_dir() && !at("a/b").exists() && at("other").is_dir());
        drop(Place::inherit(&at("other"), &mut left));
        assert!(!at("other").exists() && left.is_empty());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_mount_point_and_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        let prepare = |dir: &Path| Place::prepare(dir, &mut Vec::new());
        let fault = prepare(&temp.path().join("file/x")).map(|_| ()).unwrap_err();
        assert_eq!(fault.code, "mount_point_invalid");
        let long = temp.path().join("made").join("x".repeat(300));
        assert!(prepare(&long).is_err());
        assert!(!temp.path().join("made").exists());
    }
}
