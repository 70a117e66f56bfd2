//! The device name of a mount, `weightless:<repo>@<revision>` or `weightless:hub`: what `df` and `/proc/mounts` show, and how a
//! mount of ours says what it is to a process that did not make it.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::fmt;
use weightless_core::mount::Mount;

/// What a mount shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountSource {
    /// One repo.
    Repo {
        /// Its name, as the user names it: `org/name`, `datasets/org/name`.
        repo: String,
        /// Revision, as the user named it.
        revision: String,
    },
    /// Every repo, under its name.
    HubFolder,
}

const PREFIX: &str = "weightless:";

/// The Hub folder's name. It has no `@`, so it is no repo.
const HUB: &str = "hub";

/// A comma would end the option and a backslash escape it on its way through `fusermount3`, and through `mount(2)` not: so
/// both are encoded, and a revision can never add a mount option.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b',').add(b'\\').add(b'%').add(b'"');

impl fmt::Display for MountSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MountSource::Repo { repo, revision } = self else { return write!(f, "{PREFIX}{HUB}") };
        let repo = utf8_percent_encode(repo, ENCODED);
        let revision = utf8_percent_encode(revision, ENCODED);
        write!(f, "{PREFIX}{repo}@{revision}")
    }
}

impl MountSource {
    /// What a mount shows.
    pub fn of(mount: &Mount) -> Self {
        MountSource::Repo { repo: mount.repo().to_string(), revision: mount.revision().to_owned() }
    }

    /// Reads what `Display` wrote.
    pub fn parse(text: &str) -> Option<MountSource> {
        let text = text.strip_prefix(PREFIX)?;
        if text == HUB {
            return Some(MountSource::HubFolder);
        }
        let (repo, revision) = text.split_once('@')?;
        let decode = |text| percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned());
        Some(MountSource::Repo { repo: decode(repo)?, revision: decode(revision)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_name_says_what_is_mounted_and_adds_no_option() {
        let table = [
            ("org/name", "main", "weightless:org/name@main"),
            ("datasets/org/name", "refs/pr/2", "weightless:datasets/org/name@refs/pr/2"),
            ("gpt2", "v1.0@beta", "weightless:gpt2@v1.0@beta"),
            ("gpt2", "a,allow_other", "weightless:gpt2@a%2Callow_other"),
            ("gpt2", "a\\b c%2C", "weightless:gpt2@a%5Cb%20c%252C"),
            ("gpt2", "é", "weightless:gpt2@%C3%A9"),
        ];
        for (repo, revision, expected) in table {
            let source = MountSource::Repo { repo: repo.to_owned(), revision: revision.to_owned() };
            assert_eq!(source.to_string(), expected);
            assert_eq!(MountSource::parse(expected), Some(source));
        }
        assert_eq!(MountSource::HubFolder.to_string(), "weightless:hub");
        assert_eq!(MountSource::parse("weightless:hub"), Some(MountSource::HubFolder));
        for foreign in ["sshfs", "weightless:no-revision", "weightless:a%ff@main", ""] {
            assert_eq!(MountSource::parse(foreign), None, "{foreign}");
        }
    }
}
