//! Small text files of a repo that people read, such as its README. Not for content of mounts: those bytes go through the
//! transport.

use super::map::Subject;
use super::{Hub, route};
use crate::Result;
use crate::repo::RepoId;

impl Hub {
    /// The text of `path` of `commit`, cut at `bytes_max` and mended where it is not UTF-8. One request, and one more for each
    /// redirect within the Hub; a file that lies at a data host is none of these.
    pub async fn text(&self, repo: &RepoId, commit: &str, path: &str, bytes_max: usize) -> Result<String> {
        let name = format!("{repo}/{path}");
        let url = route::resolve(&self.config, repo, commit, path)?;
        let answer = self.get(url, self.question(Subject::Entry, repo, name)).await?;
        let end = answer.body.len().min(bytes_max);
        Ok(String::from_utf8_lossy(&answer.body[..end]).into_owned())
    }
}
