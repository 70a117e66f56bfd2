//! Reads a repo, a revision and a path out of what a person types or pastes. Never asks the network: whether the repo
//! exists is the Hub's to say.

use super::{RepoId, RepoKind, name};
use crate::{Error, ErrorKind, Result};
use percent_encoding::percent_decode_str;
use url::Url;

/// Longest input that is looked at, in bytes: a link with a path of many long names, and then some.
const INPUT_BYTES_MAX: usize = 16 * 1024;
/// How much of an input an error repeats, in characters.
const ECHO_CHARS_MAX: usize = 120;
/// Hosts whose links mean the Hub, whatever the endpoint is.
const HUB_HOSTS: [&str; 3] = ["huggingface.co", "www.huggingface.co", "hf.co"];
/// Segments of a repo's page that are followed by a revision and a path.
const FILE_PAGES: [&str; 6] = ["tree", "blob", "resolve", "raw", "blame", "edit"];
/// Segments of a repo's page that are followed by a revision only.
const REVISION_PAGES: [&str; 4] = ["commit", "commits", "revision", "paths-info"];
/// Other pages of a repo: they name the repo and nothing else.
const REPO_PAGES: [&str; 8] = ["discussions", "settings", "viewer", "embed", "community", "activity", "logs", "refs"];
/// First segments of the Hub's own pages, which can never be an org.
const HUB_PAGES: [&str; 26] = [
    "api",
    "blog",
    "chat",
    "collections",
    "docs",
    "enterprise",
    "inference",
    "join",
    "kernels",
    "learn",
    "login",
    "logout",
    "metrics",
    "new",
    "new-dataset",
    "new-space",
    "notifications",
    "organizations",
    "papers",
    "posts",
    "pricing",
    "privacy",
    "settings",
    "support",
    "tasks",
    "terms-of-service",
];

/// Whether `segment` is a page of the Hub's own, so that no account can have this name.
pub(crate) fn is_hub_page(segment: &str) -> bool {
    HUB_PAGES.contains(&segment)
}

/// What somebody asked for: a repo, perhaps a revision, perhaps a file or folder in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoSpec {
    /// The repo.
    pub repo: RepoId,
    /// Branch, tag, commit or `refs/pr/N`, decoded; `None` where none was named.
    pub revision: Option<String>,
    /// Path inside the repo, decoded, without a slash at either end; `None` for the whole repo.
    pub path: Option<String>,
}

impl RepoSpec {
    /// Parses `org/name`, `gpt2`, `datasets/org/name`, each with `@revision`; `hf://…`; links of `endpoint` and of the
    /// Hub. An [`ErrorKind::InvalidInput`] says what is wrong in its advice.
    pub fn parse(input: &str, endpoint: &Url) -> Result<RepoSpec> {
        let text = input.trim();
        let parsed = if text.len() > INPUT_BYTES_MAX {
            Err("This is too long to be a repo.")
        } else if let Some(rest) = strip_scheme(text, "hf://") {
            parse_hf(rest)
        } else if strip_scheme(text, "https://").is_some() || strip_scheme(text, "http://").is_some() {
            parse_link(text, endpoint)
        } else if let Some(rest) = text.strip_prefix("git@hf.co:").or_else(|| text.strip_prefix("git@huggingface.co:"))
        {
            parse_plain(rest.strip_suffix(".git").unwrap_or(rest))
        } else if text.contains("://") {
            Err("Only links of the Hub and hf:// are understood.")
        } else if starts_with_hub_host(text) {
            parse_link(&format!("https://{text}"), endpoint)
        } else {
            parse_plain(text)
        };
        parsed.and_then(RepoSpec::checked).map_err(|reason| invalid(text, reason))
    }

    fn checked(self) -> Result<Self, &'static str> {
        name::check_repo(&self.repo.name)?;
        if self.repo.kind == RepoKind::Space && !self.repo.name.contains('/') {
            return Err("A Space is always spaces/org/name.");
        }
        if let Some(revision) = &self.revision {
            name::check_revision(revision)?;
        }
        if let Some(path) = &self.path {
            name::check_path(path)?;
        }
        Ok(self)
    }
}

/// An [`ErrorKind::InvalidInput`] about `input`, which is echoed without anything that looks like a token.
pub(crate) fn invalid(input: &str, reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidInput, echo(input)).advise(reason)
}

/// People paste clone addresses with a token inside (`https://user:hf_…@huggingface.co/…`), and errors end up in logs.
fn echo(input: &str) -> String {
    let without_user = match input.split_once("://") {
        Some((scheme, rest)) => {
            let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            match rest[..authority_end].rfind('@') {
                Some(at) => format!("{scheme}://…{}", &rest[at..]),
                None => input.to_owned(),
            }
        }
        None => input.to_owned(),
    };
    let mut shown = String::new();
    let mut rest = without_user.as_str();
    while let Some(at) = rest.find("hf_") {
        let tail = &rest[at + 3..];
        let secret = tail.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tail.len());
        shown.push_str(&rest[..at + 3]);
        shown.push_str(if secret >= 16 { "…" } else { &tail[..secret] });
        rest = &tail[secret..];
    }
    shown.push_str(rest);
    let mut cut: String =
        shown.chars().take(ECHO_CHARS_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if shown.chars().nth(ECHO_CHARS_MAX).is_some() {
        cut.push('…');
    }
    cut
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let head = text.get(..scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then(|| &text[scheme.len()..])
}

fn starts_with_hub_host(text: &str) -> bool {
    HUB_HOSTS.iter().any(|host| text.strip_prefix(host).is_some_and(|rest| rest.starts_with('/')))
}

/// Splits off `datasets/`, `spaces/` or `models/`.
fn split_kind(text: &str) -> (RepoKind, &str) {
    for (prefix, kind) in [("datasets/", RepoKind::Dataset), ("spaces/", RepoKind::Space), ("models/", RepoKind::Model)]
    {
        if let Some(rest) = text.strip_prefix(prefix) {
            return (kind, rest);
        }
    }
    (RepoKind::Model, text)
}

fn decode(text: &str) -> Result<String, &'static str> {
    Ok(percent_decode_str(text).decode_utf8().map_err(|_| "The percent-encoding is not UTF-8.")?.into_owned())
}

/// `[kind/]org/name[@revision]`: everything after `@` is the revision, slashes included.
fn parse_plain(text: &str) -> Result<RepoSpec, &'static str> {
    let (kind, rest) = split_kind(text);
    let (name, revision) = match rest.split_once('@') {
        Some((name, revision)) => (name, Some(decode(revision)?)),
        None => (rest, None),
    };
    let name = name.strip_suffix('/').unwrap_or(name);
    Ok(RepoSpec { repo: RepoId { kind, name: name.to_owned() }, revision, path: None })
}

/// `[kind/]org/name[@revision][/path]`: as the Hub's Python file system reads it, so a revision with a slash is written
/// `%2F`, except `refs/pr/N` and its like, and the path is taken as it stands, `%` and all.
fn parse_hf(text: &str) -> Result<RepoSpec, &'static str> {
    let (kind, rest) = split_kind(text);
    let Some(at) = rest.find('@').filter(|at| rest[..*at].matches('/').count() <= 1) else {
        let mut parts = rest.splitn(3, '/');
        let name: Vec<&str> = parts.by_ref().take(2).filter(|part| !part.is_empty()).collect();
        return Ok(RepoSpec {
            repo: RepoId { kind, name: name.join("/") },
            revision: None,
            path: path_of(parts.next()),
        });
    };
    let (name, after) = (&rest[..at], &rest[at + 1..]);
    let segments: Vec<&str> = after.split('/').collect();
    let (revision, path) = take_revision(&segments);
    Ok(RepoSpec {
        repo: RepoId { kind, name: name.to_owned() },
        revision: Some(decode(&revision)?),
        path: path_of(Some(&path.join("/"))),
    })
}

fn path_of(path: Option<&str>) -> Option<String> {
    path.map(|path| path.trim_end_matches('/')).filter(|path| !path.is_empty()).map(str::to_owned)
}

/// The revision at the head of `segments`: one segment, or three for `refs/pr/N`, `refs/convert/parquet` and their like.
fn take_revision<S: AsRef<str>>(segments: &[S]) -> (String, &[S]) {
    let part = |ix: usize| segments.get(ix).map(AsRef::as_ref);
    let is_ref = part(0) == Some("refs") && matches!(part(1), Some("pr" | "convert" | "heads" | "tags"));
    let len = if is_ref { segments.len().min(3) } else { segments.len().min(1) };
    let revision: Vec<&str> = segments[..len].iter().map(AsRef::as_ref).collect();
    (revision.join("/"), &segments[len..])
}

/// A link of the Hub: the repo's page, or one of a revision, folder or file in it. Query and fragment say nothing.
fn parse_link(text: &str, endpoint: &Url) -> Result<RepoSpec, &'static str> {
    let url = Url::parse(text).map_err(|_| "This is not a well-formed link.")?;
    let host = url.host_str().unwrap_or_default();
    let of_endpoint =
        url.host_str() == endpoint.host_str() && url.port_or_known_default() == endpoint.port_or_known_default();
    if !of_endpoint && !HUB_HOSTS.contains(&host) {
        return Err("This link is not one of the Hub.");
    }
    let mut path = url.path();
    if of_endpoint {
        let prefix = endpoint.path().trim_end_matches('/');
        path = path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(path);
    }
    let segments: Vec<String> =
        path.split('/').filter(|segment| !segment.is_empty()).map(decode).collect::<Result<_, _>>()?;
    let mut segments = &segments[..];
    let first = |segments: &[String]| segments.first().cloned().unwrap_or_default();

    let by_api = first(segments) == "api" && segments.len() > 1;
    if by_api {
        segments = &segments[1..];
    }
    let kind = match first(segments).as_str() {
        "datasets" => RepoKind::Dataset,
        "spaces" => RepoKind::Space,
        "models" if by_api => RepoKind::Model,
        _ if by_api => return Err("This page of the Hub is not a repo."),
        "models" => return Err("This page of the Hub is not a repo."),
        page if is_hub_page(page) => return Err("This page of the Hub is not a repo."),
        _ => RepoKind::Model,
    };
    if kind != RepoKind::Model || by_api {
        segments = &segments[1..];
    }
    if segments.is_empty() {
        return Err("This link names no repo.");
    }

    let is_page = |ix: usize| segments.get(ix).is_some_and(|s| repo_page(s));
    // `gpt2/tree/main` is a repo of one segment, `org/tree` and `org/tree/tree/main` are repos named `tree`.
    let name_len = if segments.len() == 1 || (segments.len() > 2 && is_page(1) && !is_page(2)) { 1 } else { 2 };
    let repo = RepoId { kind, name: segments[..name_len].join("/").trim_end_matches(".git").to_owned() };
    let rest = &segments[name_len..];
    let Some((page, rest)) = rest.split_first() else { return Ok(RepoSpec { repo, revision: None, path: None }) };
    match page.as_str() {
        _ if rest.is_empty() => Ok(RepoSpec { repo, revision: None, path: None }),
        page if FILE_PAGES.contains(&page) => {
            let (revision, path) = take_revision(rest);
            Ok(RepoSpec { repo, revision: Some(revision), path: path_of(Some(&path.join("/"))) })
        }
        page if REVISION_PAGES.contains(&page) => {
            Ok(RepoSpec { repo, revision: Some(take_revision(rest).0), path: None })
        }
        page if REPO_PAGES.contains(&page) => Ok(RepoSpec { repo, revision: None, path: None }),
        _ => Err("This page of a repo names no file, folder or revision."),
    }
}

fn repo_page(segment: &str) -> bool {
    FILE_PAGES.contains(&segment) || REVISION_PAGES.contains(&segment) || REPO_PAGES.contains(&segment)
}

#[cfg(test)]
mod tests;
