//! The device name of a mount, `weightless:<repo>@<revision>`: what `df` and `/proc/mounts` show, and how a mount of ours
//! says what it is to a process that did not make it.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::fmt;

/// What a mount shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountSource {
    /// Repo, as the user names it: `org/name`, `datasets/org/name`.
    pub repo: String,
    /// Revision, as the user named it.
    pub revision: String,
}

const PREFIX: &str = "weightless:";

/// A comma would end the option and a backslash escape it on its way through `fusermount3`, and through `mount(2)` not: so
/// both are encoded, and a revision can never add a mount option.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b',').add(b'\\').add(b'%').add(b'"');

impl fmt::Display for MountSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repo = utf8_percent_encode(&self.repo, ENCODED);
        let revision = utf8_percent_encode(&self.revision, ENCODED);
        write!(f, "{PREFIX}{repo}@{revision}")
    }
}

impl MountSource {
    /// Reads what `Display` wrote.
    pub fn parse(text: &str) -> Option<MountSource> {
        let (repo, revision) = text.strip_prefix(PREFIX)?.split_once('@')?;
        let decode = |text| percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned());
        Some(MountSource { repo: decode(repo)?, revision: decode(revision)? })
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
            let source = MountSource { repo: repo.to_owned(), revision: revision.to_owned() };
            assert_eq!(source.to_string(), expected);
            assert_eq!(MountSource::parse(expected), Some(source));
        }
        for foreign in ["sshfs", "weightless:no-revision", "weightless:a%ff@main", ""] {
            assert_eq!(MountSource::parse(foreign), None, "{foreign}");
        }
    }
}
