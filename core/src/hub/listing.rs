//! Folders of a commit, page by page, and single paths of it. Entries come as the Hub has them; which of them a file system
//! can show is the tree's to say.

use super::ask::{Answer, Ask, protocol};
use super::map::Subject;
use super::{Hub, route};
use crate::repo::RepoId;
use crate::{ErrorKind, Result};
use reqwest::Method;
use serde::{Deserialize, Deserializer, de};
use url::Url;

/// Entries asked for in one page; the Hub's largest.
pub const PAGE_ENTRIES: usize = 1_000;
/// Pages of one listing at most: a million entries.
pub const PAGES_MAX: usize = 1_000;
/// Paths asked for in one request at most.
pub const PATHS_MAX: usize = 500;

/// How deep a listing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// One folder's own entries.
    Folder,
    /// Everything below.
    Recursive,
}

/// Where a listing goes on; always at the endpoint's host.
#[derive(Debug, Clone)]
pub struct Cursor(Url);

/// A page of a listing.
#[derive(Debug)]
pub struct TreePage {
    /// Its entries, in the Hub's order.
    pub entries: Vec<TreeEntry>,
    /// The rest, if there is one.
    pub next: Option<Cursor>,
}

/// A file or folder of a commit, as the Hub has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Path from the repo's root.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file.
    File {
        /// Size of the content in bytes (never that of an LFS pointer); `None` where the Hub does not say.
        size: Option<u64>,
        /// git blob id of the file or of its LFS pointer.
        git_oid: [u8; 20],
        /// sha256 of the content, for LFS and Xet files.
        sha256: Option<[u8; 32]>,
        /// Xet hash, for files in Xet storage; the 32 bytes of the hex that the Hub prints, in its order.
        xet_hash: Option<[u8; 32]>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    size: Option<u64>,
    #[serde(default, deserialize_with = "hex_or_none")]
    oid: Option<[u8; 20]>,
    lfs: Option<WireLfs>,
    #[serde(default, deserialize_with = "hex_or_none")]
    xet_hash: Option<[u8; 32]>,
}

#[derive(Deserialize)]
struct WireLfs {
    #[serde(default, alias = "sha256", deserialize_with = "hex_or_none")]
    oid: Option<[u8; 32]>,
    size: Option<u64>,
}

/// Lower-case or upper-case hex of exactly `N` bytes; `null` is none, anything else is refused.
fn hex_or_none<'de, D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<Option<[u8; N]>, D::Error> {
    let Some(text) = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)? else { return Ok(None) };
    unhex(&text).map(Some).ok_or_else(|| de::Error::custom(format_args!("not a hash of {N} bytes")))
}

/// The bytes of a hash in hex.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(bytes)
}

impl Wire {
    fn entry(self, name: &str) -> Result<Option<TreeEntry>> {
        let kind = match self.kind.as_str() {
            "directory" => EntryKind::Folder,
            "file" => {
                let git_oid = self.oid.ok_or_else(|| protocol(name, format!("{} has no oid", self.path)))?;
                let (size, sha256) = match &self.lfs {
                    // The pointer's own size is of no use to a reader.
                    Some(lfs) => (lfs.size.or(self.size), lfs.oid),
                    None => (self.size, None),
                };
                EntryKind::File { size, git_oid, sha256, xet_hash: self.xet_hash }
            }
            // Submodules and whatever comes next are not files that can be read.
            _ => return Ok(None),
        };
        Ok(Some(TreeEntry { path: self.path, kind }))
    }
}

fn entries(answer: &Answer, name: &str) -> Result<Vec<TreeEntry>> {
    parse(&answer.body, name)
}

/// The entries of a page's or a question's answer.
pub(super) fn parse(body: &[u8], name: &str) -> Result<Vec<TreeEntry>> {
    let wire: Vec<Wire> = serde_json::from_slice(body).map_err(|error| protocol(name, error))?;
    wire.into_iter().filter_map(|entry| entry.entry(name).transpose()).collect()
}

impl Hub {
    /// One page of the listing of `dir` (empty for the root) of `commit`, from the start or from `cursor` on.
    pub async fn tree_page(
        &self,
        repo: &RepoId,
        commit: &str,
        dir: &str,
        depth: Depth,
        cursor: Option<&Cursor>,
    ) -> Result<TreePage> {
        let url = match cursor {
            Some(Cursor(url)) => url.clone(),
            None => {
                let mut url = route::at(&self.config, repo, "tree", commit, dir)?;
                let recursive = if depth == Depth::Recursive { "recursive=true&" } else { "" };
                url.set_query(Some(&format!("{recursive}limit={PAGE_ENTRIES}")));
                url
            }
        };
        let name = if dir.is_empty() { repo.to_string() } else { format!("{repo}/{dir}") };
        // Every commit has a root: only the Hub's own code says that it is empty, and a bare 404 (of a proxy, say) does not.
        let subject = if dir.is_empty() { Subject::Revision } else { Subject::Entry };
        let answer = self.get(url, self.question(subject, repo, name.clone())).await?;
        let next = match answer.header("link").and_then(next_link) {
            None => None,
            Some(link) => {
                let next = answer.url.join(link).map_err(|error| protocol(&name, error))?;
                if !self.config.is_endpoint(&next) {
                    return Err(protocol(&name, "the next page is said to be at another host"));
                }
                Some(Cursor(next))
            }
        };
        Ok(TreePage { entries: entries(&answer, &name)?, next })
    }

    /// The whole listing of `dir`, in at most [`PAGES_MAX`] pages.
    pub async fn tree(&self, repo: &RepoId, commit: &str, dir: &str, depth: Depth) -> Result<Vec<TreeEntry>> {
        let mut page = self.tree_page(repo, commit, dir, depth, None).await?;
        let mut all = std::mem::take(&mut page.entries);
        for _ in 1..PAGES_MAX {
            let Some(cursor) = page.next else { return Ok(all) };
            page = self.tree_page(repo, commit, dir, depth, Some(&cursor)).await?;
            all.append(&mut page.entries);
        }
        if page.next.is_some() {
            return Err(protocol(&format!("{repo}/{dir}"), "a listing without an end"));
        }
        Ok(all)
    }

    /// The entries at `paths` (at most [`PATHS_MAX`]) of `commit`. Those that do not exist are left out.
    pub async fn paths_info(&self, repo: &RepoId, commit: &str, paths: &[&str]) -> Result<Vec<TreeEntry>> {
        debug_assert!(paths.len() <= PATHS_MAX);
        let name = match paths {
            [path] => format!("{repo}/{path}"),
            _ => repo.to_string(),
        };
        let ask = Ask {
            method: Method::POST,
            url: route::at(&self.config, repo, "paths-info", commit, "")?,
            json: Some(serde_json::json!({ "paths": paths, "expand": false })),
            question: self.question(Subject::Revision, repo, name.clone()),
        };
        match self.ask(&ask).await {
            Ok(answer) => entries(&answer, &name),
            // Some Hubs answer so where no path exists.
            Err(error) if error.kind() == ErrorKind::EntryNotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// The target of `rel="next"` in a `Link` header: `<https://hub/…?cursor=…>; rel="next"`.
pub(super) fn next_link(header: &str) -> Option<&str> {
    let mut rest = header;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>')?;
        let target = &rest[start + 1..end];
        let parameters = &rest[end + 1..];
        let parameters_end = parameters.find(",<").or_else(|| parameters.find(", <")).unwrap_or(parameters.len());
        let is_next = parameters[..parameters_end].split(';').any(|parameter| {
            let (key, value) = parameter.split_once('=').unwrap_or_default();
            key.trim().eq_ignore_ascii_case("rel") && value.trim().trim_matches('"').eq_ignore_ascii_case("next")
        });
        if is_next {
            return Some(target);
        }
        rest = &parameters[parameters_end..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_link_is_found_among_others() {
        for (header, expected) in [
            ("<https://h/t?cursor=a>; rel=\"next\"", Some("https://h/t?cursor=a")),
            ("<https://h/t?a=1,2;3>;rel=next", Some("https://h/t?a=1,2;3")),
            ("<https://h/1>; rel=\"prev\", <https://h/2>; rel=\"next\"", Some("https://h/2")),
            ("<https://h/1>; rel=\"prev\",<https://h/2>; title=\"x\"; rel=\"next\"", Some("https://h/2")),
            ("</t?cursor=a>; REL=\"Next\"", Some("/t?cursor=a")),
            ("<https://h/1>; rel=\"prev\"", None),
            ("<https://h/1; rel=\"next\"", None),
            ("", None),
            ("rel=\"next\"", None),
        ] {
            assert_eq!(next_link(header), expected, "{header}");
        }
    }

    #[test]
    fn sizes_are_the_contents_and_a_missing_one_is_unknown() {
        let git = "607a30d783dfa663caf39e06633721c8d4cfcd7e";
        let sha = "ab".repeat(32);
        for (json, expected) in [
            (format!(r#"{{"type":"file","path":"a","size":5,"oid":"{git}"}}"#), Some((Some(5), false, false))),
            (format!(r#"{{"type":"file","path":"a","oid":"{git}"}}"#), Some((None, false, false))),
            (
                format!(r#"{{"type":"file","path":"a","size":null,"oid":"{git}","lfs":null}}"#),
                Some((None, false, false)),
            ),
            (
                format!(
                    r#"{{"type":"file","path":"a","size":134,"oid":"{git}","lfs":{{"oid":"{sha}","size":9,"pointerSize":134}}}}"#
                ),
                Some((Some(9), true, false)),
            ),
            (
                format!(
                    r#"{{"type":"file","path":"a","size":9,"oid":"{git}","lfs":{{"oid":"{sha}","size":9}},"xetHash":"{sha}"}}"#
                ),
                Some((Some(9), true, true)),
            ),
        ] {
            let wire: Wire = serde_json::from_str(&json).unwrap();
            let found = wire.entry("").unwrap().map(|entry| match entry.kind {
                EntryKind::File { size, sha256, xet_hash, .. } => (size, sha256.is_some(), xet_hash.is_some()),
                EntryKind::Folder => panic!("{json}"),
            });
            assert_eq!(found, expected, "{json}");
        }
        let submodule: Wire = serde_json::from_str(r#"{"type":"commit","path":"a"}"#).unwrap();
        assert_eq!(submodule.entry("").unwrap(), None);
        let nameless: Wire = serde_json::from_str(r#"{"type":"file","path":"a","size":1}"#).unwrap();
        assert_eq!(nameless.entry("").unwrap_err().kind(), ErrorKind::Protocol);
        assert!(serde_json::from_str::<Wire>(r#"{"type":"file","path":"a","oid":"xyz"}"#).is_err());
    }
}
