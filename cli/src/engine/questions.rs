//! Questions to the Hub that need no mount: search, what a repo is, what lies in it, its README. Reads words and trees, never
//! content.

use super::host::Host;
use super::unix_s;
use crate::exit::{Outcome, fault};
use crate::{paths, wanted};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use weightless_control::repos::{
    DescribeRepo, ENTRIES_MAX, Folder, FolderEntry, Found, GetReadme, ListFolder, Readme, RepoDescription, RepoHit,
    RepoKind, Search,
};
use weightless_core::hub::people::{self, SEARCH_HITS_MAX};
use weightless_core::hub::{Commit, Cursor, Depth, EntryKind, Hub};
use weightless_core::repo::RepoSpec;
use weightless_core::{ErrorKind, repo};

/// Results of a search where no number is asked for.
const HITS: u32 = 20;
/// Pages of a tree that are counted; 1,000 entries each. What a person wants to know of a larger repo is that it is large.
const COUNTED_PAGES_MAX: usize = 10;
/// A README longer than this is cut; with every byte escaped it still fits into a message.
const README_BYTES_MAX: usize = 128 << 10;

/// Searches repos by name.
pub(crate) async fn search(hub: &Hub, request: Search) -> Outcome<Found> {
    let search = people::Search {
        kind: kind(request.kind),
        words: request.words,
        author: request.author,
        sort: people::SearchSort::default(),
        limit: (request.limit.unwrap_or(HITS) as usize).min(SEARCH_HITS_MAX),
    };
    let hits = hub.search(&search).await.map_err(fault)?;
    let repos = hits.into_iter().map(|hit| RepoHit {
        repo: hit.repo.to_string(),
        kind: request.kind,
        downloads: hit.downloads,
        likes: hit.likes,
        licence: hit.licence,
        gated: hit.gated,
        private: hit.private,
        modified_unix_s: hit.modified.and_then(|at| Some(at.duration_since(UNIX_EPOCH).ok()?.as_secs())),
    });
    Ok(Found { repos: repos.collect() })
}

/// What a repo is; by default it would be mounted in `folder`.
pub(crate) async fn describe(hub: &Hub, spec: &RepoSpec, folder: &Path) -> Outcome<RepoDescription> {
    let commit = hub.commit(&spec.repo, wanted::revision(spec)).await.map_err(fault)?;
    let subfolder = spec.path.clone().unwrap_or_default();
    let (counted, refs) = tokio::join!(count(hub, &commit, &subfolder), hub.refs(&commit.repo));
    let (files, bytes, is_complete) = counted?;
    let refs = refs.map_err(fault)?;
    let mut branches: Vec<String> = refs.branches.into_iter().map(|branch| branch.name).collect();
    branches.sort_by_key(|name| name != "main");
    Ok(RepoDescription {
        repo: commit.repo.to_string(),
        kind: shown_kind(commit.repo.kind),
        revision: wanted::revision(spec).to_owned(),
        commit: commit.sha.to_string(),
        modified_unix_s: unix_s(commit.modified),
        subfolder,
        files,
        bytes,
        is_complete,
        gated: commit.gated,
        page: hub.page(&commit.repo),
        branches,
        tags: refs.tags.into_iter().map(|tag| tag.name).collect(),
        default_dir: folder.join(paths::place(spec)).to_string_lossy().into_owned(),
    })
}

impl Host {
    /// Searches repos by name.
    pub(super) async fn search(&self, request: Search) -> Outcome<Found> {
        search(&*self.default_hub(None).await?, request).await
    }

    /// What a repo is.
    pub(super) async fn describe(&self, request: &DescribeRepo) -> Outcome<RepoDescription> {
        let (hub, spec) = self.asked(&request.repo, request.revision.as_deref()).await?;
        describe(&hub, &spec, &self.resolved().mount_folder).await
    }

    /// One folder of a repo.
    pub(super) async fn list_folder(&self, request: &ListFolder) -> Outcome<Folder> {
        let (hub, spec) = self.asked(&request.repo, request.revision.as_deref()).await?;
        let commit = hub.commit(&spec.repo, wanted::revision(&spec)).await.map_err(fault)?;
        let folder = join(spec.path.as_deref().unwrap_or_default(), &request.path);
        let mut entries = Vec::new();
        let mut cursor: Option<Cursor> = None;
        loop {
            let page = hub
                .tree_page(&commit.repo, &commit.sha, &folder, Depth::Folder, cursor.as_ref())
                .await
                .map_err(fault)?;
            entries.extend(page.entries.into_iter().map(|entry| FolderEntry {
                name: entry.path.rsplit('/').next().unwrap_or(&entry.path).to_owned(),
                is_folder: entry.kind == EntryKind::Folder,
                size: match entry.kind {
                    EntryKind::File { size, .. } => size,
                    EntryKind::Folder => None,
                },
            }));
            cursor = page.next;
            if cursor.is_none() || entries.len() >= ENTRIES_MAX {
                break;
            }
        }
        let is_cut = cursor.is_some() || entries.len() > ENTRIES_MAX;
        entries.truncate(ENTRIES_MAX);
        entries.sort_by(|a, b| b.is_folder.cmp(&a.is_folder).then_with(|| a.name.cmp(&b.name)));
        Ok(Folder { entries, is_cut })
    }

    /// A repo's README.
    pub(super) async fn readme(&self, request: &GetReadme) -> Outcome<Readme> {
        let (hub, spec) = self.asked(&request.repo, request.revision.as_deref()).await?;
        match hub.text(&spec.repo, wanted::revision(&spec), "README.md", README_BYTES_MAX).await {
            Ok(markdown) => Ok(Readme { markdown: Some(markdown) }),
            Err(error) if error.kind() == ErrorKind::EntryNotFound => Ok(Readme { markdown: None }),
            Err(error) => Err(fault(error)),
        }
    }

    async fn asked(&self, repo: &str, revision: Option<&str>) -> Outcome<(Arc<Hub>, RepoSpec)> {
        let spec = RepoSpec::parse(repo, &self.endpoint()?).map_err(fault)?;
        let spec = wanted::merge(spec, revision, None)?;
        Ok((self.default_hub(None).await?, spec))
    }
}

/// Files, their bytes, and whether these are all.
async fn count(hub: &Hub, commit: &Commit, folder: &str) -> Outcome<(u64, u64, bool)> {
    let (mut files, mut bytes) = (0, 0_u64);
    let mut cursor: Option<Cursor> = None;
    for _ in 0..COUNTED_PAGES_MAX {
        let page =
            hub.tree_page(&commit.repo, &commit.sha, folder, Depth::Recursive, cursor.as_ref()).await.map_err(fault)?;
        for entry in page.entries {
            if let EntryKind::File { size, .. } = entry.kind {
                files += 1;
                bytes = bytes.saturating_add(size.unwrap_or_default());
            }
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok((files, bytes, true));
        }
    }
    Ok((files, bytes, false))
}

fn join(folder: &str, path: &str) -> String {
    let path = path.trim_matches('/');
    match (folder.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (_, true) => folder.to_owned(),
        _ => format!("{folder}/{path}"),
    }
}

fn kind(kind: RepoKind) -> repo::RepoKind {
    match kind {
        RepoKind::Model => repo::RepoKind::Model,
        RepoKind::Dataset => repo::RepoKind::Dataset,
        RepoKind::Space => repo::RepoKind::Space,
    }
}

fn shown_kind(kind: repo::RepoKind) -> RepoKind {
    match kind {
        repo::RepoKind::Model => RepoKind::Model,
        repo::RepoKind::Dataset => RepoKind::Dataset,
        repo::RepoKind::Space => RepoKind::Space,
    }
}
