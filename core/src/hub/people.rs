//! Who the token belongs to, and which repos match some words. For people to look at; nothing of a mount depends on it.

use super::map::{Question, Subject};
use super::{Hub, route};
use crate::Result;
use crate::repo::{RepoId, RepoKind};
use serde::Deserialize;
use std::time::SystemTime;

/// Hits asked for at most.
pub const SEARCH_HITS_MAX: usize = 100;

/// Who the token belongs to, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "WireAccount")]
pub struct Account {
    /// Name on the Hub.
    pub name: String,
    /// Name for people.
    pub full_name: Option<String>,
    /// Orgs that it belongs to.
    pub orgs: Vec<Org>,
    /// What the token may do: `read`, `write`, `fineGrained`; `None` where the Hub does not say (OAuth).
    pub role: Option<String>,
    /// When the token ends, if it does.
    pub expires: Option<SystemTime>,
}

/// An answer of `/api/whoami-v2`, as huggingface.js has it (`packages/hub/src/lib/who-am-i.ts`).
#[derive(Deserialize)]
struct WireAccount {
    name: String,
    fullname: Option<String>,
    #[serde(default)]
    orgs: Vec<Org>,
    #[serde(default)]
    auth: WireAuth,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAuth {
    access_token: Option<WireToken>,
    /// Of an OAuth login.
    expires_at: Option<String>,
}

#[derive(Deserialize)]
struct WireToken {
    role: Option<String>,
    expiration: Option<String>,
}

impl From<WireAccount> for Account {
    fn from(wire: WireAccount) -> Self {
        let (role, expiration) = wire.auth.access_token.map_or((None, None), |token| (token.role, token.expiration));
        let expires = expiration.or(wire.auth.expires_at);
        Account {
            name: wire.name,
            full_name: wire.fullname,
            orgs: wire.orgs,
            role,
            expires: expires.as_deref().and_then(super::commit::time),
        }
    }
}

/// An org of an account.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Org {
    /// Name on the Hub.
    pub name: String,
}

/// What hits are sorted by, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchSort {
    /// What people look at now.
    #[default]
    Trending,
    /// Downloads of the last 30 days.
    Downloads,
    /// Likes.
    Likes,
    /// Last change.
    Modified,
}

/// What to search for.
#[derive(Debug, Clone)]
pub struct Search {
    /// Kind of repo.
    pub kind: RepoKind,
    /// Words that the name has; empty for all.
    pub words: String,
    /// Only repos of this account or org.
    pub author: Option<String>,
    /// Order.
    pub sort: SearchSort,
    /// Hits wanted, at most [`SEARCH_HITS_MAX`].
    pub limit: usize,
}

/// A repo that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The repo.
    pub repo: RepoId,
    /// Downloads of the last 30 days.
    pub downloads: Option<u64>,
    /// Likes.
    pub likes: Option<u64>,
    /// Last change.
    pub modified: Option<SystemTime>,
    /// Whether only some accounts see it.
    pub private: bool,
    /// Whether a licence must be accepted first.
    pub gated: bool,
    /// Licence by its tag, as `apache-2.0`.
    pub licence: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    id: String,
    downloads: Option<u64>,
    likes: Option<u64>,
    last_modified: Option<String>,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    gated: super::commit::Gated,
    #[serde(default)]
    tags: Vec<String>,
}

impl Wire {
    /// `None` for a repo whose name we could not mount.
    fn hit(self, kind: RepoKind) -> Option<Hit> {
        Some(Hit {
            repo: RepoId::new(kind, self.id).ok()?,
            downloads: self.downloads,
            likes: self.likes,
            modified: self.last_modified.as_deref().and_then(super::commit::time),
            private: self.private,
            gated: self.gated.is_on(),
            licence: self.tags.iter().find_map(|tag| tag.strip_prefix("license:")).map(str::to_owned),
        })
    }
}

impl Hub {
    /// Who the token belongs to; [`NotLoggedIn`](crate::ErrorKind::NotLoggedIn) without one.
    pub async fn whoami(&self) -> Result<Account> {
        let name = "this account".to_owned();
        let question =
            Question { subject: Subject::Account, name: name.clone(), page: None, logged_in: self.is_logged_in() };
        self.get(route::api_root(&self.config, "whoami-v2")?, question).await?.json(&name)
    }

    /// Repos that match, in one page.
    pub async fn search(&self, search: &Search) -> Result<Vec<Hit>> {
        let mut url = route::api_root(&self.config, search.kind.api_segment())?;
        let sort = match search.sort {
            SearchSort::Trending => "trendingScore",
            SearchSort::Downloads => "downloads",
            SearchSort::Likes => "likes",
            SearchSort::Modified => "lastModified",
        };
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("sort", sort).append_pair("direction", "-1");
            query.append_pair("limit", &search.limit.min(SEARCH_HITS_MAX).to_string());
            // `full` would name every file of every hit; each kind of repo refuses fields that it does not have.
            let fields: &[&str] = match search.kind {
                RepoKind::Model | RepoKind::Dataset => {
                    &["downloads", "likes", "lastModified", "private", "gated", "tags"]
                }
                RepoKind::Space => &["likes", "lastModified", "private", "tags"],
            };
            for field in fields {
                query.append_pair("expand", field);
            }
            if !search.words.trim().is_empty() {
                query.append_pair("search", search.words.trim());
            }
            if let Some(author) = &search.author {
                query.append_pair("author", author);
            }
        }
        let name = "search".to_owned();
        let question =
            Question { subject: Subject::Other, name: name.clone(), page: None, logged_in: self.is_logged_in() };
        let hits: Vec<Wire> = self.get(url, question).await?.json(&name)?;
        Ok(hits.into_iter().take(SEARCH_HITS_MAX).filter_map(|hit| hit.hit(search.kind)).collect())
    }
}
