//! Files that the Hugging Face cache already holds, as `huggingface_hub` lays them out. Reads there, never writes; believes
//! what that library believes: a blob of the etag's name, complete and of the right size.

use super::disk::{self, DiskFile};
use super::key::{Blob, ContentHash};
use crate::net::Env;
use crate::repo::{RepoId, RepoKind};
use crate::transport::Source;
use std::path::{Path, PathBuf};

/// The cache of one folder, as `HF_HUB_CACHE` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubCache {
    folder: PathBuf,
}

impl HubCache {
    /// The cache in this folder, which need not be there.
    pub fn at(folder: PathBuf) -> Self {
        HubCache { folder }
    }

    /// Where the Hub's own tools keep it: `HF_HUB_CACHE` (or its older name), `HF_HOME/hub`, `XDG_CACHE_HOME/huggingface/hub`,
    /// `~/.cache/huggingface/hub`.
    pub fn find(env: Env<'_>) -> Option<Self> {
        let variable = |name| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let home = || variable("HOME").or_else(|| variable("USERPROFILE"));
        let expand = |path: String| match (path.strip_prefix("~/"), home()) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            _ => PathBuf::from(path),
        };
        let folder = variable("HF_HUB_CACHE")
            .or_else(|| variable("HUGGINGFACE_HUB_CACHE"))
            .map(expand)
            .or_else(|| variable("HF_HOME").map(|home| expand(home).join("hub")))
            .or_else(|| variable("XDG_CACHE_HOME").map(|cache| expand(cache).join("huggingface/hub")))
            .or_else(|| home().map(|home| Path::new(&home).join(".cache/huggingface/hub")))?;
        folder.is_absolute().then_some(HubCache { folder })
    }

    /// The file of a source, whole. Where links are not to be had (Windows), there is no blob, and the file itself lies in the
    /// snapshot of its commit. Waits for the disk.
    pub(super) fn open(&self, source: &Source, blob: &Blob) -> Option<Box<dyn DiskFile>> {
        let repo = self.folder.join(folder_name(&source.repo));
        let blobs = repo.join("blobs").join(etag(blob.hash));
        let snapshot = || repo.join("snapshots").join(&*source.commit).join(&*source.file.path);
        whole(&blobs, blob.size).or_else(|| whole(&snapshot(), blob.size))
    }
}

fn whole(path: &Path, size: u64) -> Option<Box<dyn DiskFile>> {
    let is_it = std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == size);
    is_it.then(|| disk::open_file(path).ok()).flatten()
}

/// `models--org--name`.
fn folder_name(repo: &RepoId) -> String {
    let kind = match repo.kind {
        RepoKind::Model => "models",
        RepoKind::Dataset => "datasets",
        RepoKind::Space => "spaces",
    };
    format!("{kind}--{}", repo.name.replace('/', "--"))
}

fn etag(hash: ContentHash) -> String {
    let hex = |hash: &[u8]| hash.iter().map(|byte| format!("{byte:02x}")).collect();
    match hash {
        ContentHash::Sha256(hash) => hex(&hash),
        ContentHash::GitBlob(hash) => hex(&hash),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_where_the_hubs_own_tools_keep_it() {
        #[track_caller]
        fn check(env: &[(&str, &str)], expected: Option<&str>) {
            let found =
                HubCache::find(&|name| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()));
            assert_eq!(found, expected.map(|folder| HubCache::at(folder.into())), "{env:?}");
        }
        check(&[], None);
        check(&[("HOME", "/h")], Some("/h/.cache/huggingface/hub"));
        check(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")], Some("/x/huggingface/hub"));
        check(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("HF_HOME", "~/hf")], Some("/h/hf/hub"));
        check(&[("HF_HOME", "/hf"), ("HF_HUB_CACHE", "/hub")], Some("/hub"));
        check(&[("HF_HUB_CACHE", " "), ("HUGGINGFACE_HUB_CACHE", "/old")], Some("/old"));
        check(&[("HF_HUB_CACHE", "relative")], None);
    }

    #[test]
    fn a_repo_has_the_folder_that_the_python_library_gives_it() {
        for (kind, name, expected) in [
            (RepoKind::Model, "gpt2", "models--gpt2"),
            (RepoKind::Model, "org/a-b.c", "models--org--a-b.c"),
            (RepoKind::Dataset, "org/data", "datasets--org--data"),
            (RepoKind::Space, "org/app", "spaces--org--app"),
        ] {
            assert_eq!(folder_name(&RepoId { kind, name: name.to_owned() }), expected);
        }
    }
}
