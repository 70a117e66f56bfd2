//! Commits and refs of one repo. Never changes a commit that exists.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::{Change, Facts, Preparer, RepoKind, Tree, apply, hex};

/// 2026-01-01T00:00:00Z: the first commit of every repo, so that dates do not depend on when a test runs.
const EPOCH_S: u64 = 1_767_225_600;
/// Commits are an hour apart.
const COMMIT_STEP_S: u64 = 3_600;

/// One commit with its whole tree.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    pub(crate) title: String,
    pub(crate) message: String,
    pub(crate) author: String,
    pub(crate) unix_s: u64,
    /// Indices of the parents.
    pub(crate) parents: Vec<usize>,
    pub(crate) tree: Arc<Tree>,
}

/// A repo. Cloning shares the commits; a change makes a new one and swaps it in.
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    pub(crate) kind: RepoKind,
    pub(crate) id: String,
    pub(crate) facts: Facts,
    pub(crate) commits: Vec<Arc<Commit>>,
    /// Full ref name (`refs/heads/main`, `refs/pr/1`) to commit index.
    pub(crate) heads: BTreeMap<String, usize>,
    /// Tag name to commit index.
    pub(crate) tags: BTreeMap<String, usize>,
}

impl Repo {
    pub(crate) fn new(kind: RepoKind, id: String, facts: Facts) -> Self {
        Self { kind, id, facts, commits: Vec::new(), heads: BTreeMap::new(), tags: BTreeMap::new() }
    }

    /// Appends a commit that no ref names yet.
    pub(crate) fn push(
        &mut self,
        title: String,
        message: String,
        author: String,
        parents: Vec<usize>,
        tree: Tree,
    ) -> usize {
        use sha1::Digest;
        let index = self.commits.len();
        let mut digest = sha1::Sha1::new();
        digest.update(format!("{} {} {index} {title}\0{}", self.kind.plural(), self.id, tree.oid()));
        for &parent in &parents {
            digest.update(&self.commits[parent].sha);
        }
        self.commits.push(Arc::new(Commit {
            sha: hex(&digest.finalize()),
            title,
            message,
            author,
            unix_s: EPOCH_S + index as u64 * COMMIT_STEP_S,
            parents,
            tree: Arc::new(tree),
        }));
        index
    }

    /// Commits to an existing ref and gives the new commit's id.
    pub(crate) fn commit_changes(
        &mut self,
        revision: &str,
        title: String,
        message: String,
        author: &str,
        changes: &[Change],
        preparer: &Preparer,
    ) -> io::Result<String> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("no branch {revision}"));
        let head = self.head_ref(revision).ok_or_else(missing)?;
        let parent = self.heads[&head];
        let tree = apply(Some(&self.commits[parent].tree), changes, self.commits.len(), preparer)?;
        let index = self.push(title, message, author.to_owned(), vec![parent], tree);
        self.heads.insert(head, index);
        Ok(self.commits[index].sha.clone())
    }

    /// The commit that a branch, tag, full ref or commit id (at least seven digits) names.
    pub(crate) fn resolve(&self, revision: &str) -> Option<usize> {
        let by_ref = self.heads.get(revision).or_else(|| self.heads.get(&format!("refs/heads/{revision}")));
        if let Some(&index) = by_ref.or_else(|| self.tags.get(revision)) {
            return Some(index);
        }
        if let Some(tag) = revision.strip_prefix("refs/tags/") {
            return self.tags.get(tag).copied();
        }
        let is_sha = revision.len() >= 7 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.commits.iter().position(|commit| is_sha && commit.sha.starts_with(revision))
    }

    /// The full name of the ref that a commit to this revision would move.
    pub(crate) fn head_ref(&self, revision: &str) -> Option<String> {
        [revision.to_owned(), format!("refs/heads/{revision}")].into_iter().find(|name| self.heads.contains_key(name))
    }

    /// The commit and its ancestors, newest first.
    pub(crate) fn log(&self, from: usize) -> Vec<usize> {
        let mut seen = vec![from];
        let mut at = 0;
        while at < seen.len() {
            for &parent in &self.commits[seen[at]].parents {
                if !seen.contains(&parent) {
                    seen.push(parent);
                }
            }
            at += 1;
        }
        seen.sort_unstable_by(|a, b| b.cmp(a));
        seen
    }

    /// The account or organisation before the slash.
    pub(crate) fn author(&self) -> Option<&str> {
        self.id.split_once('/').map(|(author, _)| author)
    }

    pub(crate) fn newest_unix_s(&self) -> u64 {
        self.commits.iter().map(|commit| commit.unix_s).max().unwrap_or(EPOCH_S)
    }

    pub(crate) fn created_unix_s(&self) -> u64 {
        EPOCH_S
    }
}
