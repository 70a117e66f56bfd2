//! The names of the Hub folder: from a name in one of its folders to what it can mean, and from a repo to its name. Never asks
//! anybody, and never guesses.
//!
//! ```text
//! org/name   org/name@revision   name@revision          models
//! datasets/…                      spaces/org/name        the others
//! ```
//!
//! One grammar for every system: what Windows does not take in a name is percent-encoded in UTF-8 wherever it is, so that a
//! path means the same on all of them. That is `/` and `%` of a revision, four characters that git allows and Windows does not,
//! and the first letter of a device's name (`aux` is shown as `%61ux`, and found under both).

use crate::junk;
use crate::repo::name::{COMPONENT_BYTES_MAX, check_repo, check_revision};
use crate::repo::spec::is_hub_page;
use crate::repo::{RepoId, RepoKind};
use percent_encoding::percent_decode_str;
use std::fmt::Write;

/// What a revision may hold and a file name of Windows (or a folder of ours) may not.
const ENCODED: [char; 6] = ['/', '%', '"', '<', '>', '|'];

/// Names of Windows devices; with any extension they are devices too.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Devices that have a number.
const NUMBERED: [&str; 2] = ["com", "lpt"];

/// First segments that are kinds of repos, here or in what people paste.
const RESERVED: [&str; 3] = ["datasets", "spaces", "models"];

/// A folder of the Hub folder itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// The root: accounts with models, and the other kinds.
    Root,
    /// `datasets` or `spaces`.
    Kind(RepoKind),
    /// The repos of one kind that an account has.
    Account(RepoKind, Box<str>),
}

/// A repo, and which revision of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// The repo.
    pub repo: RepoId,
    /// Its revision; `None` where none is named.
    pub revision: Option<String>,
}

/// What a name can mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A folder that is always there.
    Place(Place),
    /// An account, or a repo that has none: whoever knows the account need not ask.
    Account(Place, Option<Wanted>),
    /// A repo.
    Repo(Wanted),
}

/// What `name` can mean in `place`; `None` if nothing.
pub(super) fn meaning(place: &Place, name: &str) -> Option<Meaning> {
    if name.len() > COMPONENT_BYTES_MAX || junk::is_junk(name) {
        return None;
    }
    match place {
        Place::Root if name == RepoKind::Dataset.api_segment() => Some(Meaning::Place(Place::Kind(RepoKind::Dataset))),
        Place::Root if name == RepoKind::Space.api_segment() => Some(Meaning::Place(Place::Kind(RepoKind::Space))),
        Place::Root => first(RepoKind::Model, name),
        Place::Kind(kind) => first(*kind, name),
        Place::Account(kind, account) => {
            let (base, revision) = split(name)?;
            wanted(*kind, format!("{account}/{base}"), revision).map(Meaning::Repo)
        }
    }
}

/// A name below the root of a kind.
fn first(kind: RepoKind, name: &str) -> Option<Meaning> {
    let (base, revision) = split(name)?;
    let is_reserved = kind == RepoKind::Model && (is_hub_page(&base) || RESERVED.contains(&base.as_str()));
    // What programs look for beside their files (`package.json`, `pyproject.toml`) has a dot, and no account has.
    if is_reserved || base.contains('.') || check_repo(&base).is_err() {
        return None;
    }
    // A Space always has an account.
    let alone = if kind == RepoKind::Space { None } else { wanted(kind, base.clone(), revision.clone()) };
    match revision {
        Some(_) => alone.map(Meaning::Repo),
        None => Some(Meaning::Account(Place::Account(kind, base.into()), alone)),
    }
}

/// A name's repo part and its revision, decoded.
fn split(name: &str) -> Option<(String, Option<String>)> {
    let decode = |text: &str| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
    let (base, revision) = match name.split_once('@') {
        Some((base, revision)) => (decode(base)?, Some(decode(revision)?)),
        None => (decode(name)?, None),
    };
    // One name is one part of a repo's.
    (!base.contains('/')).then_some((base, revision))
}

fn wanted(kind: RepoKind, name: String, revision: Option<String>) -> Option<Wanted> {
    if check_repo(&name).is_err() || revision.as_deref().is_some_and(|revision| check_revision(revision).is_err()) {
        return None;
    }
    Some(Wanted { repo: RepoId { kind, name }, revision })
}

/// Where a repo is in the folder: `datasets/org/name@refs%2Fpr%2F2`. `main` is what is shown where none is named.
pub fn path(repo: &RepoId, revision: Option<&str>) -> String {
    let kind = match repo.kind {
        RepoKind::Model => "",
        RepoKind::Dataset => "datasets/",
        RepoKind::Space => "spaces/",
    };
    let mut name = repo.name.clone();
    if let Some(revision) = revision.filter(|revision| *revision != "main") {
        name += "@";
        name += &encode(revision);
    }
    let parts: Vec<String> = name.split('/').map(without_device).collect();
    format!("{kind}{}", parts.join("/"))
}

/// Text as (part of) one name.
pub fn encode(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut encoded, c| {
        if ENCODED.contains(&c) {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{:02X}", u32::from(c));
        } else {
            encoded.push(c);
        }
        encoded
    })
}

/// `name`, with its first letter encoded where Windows takes it for a device.
fn without_device(name: &str) -> String {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_numbered = || {
        let number = NUMBERED.iter().find_map(|device| stem.strip_prefix(device));
        number.is_some_and(|number| number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    match name.as_bytes().first() {
        Some(first) if DEVICES.contains(&stem.as_str()) || is_numbered() => format!("%{first:02x}{}", &name[1..]),
        _ => name.to_owned(),
    }
}

/// A name in a folder, for `crate::fuzz`.
#[cfg(test)]
pub(crate) fn fuzz(data: &[u8]) {
    let Ok(name) = std::str::from_utf8(data) else { return };
    for kind in [RepoKind::Model, RepoKind::Dataset, RepoKind::Space] {
        for place in [Place::Root, Place::Kind(kind), Place::Account(kind, "org".into())] {
            let Some(Meaning::Repo(wanted)) = meaning(&place, name) else { continue };
            let shown = path(&wanted.repo, wanted.revision.as_deref());
            let last = shown.rsplit('/').next().unwrap_or_default();
            let again = meaning(&place, last);
            // `main` and what is shown without a revision are one.
            let is_main = wanted.revision.as_deref() == Some("main");
            let expected = Wanted { revision: wanted.revision.clone().filter(|_| !is_main), ..wanted.clone() };
            let is_same = match &again {
                Some(Meaning::Repo(again)) => *again == expected,
                Some(Meaning::Account(_, again)) => again.as_ref() == Some(&expected),
                // A long revision's name is longer when it is encoded.
                Some(Meaning::Place(_)) | None => last.len() > COMPONENT_BYTES_MAX || junk::is_junk(last),
            };
            assert!(is_same, "{name:?} in {place:?} is {wanted:?}, shown as {shown:?}, which is {again:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RepoKind::{Dataset, Model, Space};

    fn account(kind: RepoKind, name: &str) -> Place {
        Place::Account(kind, name.into())
    }

    fn repo(kind: RepoKind, name: &str, revision: Option<&str>) -> Meaning {
        Meaning::Repo(Wanted { repo: RepoId { kind, name: name.into() }, revision: revision.map(Into::into) })
    }

    fn account_or(kind: RepoKind, name: &str, is_repo: bool) -> Option<Meaning> {
        let wanted = Wanted { repo: RepoId { kind, name: name.into() }, revision: None };
        Some(Meaning::Account(account(kind, name), is_repo.then_some(wanted)))
    }

    #[test]
    fn each_name_means_what_the_grammar_says() {
        #[track_caller]
        fn check(place: &Place, name: &str, expected: Option<Meaning>) {
            assert_eq!(meaning(place, name), expected, "{name:?} in {place:?}");
        }
        let root = Place::Root;
        check(&root, "datasets", Some(Meaning::Place(Place::Kind(Dataset))));
        check(&root, "spaces", Some(Meaning::Place(Place::Kind(Space))));
        check(&root, "Qwen", account_or(Model, "Qwen", true));
        check(&root, "gpt2", account_or(Model, "gpt2", true));
        check(&root, "gpt2@v1.0", Some(repo(Model, "gpt2", Some("v1.0"))));
        check(&root, "gpt2@refs%2Fpr%2F2", Some(repo(Model, "gpt2", Some("refs/pr/2"))));
        check(&root, "aux", account_or(Model, "aux", true));
        check(&root, "%61ux", account_or(Model, "aux", true));
        check(&Place::Kind(Dataset), "squad", account_or(Dataset, "squad", true));
        check(&Place::Kind(Dataset), "squad@main", Some(repo(Dataset, "squad", Some("main"))));
        check(&Place::Kind(Dataset), "datasets", account_or(Dataset, "datasets", true));
        check(&Place::Kind(Space), "org", account_or(Space, "org", false));
        check(&Place::Kind(Space), "org@v1", None);

        let org = account(Model, "org");
        check(&org, "name", Some(repo(Model, "org/name", None)));
        check(&org, "llama.cpp_v2-x", Some(repo(Model, "org/llama.cpp_v2-x", None)));
        check(&org, "name@main", Some(repo(Model, "org/name", Some("main"))));
        check(&org, "name@v1.0@beta", Some(repo(Model, "org/name", Some("v1.0@beta"))));
        check(&org, "name@refs%2Fpr%2F2", Some(repo(Model, "org/name", Some("refs/pr/2"))));
        check(&org, "name@refs%2fconvert%2fparquet", Some(repo(Model, "org/name", Some("refs/convert/parquet"))));
        check(&org, "name@50%25", Some(repo(Model, "org/name", Some("50%"))));
        check(&org, "name@a%7Cb", Some(repo(Model, "org/name", Some("a|b"))));
        check(&account(Space, "org"), "name", Some(repo(Space, "org/name", None)));
    }

    #[test]
    fn what_cannot_be_a_repo_means_nothing() {
        let long = "x".repeat(97);
        let longest = format!("name@{}", "x".repeat(251));
        for name in [
            "",
            ".",
            "..",
            ".git",
            ".DS_Store",
            "._x",
            "desktop.ini",
            "autorun.inf",
            "Thumbs.db",
            ".Trash-1000",
            "a b",
            "a:b",
            "a*b",
            "a\\b",
            "a\0b",
            "é",
            "-a",
            "a-",
            "a.",
            "a--b",
            "a..b",
            "a.git",
            "name@",
            "name@a b",
            "name@a..b",
            "name@.x",
            "name@x.lock",
            "name@%2F",
            "name@a%ff",
            "@v1",
            "a%2Fb",
            "%",
            "a%",
            "~",
            "$RECYCLE.BIN",
            "System Volume Information",
            &long,
            &longest,
        ] {
            for place in [Place::Root, Place::Kind(Dataset), account(Model, "org")] {
                assert_eq!(meaning(&place, name), None, "{name:?} in {place:?}");
            }
        }
        // Files that programs look for on their way up, pages of the Hub, and what people take for a kind.
        for name in ["package.json", "pyproject.toml", "Cargo.toml", "models", "docs", "settings", "api", "docs@main"] {
            assert_eq!(meaning(&Place::Root, name), None, "{name:?}");
        }
    }

    #[test]
    fn every_repo_has_a_name_that_leads_to_it_and_that_windows_takes() {
        #[track_caller]
        fn check(kind: RepoKind, name: &str, revision: Option<&str>, expected: &str) {
            let id = RepoId { kind, name: name.into() };
            let written = path(&id, revision);
            assert_eq!(written, expected);
            let (mut place, mut found) = (Place::Root, None);
            for part in written.split('/') {
                assert!(
                    !part.contains(['<', '>', ':', '"', '|', '?', '*', '\\']) && !part.ends_with(['.', ' ']),
                    "{part}"
                );
                found = meaning(&place, part);
                if let Some(Meaning::Place(next) | Meaning::Account(next, _)) = &found {
                    place = next.clone();
                }
            }
            let wanted = match found {
                Some(Meaning::Repo(wanted) | Meaning::Account(_, Some(wanted))) => wanted,
                other => panic!("{written}: {other:?}"),
            };
            let revision = revision.filter(|revision| *revision != "main").map(str::to_owned);
            assert_eq!(wanted, Wanted { repo: id, revision });
        }
        check(Model, "org/name", None, "org/name");
        check(Model, "org/name", Some("main"), "org/name");
        check(Model, "gpt2", Some("v1"), "gpt2@v1");
        check(Dataset, "org/name", Some("refs/pr/2"), "datasets/org/name@refs%2Fpr%2F2");
        check(Space, "org/name", Some("a%2Fb\"<>|"), "spaces/org/name@a%252Fb%22%3C%3E%7C");
        check(Model, "aux/name", None, "%61ux/name");
        check(Model, "org/NUL.v1", None, "org/%4eUL.v1");
        check(Dataset, "com1/lpt9", None, "datasets/%63om1/%6cpt9");
        check(Model, "com10/console", None, "com10/console");
    }
}
