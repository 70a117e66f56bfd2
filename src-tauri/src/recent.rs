//! Repos that were mounted lately, kept across starts. A convenience: whatever goes wrong with the file, the list is empty.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Repos kept.
const KEPT_MAX: usize = 8;

/// A repo at a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repo {
    /// `org/name`, `datasets/org/name`, `spaces/org/name`.
    pub(crate) repo: String,
    /// As it was named.
    pub(crate) revision: String,
}

/// The list, the latest first.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    repos: Vec<Repo>,
    file: PathBuf,
}

impl Recent {
    /// Reads the list.
    pub(crate) fn load(file: PathBuf) -> Self {
        let read = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Vec<Repo>>(&bytes).ok());
        let mut repos = read.unwrap_or_default();
        repos.truncate(KEPT_MAX);
        Recent { repos, file }
    }

    /// The list.
    pub(crate) fn repos(&self) -> &[Repo] {
        &self.repos
    }

    /// Puts a repo at its head.
    pub(crate) fn add(&mut self, repo: Repo) {
        if self.repos.first() == Some(&repo) {
            return;
        }
        self.repos.retain(|it| *it != repo);
        self.repos.insert(0, repo);
        self.repos.truncate(KEPT_MAX);
        if let Err(error) = self.save() {
            tracing::warn!(file = %self.file.display(), %error, "the list of recent repos is not kept");
        }
    }

    fn save(&self) -> std::io::Result<()> {
        fs::create_dir_all(self.file.parent().unwrap_or(Path::new("/")))?;
        // As a whole: a reader sees the old list or the new one.
        let new = self.file.with_extension("new");
        fs::write(&new, serde_json::to_vec(&self.repos)?)?;
        fs::rename(&new, &self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(name: &str) -> Repo {
        Repo { repo: name.into(), revision: "main".into() }
    }

    #[test]
    fn the_latest_comes_first_once_and_the_list_outlives_the_app() {
        let dir = std::env::temp_dir().join(format!("weightless-recent-{}", std::process::id()));
        let file = dir.join("recent.json");
        let mut recent = Recent::load(file.clone());
        assert!(recent.repos().is_empty());
        for name in ["a", "b", "a", "c"] {
            recent.add(repo(name));
        }
        assert_eq!(recent.repos(), ["c", "a", "b"].map(repo));
        assert_eq!(Recent::load(file.clone()).repos(), recent.repos());
        for number in 0..20 {
            recent.add(repo(&number.to_string()));
        }
        assert_eq!(Recent::load(file.clone()).repos().len(), KEPT_MAX);
        fs::write(&file, "nonsense").unwrap();
        assert!(Recent::load(file).repos().is_empty());
        fs::remove_dir_all(dir).unwrap();
    }
}
