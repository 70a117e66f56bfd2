//! Which commit a revision is, which revisions a repo has, and its history.

use super::ask::protocol;
use super::map::Subject;
use super::{Hub, route};
use crate::repo::{RepoId, RepoKind};
use crate::{ErrorKind, Result};
use serde::Deserialize;
use std::sync::Arc;
use std::time::SystemTime;

pub use hf_hub::repository::{GitCommitInfo, GitRefInfo, GitRefs};

/// Commits of history returned at most; the Hub's page.
pub const HISTORY_MAX: usize = 50;

/// The commit that a revision stands for.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The repo under its name of today: a renamed repo answers under its old name, and `gpt2` has an org.
    pub repo: RepoId,
    /// Full sha, lower-case hex.
    pub sha: Arc<str>,
    /// When it was made, as far as the Hub says; else the epoch.
    pub modified: SystemTime,
    /// Whether its files want a licence accepted; names and sizes are shown to everybody. See [`Hub::check_access`].
    pub gated: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    sha: String,
    id: Option<String>,
    last_modified: Option<String>,
    #[serde(default)]
    gated: Gated,
}

/// `false`, `"auto"` or `"manual"`: whether a licence must be accepted first, and who decides.
#[derive(Deserialize, Default)]
#[serde(transparent)]
pub(super) struct Gated(serde_json::Value);

impl Gated {
    pub(super) fn is_on(&self) -> bool {
        !matches!(self.0, serde_json::Value::Null | serde_json::Value::Bool(false))
    }
}

impl Hub {
    /// The commit of `revision` (a branch, tag, sha or `refs/…`). One request, and one more for each rename.
    pub async fn commit(&self, repo: &RepoId, revision: &str) -> Result<Commit> {
        let mut url = route::at(&self.config, repo, "revision", revision, "")?;
        // The plain answer names every file. A Space cannot be gated, and refuses the question.
        url.set_query(Some(match repo.kind {
            RepoKind::Model | RepoKind::Dataset => "expand=sha&expand=lastModified&expand=gated",
            RepoKind::Space => "expand=sha&expand=lastModified",
        }));
        let name = format!("{repo}@{revision}");
        let answer = self.get(url, self.question(Subject::Revision, repo, name.clone())).await?;
        let info: Info = answer.json(&name)?;
        if !is_sha1(&info.sha) {
            return Err(protocol(&name, "the commit is not a sha1"));
        }
        let today = info.id.and_then(|id| RepoId::new(repo.kind, id).ok());
        Ok(Commit {
            repo: today.unwrap_or_else(|| repo.clone()),
            sha: info.sha.into(),
            modified: info.last_modified.as_deref().and_then(time).unwrap_or(SystemTime::UNIX_EPOCH),
            gated: info.gated.is_on(),
        })
    }

    /// Whether this account may read the files of `commit`, so that a mount can say so before anybody opens one. No request
    /// unless the repo is gated; then one, for a token that only those get who have accepted the licence.
    pub async fn check_access(&self, commit: &Commit) -> Result<()> {
        if !commit.gated {
            return Ok(());
        }
        match self.xet_read_token(&commit.repo, &commit.sha).await {
            // A Hub without Xet has no such route; its files say for themselves what they want.
            Err(error) if matches!(error.kind(), ErrorKind::RevisionNotFound | ErrorKind::Protocol) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Branches, tags, conversions and pull requests.
    pub async fn refs(&self, repo: &RepoId) -> Result<GitRefs> {
        let url = route::api(&self.config, repo, "refs?include_prs=1")?;
        let name = repo.to_string();
        self.get(url, self.question(Subject::Repo, repo, name.clone())).await?.json(&name)
    }

    /// The newest [`HISTORY_MAX`] commits that `revision` has, newest first.
    pub async fn history(&self, repo: &RepoId, revision: &str) -> Result<Vec<GitCommitInfo>> {
        let mut url = route::at(&self.config, repo, "commits", revision, "")?;
        url.set_query(Some(&format!("limit={HISTORY_MAX}")));
        let name = format!("{repo}@{revision}");
        let mut commits: Vec<GitCommitInfo> =
            self.get(url, self.question(Subject::Revision, repo, name.clone())).await?.json(&name)?;
        commits.truncate(HISTORY_MAX);
        Ok(commits)
    }
}

/// Whether `text` is a sha1 in lower-case hex.
pub(crate) fn is_sha1(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

/// A time as the Hub writes it, `2024-02-19T10:57:45.000Z`.
pub(super) fn time(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(text).ok()
}
