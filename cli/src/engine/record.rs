//! What an engine leaves on disk of its mounts: so that after its death the next one knows which dead mounts are its own to
//! clear, and what to mount again. A clean end leaves nothing but what was wanted at login. Never holds a token.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use weightless_control::{AddMount, MESSAGE_BYTES_MAX};
use weightless_core::durable;

/// An engine that died this often within [`DEATHS_S`] mounts nothing by itself any more: what it mounts may be what kills it.
const DEATHS_MAX: usize = 3;
/// See [`DEATHS_MAX`].
const DEATHS_S: u64 = 60;

/// What is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    /// The engine that wrote it.
    pub(crate) pid: u32,
    /// When it and those before it started that did not end in order, in seconds since 1970.
    pub(crate) starts_unix_s: Vec<u64>,
    /// What is mounted, without tokens.
    pub(crate) mounts: Vec<AddMount>,
    /// Where the Hub folder is, while it is on.
    pub(crate) folder: Option<String>,
    /// Folders that were made to be mount points, or to lead to one: to be removed when nothing is mounted there any more.
    pub(crate) made: Vec<PathBuf>,
    /// Whether all network is paused.
    pub(crate) is_paused: bool,
}

impl Record {
    /// The record of an engine that starts now, after one that left `last`.
    pub(crate) fn after(last: Option<&Record>, pid: u32, now_unix_s: u64) -> Self {
        let last = last.cloned().unwrap_or_default();
        let mut starts = last.starts_unix_s;
        starts.retain(|start| now_unix_s.saturating_sub(*start) < DEATHS_S);
        starts.push(now_unix_s);
        Record { pid, starts_unix_s: starts, made: last.made, is_paused: last.is_paused, ..Record::default() }
    }

    /// Whether engines died so often that this one should not mount again by itself.
    pub(crate) fn is_dying(&self) -> bool {
        self.starts_unix_s.len() > DEATHS_MAX
    }

    /// Whether the next engine has something to bring back.
    pub(crate) fn is_empty(&self) -> bool {
        self.mounts.is_empty() && self.folder.is_none()
    }

    /// Where something was mounted.
    pub(crate) fn dirs(&self) -> impl Iterator<Item = &str> {
        self.mounts.iter().filter_map(|mount| mount.dir.as_deref()).chain(self.folder.as_deref())
    }

    /// Writes it.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        write(path, self)
    }

    /// Reads it; `None` if there is none, or none that makes sense.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        read(path)
    }
}

/// Writes a small file; it is there whole or not at all.
pub(crate) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    durable::replace(path, &serde_json::to_vec(value)?)
}

/// Reads a small file; `None` if there is none, or none that makes sense.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let is_small = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MESSAGE_BYTES_MAX as u64);
    is_small.then(|| serde_json::from_slice(&fs::read(path).ok()?).ok()).flatten()
}

/// All records of a runtime folder, also of engines that are gone. What is no record is passed over.
pub(crate) fn all(runtime_dir: &Path) -> io::Result<Vec<(PathBuf, Record)>> {
    let paths = fs::read_dir(runtime_dir)?.filter_map(|entry| Some(entry.ok()?.path()));
    let records = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    Ok(records.filter_map(|path| Some((path.clone(), Record::read(&path)?))).collect())
}

/// Forgets an engine that ended in order.
pub(crate) fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "the record of an engine stays");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_record_is_read_as_it_was_written_and_other_files_are_passed_over() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("1.json"), "half a rec").unwrap();
        fs::create_dir(temp.path().join("2.json")).unwrap();
        let path = temp.path().join("engine.json");
        let mount = AddMount { repo: "a/b".into(), dir: Some("/m".into()), ..AddMount::default() };
        let (made, folder) = (vec!["/m".into()], Some("/f".into()));
        let record = Record { pid: 7, starts_unix_s: vec![1], mounts: vec![mount], folder, made, is_paused: true };
        assert!(!record.is_empty() && record.dirs().eq(["/m", "/f"]));
        record.write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(all(temp.path()).unwrap(), [(path.clone(), record)]);
        remove(&path);
        assert_eq!(all(temp.path()).unwrap(), []);
    }

    #[test]
    fn three_deaths_in_a_minute_are_enough() {
        let mut record = Record::after(None, 1, 1000);
        for (now, expected) in [(1010, false), (1020, false), (1030, true), (1100, false)] {
            assert_eq!(record.is_dying(), now == 1040, "before {now}");
            record = Record::after(Some(&record), 1, now);
            assert_eq!(record.is_dying(), expected, "at {now}");
            if expected {
                // What follows is long after.
                record.starts_unix_s.truncate(1);
            }
        }
    }
}
