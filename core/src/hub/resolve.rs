//! One file's data address, size and hashes, from a HEAD. Never follows a redirect to the data host: its address is the
//! answer.

use super::ask::{Ask, protocol};
use super::map::Subject;
use super::{Hub, route};
use crate::Result;
use crate::repo::RepoId;
use reqwest::Method;
use std::fmt;
use std::sync::Arc;
use url::Url;

/// What a HEAD of a file tells.
#[derive(Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Where plain GETs with a `Range` give the file's bytes. At the endpoint's host it needs the token
    /// ([`Hub::authorize`] decides); elsewhere it is signed, expires, and is never to be logged.
    pub location: Url,
    /// The commit that the file is of.
    pub commit: Option<Arc<str>>,
    /// Content hash: sha256 for LFS and Xet files, else the git blob id; without quotes or `W/`.
    pub etag: Option<String>,
    /// Size of the content in bytes; `None` where the Hub does not say.
    pub size: Option<u64>,
    /// Xet hash as the Hub prints it, for files in Xet storage.
    pub xet_hash: Option<String>,
}

/// Leaves out the address: it may be signed.
impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolved")
            .field("host", &self.location.host_str())
            .field("commit", &self.commit)
            .field("etag", &self.etag)
            .field("size", &self.size)
            .field("xet_hash", &self.xet_hash)
            .finish()
    }
}

impl Hub {
    /// Asks for `path` of `commit`. One request, and one more for each redirect within the Hub.
    pub async fn resolve(&self, repo: &RepoId, commit: &str, path: &str) -> Result<Resolved> {
        let name = format!("{repo}/{path}");
        let ask = Ask {
            method: Method::HEAD,
            url: route::resolve(&self.config, repo, commit, path)?,
            json: None,
            question: self.question(Subject::Entry, repo, name.clone()),
        };
        let answer = self.ask(&ask).await?;
        if !matches!(answer.url.scheme(), "https" | "http") {
            return Err(protocol(&name, "the file is said to be at an address that is not http"));
        }
        let etag = answer.header("x-linked-etag").or(answer.header("etag")).map(plain_etag);
        // The length of a redirect is that of its own body.
        let length = answer.header("content-length").filter(|_| answer.status.is_success());
        let size = answer.header("x-linked-size").or(length).and_then(|text| text.trim().parse().ok());
        Ok(Resolved {
            commit: answer.header("x-repo-commit").map(Arc::from),
            etag: etag.map(str::to_owned),
            size,
            xet_hash: answer.header("x-xet-hash").map(str::to_owned),
            location: answer.url,
        })
    }
}

fn plain_etag(etag: &str) -> &str {
    etag.trim().trim_start_matches("W/").trim_matches('"')
}
