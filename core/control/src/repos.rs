//! Questions to the Hub that need no mount: search, what a repo is, what lies in it. The client names repos as people type
//! them; the engine parses.

use crate::message::Method;
use serde::{Deserialize, Serialize};

/// Searches repos by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Search {
    /// Words of the name; empty for what is popular.
    pub words: String,
    /// What is searched.
    #[serde(default)]
    pub kind: RepoKind,
    /// Only repos of this account or organisation.
    #[serde(default)]
    pub author: Option<String>,
    /// Results wanted, at most 100; 20 without.
    #[serde(default)]
    pub limit: Option<u32>,
}

impl Method for Search {
    const NAME: &str = "search";
    type Reply = Found;
}

/// What a repo holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RepoKind {
    /// A model.
    #[default]
    Model,
    /// A dataset.
    Dataset,
    /// A Space.
    Space,
}

/// What was found, the most popular first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Found {
    /// The repos.
    pub repos: Vec<RepoHit>,
}

/// A repo of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RepoHit {
    /// `org/name`, `datasets/org/name`, `spaces/org/name`: what `mounts.add` takes.
    pub repo: String,
    /// What it holds.
    pub kind: RepoKind,
    /// Downloads of the last 30 days.
    pub downloads: Option<u64>,
    /// Likes.
    pub likes: Option<u64>,
    /// Licence by its tag: `apache-2.0`.
    pub licence: Option<String>,
    /// Whether a licence must be accepted first.
    pub gated: bool,
    /// Whether only some accounts see it.
    pub private: bool,
    /// Last change, in seconds since 1970.
    pub modified_unix_s: Option<u64>,
}

/// Asks what a repo is. Costs the Hub a few requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DescribeRepo {
    /// As people type it: `org/name`, a link, `hf://…`.
    pub repo: String,
    /// Branch, tag, commit or `refs/pr/N`.
    #[serde(default)]
    pub revision: Option<String>,
}

impl Method for DescribeRepo {
    const NAME: &str = "repos.describe";
    type Reply = RepoDescription;
}

/// What a repo is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RepoDescription {
    /// Under its name of today.
    pub repo: String,
    /// What it holds.
    pub kind: RepoKind,
    /// The revision that was asked for.
    pub revision: String,
    /// Full sha of its commit.
    pub commit: String,
    /// When that was made, in seconds since 1970; 0 where the Hub does not say.
    #[serde(default)]
    pub modified_unix_s: u64,
    /// The folder that a pasted link named; empty for the whole repo.
    pub subfolder: String,
    /// Files, as far as they were counted.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Whether all files were counted; a huge repo is not.
    pub is_complete: bool,
    /// Whether a licence must be accepted first.
    pub gated: bool,
    /// Its page, for a browser.
    pub page: String,
    /// Branches, `main` first.
    pub branches: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Where `mounts.add` would put it without a folder named.
    pub default_dir: String,
}

/// Lists one folder of a repo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ListFolder {
    /// As people type it.
    pub repo: String,
    /// Branch, tag, commit or `refs/pr/N`.
    #[serde(default)]
    pub revision: Option<String>,
    /// Path of the folder in the repo; empty for its root.
    #[serde(default)]
    pub path: String,
}

impl Method for ListFolder {
    const NAME: &str = "repos.list";
    type Reply = Folder;
}

/// A folder's entries, folders first, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Folder {
    /// At most [`ENTRIES_MAX`].
    pub entries: Vec<FolderEntry>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// Entries listed at most.
pub const ENTRIES_MAX: usize = 5_000;

/// A file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FolderEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Length of a file, where the Hub says it.
    pub size: Option<u64>,
}

/// Asks for a repo's README.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GetReadme {
    /// As people type it.
    pub repo: String,
    /// Branch, tag, commit or `refs/pr/N`.
    #[serde(default)]
    pub revision: Option<String>,
}

impl Method for GetReadme {
    const NAME: &str = "repos.readme";
    type Reply = Readme;
}

/// A repo's README.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Readme {
    /// Markdown, cut at 128 KiB; `None` if there is none.
    pub markdown: Option<String>,
}
