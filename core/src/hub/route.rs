//! Addresses of the Hub. Each name is percent-encoded once, by itself, so that none can change the shape of an address.

use crate::net::NetConfig;
use crate::repo::{RepoId, name};
use crate::{Error, ErrorKind, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// Everything but RFC 3986's unreserved characters.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// One path segment, slashes included: a revision, or a name in a query.
pub(super) fn encode(segment: &str) -> impl std::fmt::Display {
    utf8_percent_encode(segment, SEGMENT)
}

/// `/a/b%20c` of `a/b c`; nothing for the root. A path that no repo can hold is [`ErrorKind::EntryNotFound`]: `..` would
/// climb out of the address, encoded or not.
fn encode_path(path: &str) -> Result<String> {
    if path.is_empty() {
        return Ok(String::new());
    }
    name::check_path(path).map_err(|reason| Error::new(ErrorKind::EntryNotFound, path).because(reason))?;
    Ok(path.split('/').map(|component| format!("/{}", encode(component))).collect())
}

fn parse(text: String) -> Result<Url> {
    Url::parse(&text).map_err(|error| Error::new(ErrorKind::Internal, "address").because(error))
}

/// `/api/models/org/name/{route}`; `route` is encoded already.
pub(super) fn api(config: &NetConfig, repo: &RepoId, route: &str) -> Result<Url> {
    parse(format!("{}/api/{}/{}/{route}", config.base(), repo.kind.api_segment(), repo.name))
}

/// `/api/{route}`; `route` is encoded already.
pub(super) fn api_root(config: &NetConfig, route: &str) -> Result<Url> {
    parse(format!("{}/api/{route}", config.base()))
}

/// `/api/models/org/name/{route}/{revision}{/path}`.
pub(super) fn at(config: &NetConfig, repo: &RepoId, route: &str, revision: &str, path: &str) -> Result<Url> {
    api(config, repo, &format!("{route}/{}{}", encode(revision), encode_path(path)?))
}

/// `/org/name/resolve/{revision}/{path}`.
pub(super) fn resolve(config: &NetConfig, repo: &RepoId, revision: &str, path: &str) -> Result<Url> {
    parse(format!("{}/{repo}/resolve/{}{}", config.base(), encode(revision), encode_path(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::RepoKind;

    #[test]
    fn every_name_is_encoded_once_and_cannot_change_the_address() {
        let config = NetConfig::new(Some("https://hub.test/base"), &|_| None).unwrap();
        let repo = RepoId::new(RepoKind::Dataset, "org/name").unwrap();
        for (path, expected) in [
            ("a/b.txt", "a/b.txt"),
            ("a b", "a%20b"),
            ("a#b?c", "a%23b%3Fc"),
            ("100%", "100%25"),
            ("a%2Fb", "a%252Fb"),
            ("a+b&c=d@e", "a%2Bb%26c%3Dd%40e"),
            ("é", "%C3%A9"),
            ("e\u{301}", "e%CC%81"),
            ("a\\b", "a%5Cb"),
            ("a\nb\tc", "a%0Ab%09c"),
            ("...", "..."),
            ("%2e%2e", "%252e%252e"),
        ] {
            let url = resolve(&config, &repo, "refs/pr/2", path).unwrap();
            assert_eq!(
                url.as_str(),
                format!("https://hub.test/base/datasets/org/name/resolve/refs%2Fpr%2F2/{expected}")
            );
            let url = at(&config, &repo, "tree", "main", path).unwrap();
            assert_eq!(url.as_str(), format!("https://hub.test/base/api/datasets/org/name/tree/main/{expected}"));
        }
        for path in ["..", "a/../b", ".", "a//b", "/a", "a/"] {
            assert_eq!(
                at(&config, &repo, "tree", "main", path).unwrap_err().kind(),
                ErrorKind::EntryNotFound,
                "{path}"
            );
        }
        assert_eq!(at(&config, &repo, "tree", "main", "").unwrap().path(), "/base/api/datasets/org/name/tree/main");
    }
}
