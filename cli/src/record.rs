//! What a mount's process leaves beside its socket: which mount is its own. So that after its death the mount is known for
//! ours and cleared, while mounts of other homes, containers and test runs of the same user are left alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use weightless_control::{MESSAGE_BYTES_MAX, MountStatus};

/// A record on disk. Dropping it removes it: a process that ends in order leaves none.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
}

impl Record {
    /// Writes the record of this process; it is there whole or not at all.
    pub(crate) fn write(runtime_dir: &Path, mount: &MountStatus) -> io::Result<Self> {
        let path = runtime_dir.join(format!("{}.json", std::process::id()));
        let unfinished = path.with_extension("part");
        fs::write(&unfinished, serde_json::to_vec(mount)?)?;
        fs::rename(&unfinished, &path)?;
        Ok(Record { path })
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// All records, also of processes that are gone. What is no record is passed over.
pub(crate) fn all(runtime_dir: &Path) -> io::Result<Vec<(PathBuf, MountStatus)>> {
    let paths = fs::read_dir(runtime_dir)?.filter_map(|entry| Some(entry.ok()?.path()));
    let records = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    Ok(records.filter_map(|path| Some((path.clone(), read(&path)?))).collect())
}

fn read(path: &Path) -> Option<MountStatus> {
    let small = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MESSAGE_BYTES_MAX as u64);
    small.then(|| fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok())).flatten()
}

/// Forgets a mount that is no more.
pub(crate) fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "the record of a mount stays");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::MountState;

    #[test]
    fn a_record_lasts_as_long_as_its_process_wants() {
        let temp = tempfile::tempdir().unwrap();
        let mount = MountStatus::new("a/b", "main", "/m", MountState::Ready);
        fs::write(temp.path().join("1.json"), "half a rec").unwrap();
        fs::create_dir(temp.path().join("2.json")).unwrap();
        let record = Record::write(temp.path(), &mount).unwrap();
        assert_eq!(all(temp.path()).unwrap(), [(record.path.clone(), mount)]);
        drop(record);
        assert_eq!(all(temp.path()).unwrap(), []);
    }
}
