//! Reads a path into what it asks for. Never looks at repos.

use http::Method;

use crate::http::segments;
use crate::repo::RepoKind;
use crate::sign::Scope;

/// What a path of the Hub's host asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    WhoAmI,
    Search { kind: RepoKind },
    CreateRepo,
    DeleteRepo,
    ValidateYaml,
    Repo { kind: RepoKind, id: String, rest: RepoRoute },
}

/// What is asked of one repo.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepoRoute {
    Info {
        revision: Option<String>,
    },
    Refs,
    Commits {
        revision: String,
    },
    Tree {
        revision: String,
        path: String,
    },
    PathsInfo {
        revision: String,
    },
    XetToken {
        scope: Scope,
        revision: String,
    },
    Resolve {
        revision: String,
        path: String,
    },
    /// Git's own view of a file: a pointer where git holds one.
    Raw {
        revision: String,
        path: String,
    },
    Preupload {
        revision: String,
    },
    Commit {
        revision: String,
    },
    Branch {
        name: String,
    },
    Tag {
        name: String,
    },
    LfsBatch,
}

/// First words after a repo id; an id without a namespace is told by them.
const WORDS: [&str; 13] = [
    "branch",
    "commit",
    "commits",
    "paths-info",
    "preupload",
    "raw",
    "refs",
    "resolve",
    "revision",
    "tag",
    "tree",
    "xet-read-token",
    "xet-write-token",
];

impl Route {
    /// Whether the Hub knows this method here.
    pub(super) fn takes(&self, method: &Method) -> bool {
        let reads = matches!(*method, Method::GET | Method::HEAD);
        match self {
            Self::WhoAmI | Self::Search { .. } => reads,
            Self::CreateRepo | Self::ValidateYaml => *method == Method::POST,
            Self::DeleteRepo => *method == Method::DELETE,
            Self::Repo { rest, .. } => match rest {
                RepoRoute::PathsInfo { .. }
                | RepoRoute::Preupload { .. }
                | RepoRoute::Commit { .. }
                | RepoRoute::LfsBatch => *method == Method::POST,
                RepoRoute::Branch { .. } | RepoRoute::Tag { .. } => matches!(*method, Method::POST | Method::DELETE),
                _ => reads,
            },
        }
    }

    pub(super) fn parse(path: &str) -> Option<Self> {
        let segments = segments(path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["api", "whoami-v2"] => Some(Self::WhoAmI),
            ["api", "repos", "create"] => Some(Self::CreateRepo),
            ["api", "repos", "delete"] => Some(Self::DeleteRepo),
            ["api", "validate-yaml"] => Some(Self::ValidateYaml),
            ["api", plural, rest @ ..] => {
                let kind = RepoKind::ALL.into_iter().find(|kind| kind.plural() == *plural)?;
                if matches!(rest, [] | [""]) {
                    return Some(Self::Search { kind });
                }
                let (id, rest) = repo_id(rest)?;
                Some(Self::Repo { kind, id, rest: api(rest)? })
            }
            _ => {
                let kind = RepoKind::ALL[1..].iter().copied().find(|kind| segments[0] == kind.plural());
                let rest = if kind.is_some() { &segments[1..] } else { &segments[..] };
                let (id, rest) = repo_id(rest)?;
                let kind = kind.unwrap_or(RepoKind::Model);
                match (id.strip_suffix(".git"), rest) {
                    (Some(id), ["info", "lfs", "objects", "batch"]) => {
                        Some(Self::Repo { kind, id: id.to_owned(), rest: RepoRoute::LfsBatch })
                    }
                    _ => Some(Self::Repo { kind, id, rest: page(rest)? }),
                }
            }
        }
    }
}

fn repo_id<'a>(segments: &'a [&'a str]) -> Option<(String, &'a [&'a str])> {
    match segments {
        [name] if !name.is_empty() => Some(((*name).to_owned(), &[])),
        // A word in third place wins, so that `org/tree` may be a repo.
        [namespace, name, word, ..] if WORDS.contains(word) => Some((format!("{namespace}/{name}"), &segments[2..])),
        [name, word, ..] if WORDS.contains(word) => Some(((*name).to_owned(), &segments[1..])),
        [namespace, name, ..] => Some((format!("{namespace}/{name}"), &segments[2..])),
        _ => None,
    }
}

fn api(rest: &[&str]) -> Option<RepoRoute> {
    Some(match rest {
        [] => RepoRoute::Info { revision: None },
        ["refs"] => RepoRoute::Refs,
        ["revision", rest @ ..] => RepoRoute::Info { revision: Some(whole_revision(rest)?) },
        ["commits", rest @ ..] => RepoRoute::Commits { revision: whole_revision(rest)? },
        ["paths-info", rest @ ..] => RepoRoute::PathsInfo { revision: whole_revision(rest)? },
        ["xet-read-token", rest @ ..] => RepoRoute::XetToken { scope: Scope::Read, revision: whole_revision(rest)? },
        ["xet-write-token", rest @ ..] => RepoRoute::XetToken { scope: Scope::Write, revision: whole_revision(rest)? },
        ["tree", rest @ ..] => {
            let (revision, path) = revision(rest)?;
            RepoRoute::Tree { revision, path }
        }
        ["preupload", rest @ ..] => RepoRoute::Preupload { revision: whole_revision(rest)? },
        ["commit", rest @ ..] => RepoRoute::Commit { revision: whole_revision(rest)? },
        ["branch", name] => RepoRoute::Branch { name: (*name).to_owned() },
        ["tag", name] => RepoRoute::Tag { name: (*name).to_owned() },
        _ => return None,
    })
}

fn page(rest: &[&str]) -> Option<RepoRoute> {
    match rest {
        ["resolve", rest @ ..] => {
            let (revision, path) = revision(rest)?;
            Some(RepoRoute::Resolve { revision, path })
        }
        ["raw", rest @ ..] => {
            let (revision, path) = revision(rest)?;
            Some(RepoRoute::Raw { revision, path })
        }
        _ => None,
    }
}

/// A revision and what follows it. A ref of its own folder may be written with or without encoded slashes.
fn revision(segments: &[&str]) -> Option<(String, String)> {
    let count = match segments {
        ["refs", "pr" | "convert", _, ..] => 3,
        [_, ..] => 1,
        [] => return None,
    };
    Some((segments[..count].join("/"), segments[count..].join("/")))
}

fn whole_revision(segments: &[&str]) -> Option<String> {
    revision(segments).filter(|(_, rest)| rest.is_empty()).map(|(revision, _)| revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, kind: RepoKind, id: &str, rest: RepoRoute) {
        assert_eq!(Route::parse(path), Some(Route::Repo { kind, id: id.into(), rest }), "{path}");
    }

    #[test]
    fn paths_are_read_as_the_hub_reads_them() {
        use RepoKind::{Dataset, Model, Space};
        let resolve = |revision: &str, path: &str| RepoRoute::Resolve { revision: revision.into(), path: path.into() };
        let tree = |revision: &str, path: &str| RepoRoute::Tree { revision: revision.into(), path: path.into() };
        check("/api/models/a/b", Model, "a/b", RepoRoute::Info { revision: None });
        check("/api/models/gpt2", Model, "gpt2", RepoRoute::Info { revision: None });
        check("/api/models/gpt2/refs", Model, "gpt2", RepoRoute::Refs);
        check("/api/datasets/a/b/revision/main", Dataset, "a/b", RepoRoute::Info { revision: Some("main".into()) });
        check(
            "/api/models/a/b/revision/refs%2Fpr%2F1",
            Model,
            "a/b",
            RepoRoute::Info { revision: Some("refs/pr/1".into()) },
        );
        check("/api/models/a/b/tree/main", Model, "a/b", tree("main", ""));
        check("/api/models/a/b/tree/refs%2Fpr%2F1/x/y", Model, "a/b", tree("refs/pr/1", "x/y"));
        check("/a/b/resolve/main/x.txt", Model, "a/b", resolve("main", "x.txt"));
        check("/a/b/resolve/refs/pr/1/x.txt", Model, "a/b", resolve("refs/pr/1", "x.txt"));
        check("/datasets/a/b/resolve/v%2F1/d/a%252Fb%20c", Dataset, "a/b", resolve("v/1", "d/a%2Fb c"));
        check("/api/models/a/tree/refs", Model, "a/tree", RepoRoute::Refs);
        check("/a/b.git/info/lfs/objects/batch", Model, "a/b", RepoRoute::LfsBatch);
        check("/spaces/a/b/resolve/main/app.py", Space, "a/b", resolve("main", "app.py"));
        check("/gpt2/resolve/main/x", Model, "gpt2", resolve("main", "x"));
        assert_eq!(Route::parse("/api/whoami-v2"), Some(Route::WhoAmI));
        assert_eq!(Route::parse("/api/datasets"), Some(Route::Search { kind: Dataset }));
        for path in ["/", "/api", "/api/models/a/b/nothing", "/a/b/resolve", "/api/models/a/b/revision"] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
