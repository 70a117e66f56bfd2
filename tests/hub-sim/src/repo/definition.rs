//! Describes a repo before it is served: files, commits, refs, rights. Never computes a hash.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::{Facts, Gate, Preparer, Repo, RepoKind, Storage, Stored, Tree, Visibility, default_storage, large_entry};
use crate::Content;

/// Files up to this size in a folder are read once, larger ones when asked.
const READ_ONCE_BYTES_MAX: u64 = 1 << 20;

/// One edit of a tree.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put {
        path: String,
        content: Content,
        storage: Option<Storage>,
    },
    /// A file whose bytes were uploaded before.
    Link {
        path: String,
        size: u64,
        stored: Stored,
    },
    Remove {
        path: String,
    },
}

#[derive(Clone, Debug)]
struct CommitDef {
    parent: Option<usize>,
    title: String,
    changes: Vec<Change>,
}

/// A repo in the making. Files go into the current commit; refs point at it; what is not committed explicitly is
/// committed when a ref is made or the repo is served.
#[derive(Clone, Debug)]
pub struct RepoDef {
    kind: RepoKind,
    id: String,
    former_ids: Vec<String>,
    facts: Facts,
    commits: Vec<CommitDef>,
    pending: Vec<Change>,
    current: String,
    heads: BTreeMap<String, usize>,
    tags: BTreeMap<String, usize>,
}

impl RepoDef {
    /// A repo without files. `id` is `org/name`.
    pub fn new(kind: RepoKind, id: impl Into<String>) -> Self {
        Self {
            kind,
            id: id.into(),
            former_ids: Vec::new(),
            facts: Facts {
                visibility: Visibility::Public,
                gate: Gate::Open,
                downloads: 0,
                likes: 0,
                license: None,
                pipeline_tag: None,
                library: None,
                tags: Vec::new(),
            },
            commits: Vec::new(),
            pending: Vec::new(),
            current: "refs/heads/main".into(),
            heads: BTreeMap::new(),
            tags: BTreeMap::new(),
        }
    }

    /// A model repo without files.
    pub fn model(id: impl Into<String>) -> Self {
        Self::new(RepoKind::Model, id)
    }

    /// A dataset repo without files.
    pub fn dataset(id: impl Into<String>) -> Self {
        Self::new(RepoKind::Dataset, id)
    }

    /// A Space without files.
    pub fn space(id: impl Into<String>) -> Self {
        Self::new(RepoKind::Space, id)
    }

    /// Adds every file of a folder to the current commit, `.git` aside.
    pub fn dir(mut self, dir: impl AsRef<Path>) -> io::Result<Self> {
        let mut folders = vec![(dir.as_ref().to_path_buf(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            let mut entries = std::fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
            entries.sort_by_key(std::fs::DirEntry::file_name);
            for entry in entries {
                let name = entry.file_name().into_string().map_err(|name| {
                    io::Error::new(io::ErrorKind::InvalidData, format!("{}: not UTF-8", name.display()))
                })?;
                let metadata = std::fs::metadata(entry.path())?;
                let path = format!("{prefix}{name}");
                if metadata.is_dir() && name != ".git" {
                    folders.push((entry.path(), format!("{path}/")));
                } else if metadata.is_file() {
                    let content = if metadata.len() <= READ_ONCE_BYTES_MAX {
                        Content::bytes(std::fs::read(entry.path())?)
                    } else {
                        Content::file(entry.path())?
                    };
                    self = self.file(path, content);
                }
            }
        }
        Ok(self)
    }

    /// Puts a file; small text goes to git, other files to Xet, as the Hub decides it.
    pub fn file(self, path: impl Into<String>, content: impl Into<Content>) -> Self {
        self.change(Change::Put { path: path.into(), content: content.into(), storage: None })
    }

    /// Puts a file and says how it is kept.
    pub fn file_as(self, path: impl Into<String>, content: impl Into<Content>, storage: Storage) -> Self {
        self.change(Change::Put { path: path.into(), content: content.into(), storage: Some(storage) })
    }

    /// Removes a file or a whole folder.
    pub fn remove(self, path: impl Into<String>) -> Self {
        self.change(Change::Remove { path: path.into() })
    }

    /// Closes the current commit; later files go into the next one on the same branch.
    pub fn commit(mut self, title: impl Into<String>) -> Self {
        self.close(title.into());
        self
    }

    /// Makes a branch at the current commit and works on it from here on.
    pub fn branch(self, name: impl AsRef<str>) -> Self {
        self.fork(format!("refs/heads/{}", name.as_ref()))
    }

    /// Makes `refs/pr/{number}` at the current commit and works on it from here on.
    pub fn pull_request(self, number: u32) -> Self {
        self.fork(format!("refs/pr/{number}"))
    }

    /// Goes back to a branch that exists.
    ///
    /// # Panics
    /// If there is no such branch: a mistake of the test.
    pub fn on(mut self, branch: impl AsRef<str>) -> Self {
        self.close_pending();
        let name = format!("refs/heads/{}", branch.as_ref());
        assert!(self.heads.contains_key(&name), "no branch {name} in {}", self.id);
        self.current = name;
        self
    }

    /// Tags the current commit.
    pub fn tag(mut self, name: impl Into<String>) -> Self {
        let head = self.close_pending();
        self.tags.insert(name.into(), head);
        self
    }

    /// Only members of the account see it.
    pub fn private(mut self) -> Self {
        self.facts.visibility = Visibility::Private;
        self
    }

    /// Contents ask for an accepted licence.
    pub fn gated(self) -> Self {
        self.gate(Gate::Auto)
    }

    /// Contents ask for an accepted licence of this kind.
    pub fn gate(mut self, gate: Gate) -> Self {
        self.facts.gate = gate;
        self
    }

    /// An id that redirects here.
    pub fn renamed_from(mut self, id: impl Into<String>) -> Self {
        self.former_ids.push(id.into());
        self
    }

    /// Downloads in the last month.
    pub fn downloads(mut self, downloads: u64) -> Self {
        self.facts.downloads = downloads;
        self
    }

    /// Likes.
    pub fn likes(mut self, likes: u64) -> Self {
        self.facts.likes = likes;
        self
    }

    /// SPDX-like id of the licence, as the card says it.
    pub fn license(mut self, license: impl Into<String>) -> Self {
        self.facts.license = Some(license.into());
        self
    }

    /// The task, such as `sentence-similarity`.
    pub fn pipeline_tag(mut self, tag: impl Into<String>) -> Self {
        self.facts.pipeline_tag = Some(tag.into());
        self
    }

    /// The library, such as `transformers`.
    pub fn library(mut self, library: impl Into<String>) -> Self {
        self.facts.library = Some(library.into());
        self
    }

    /// A further tag of the card.
    pub fn label(mut self, tag: impl Into<String>) -> Self {
        self.facts.tags.push(tag.into());
        self
    }

    /// Kind and id.
    pub fn name(&self) -> (RepoKind, &str) {
        (self.kind, &self.id)
    }

    fn change(mut self, change: Change) -> Self {
        self.pending.push(change);
        self
    }

    fn fork(mut self, name: String) -> Self {
        let head = self.close_pending();
        self.heads.insert(name.clone(), head);
        self.current = name;
        self
    }

    fn close_pending(&mut self) -> usize {
        match self.heads.get(&self.current) {
            Some(&head) if self.pending.is_empty() => head,
            Some(_) => self.close("Update files".into()),
            None => self.close("initial commit".into()),
        }
    }

    fn close(&mut self, title: String) -> usize {
        let parent = self.heads.get(&self.current).copied();
        self.commits.push(CommitDef { parent, title, changes: std::mem::take(&mut self.pending) });
        let head = self.commits.len() - 1;
        self.heads.insert(self.current.clone(), head);
        head
    }

    /// Hashes and stores all contents. The second value is what redirects here.
    pub(crate) fn build(mut self, preparer: &Preparer) -> io::Result<(Repo, Vec<String>)> {
        self.close_pending();
        let mut repo = Repo::new(self.kind, self.id, self.facts);
        for def in self.commits {
            let parents = def.parent.into_iter().collect::<Vec<_>>();
            let base = def.parent.map(|parent| repo.commits[parent].tree.clone());
            let tree = apply(base.as_deref(), &def.changes, repo.commits.len(), preparer)?;
            repo.push(def.title, String::new(), "sim".into(), parents, tree);
        }
        repo.heads = self.heads;
        repo.tags = self.tags;
        Ok((repo, self.former_ids))
    }
}

/// The tree that follows from another by some edits, all of them part of the commit with this index.
pub(crate) fn apply(base: Option<&Tree>, changes: &[Change], commit: usize, preparer: &Preparer) -> io::Result<Tree> {
    let mut files = base.map(|tree| tree.files.clone()).unwrap_or_default();
    for change in changes {
        match change {
            Change::Put { path, content, storage } => {
                let storage = match storage {
                    _ if content.is_empty() => Storage::Git,
                    Some(storage) => *storage,
                    None => default_storage(path, content)?,
                };
                files.insert(path.clone(), preparer.entry(content, storage, commit)?.into());
            }
            Change::Link { path, size, stored } => {
                files.insert(path.clone(), large_entry(*size, stored.clone(), commit).into());
            }
            Change::Remove { path } => {
                let below = format!("{path}/");
                let gone: BTreeSet<String> =
                    files.keys().filter(|file| *file == path || file.starts_with(&below)).cloned().collect();
                files.retain(|file, _| !gone.contains(file));
            }
        }
    }
    Ok(Tree::new(files))
}
