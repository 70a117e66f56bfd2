//! Addresses from outside: what a `weightless://` link asks for, which pages and folders the window may open. Opens nothing.

use crate::mirror::{HUB, Mirror};
use serde::Serialize;
use std::path::Path;
use tauri::Url;

/// The scheme of our links.
pub(crate) const SCHEME: &str = "weightless";

/// Longer names are no repo of the Hub.
const PART_BYTES_MAX: usize = 96;
/// Longer revisions are none.
const REVISION_BYTES_MAX: usize = 255;

/// Where the window is led. A repo is shown there and mounted only by a click.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Target {
    /// A section of the window.
    pub(crate) section: &'static str,
    /// A repo to show in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repo: Option<String>,
    /// Its revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<String>,
}

impl Target {
    /// A section.
    pub(crate) fn section(section: &'static str) -> Self {
        Target { section, repo: None, revision: None }
    }

    /// A repo, where it can be mounted.
    pub(crate) fn repo(repo: String, revision: Option<String>) -> Self {
        Target { section: "add", repo: Some(repo), revision }
    }
}

/// Reads `weightless://mount/[datasets/|spaces/]org/name[?revision=…]`. `None` for everything else: a link may come from
/// any page, so what is not exactly this does nothing.
pub(crate) fn target(link: &Url) -> Option<Target> {
    if link.scheme() != SCHEME || link.host_str() != Some("mount") || link.port().is_some() {
        return None;
    }
    let parts: Vec<&str> = link.path().trim_start_matches('/').trim_end_matches('/').split('/').collect();
    let name = match parts.as_slice() {
        ["datasets" | "spaces", rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    if name.len() > 2 || !name.iter().all(|part| is_name(part)) {
        return None;
    }
    let mut revision = None;
    for (key, value) in link.query_pairs() {
        match &*key {
            "revision" if is_revision(&value) => revision = Some(value.into_owned()),
            "revision" => return None,
            _ => {}
        }
    }
    Some(Target::repo(parts.join("/"), revision))
}

/// The Hub's own rule for names.
fn is_name(part: &str) -> bool {
    (1..=PART_BYTES_MAX).contains(&part.len())
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && part.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

fn is_revision(text: &str) -> bool {
    (1..=REVISION_BYTES_MAX).contains(&text.len()) && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// Sites whose every page may be opened.
const SITES: [&str; 3] = [HUB, "https://hf.co", "https://winfsp.dev"];
/// Pages of the drivers, as the window names them.
const PAGES: [&str; 3] =
    ["https://github.com/libfuse/libfuse", "https://macfuse.github.io/", "https://github.com/winfsp/winfsp"];

/// A page that the window may open in the browser: of the Hub, of a Hub that mounts come from, or of a driver's maker.
pub(crate) fn page(address: &str, mirror: &Mirror) -> Option<Url> {
    let url = Url::parse(address).ok().filter(|url| url.username().is_empty() && url.password().is_none())?;
    let is_of_site = SITES
        .into_iter()
        .chain(mirror.endpoints())
        .filter_map(|site| Url::parse(site).ok())
        .any(|site| matches!(site.scheme(), "https" | "http") && site.origin() == url.origin());
    (is_of_site || PAGES.contains(&url.as_str())).then_some(url)
}

/// Whether a folder is one of our mounts, or that of the engine's log. Nothing else is opened for the window.
pub(crate) fn is_ours(dir: &str, mirror: &Mirror) -> bool {
    let is_of_log = || !mirror.log.is_empty() && Path::new(&mirror.log).parent() == Some(Path::new(dir));
    mirror.mounts.iter().any(|mount| mount.dir == dir) || is_of_log()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::{MountState, MountStatus};

    #[test]
    fn a_link_names_a_repo_and_anything_else_does_nothing() {
        #[track_caller]
        fn check(link: &str, expected: Option<(&str, Option<&str>)>) {
            let found = Url::parse(link).ok().as_ref().and_then(target);
            let expected = expected.map(|(repo, revision)| Target::repo(repo.into(), revision.map(Into::into)));
            assert_eq!(found, expected, "{link}");
        }
        check("weightless://mount/org/name", Some(("org/name", None)));
        check("weightless://mount/org/name/", Some(("org/name", None)));
        check("weightless://mount/gpt2", Some(("gpt2", None)));
        check("weightless://mount/datasets/org/name?revision=v1.0", Some(("datasets/org/name", Some("v1.0"))));
        check("weightless://mount/spaces/a/b?revision=refs%2Fpr%2F2&x=1", Some(("spaces/a/b", Some("refs/pr/2"))));
        check("weightless://mount", None);
        check("weightless://mount/", None);
        check("weightless://unmount/a/b", None);
        check("weightless://mount:80/a/b", None);
        check("weightless://mount/a/b/c", None);
        check("weightless://mount/datasets/a/b/c", None);
        check("weightless://mount/../../etc", Some(("etc", None)));
        check("weightless://mount/a/%2e%2e%2fb", None);
        check("weightless://mount/a/..%2f", None);
        check("weightless://mount/a/b%20c", None);
        check("weightless://mount/a/b?revision=", None);
        check("weightless://mount/a/b?revision=x%0Ay", None);
        check("https://huggingface.co/a/b", None);
        check(&format!("weightless://mount/a/{}", "x".repeat(97)), None);
    }

    fn mirror() -> Mirror {
        let mut mount = MountStatus::new("a/b", "main", "/home/me/a b", MountState::Ready);
        mount.endpoint = "http://hub.test:8080".into();
        let (endpoint, log) = ("https://hub.corp".into(), "/home/me/log/engine.log".into());
        Mirror { endpoint, log, mounts: vec![mount], ..Mirror::default() }
    }

    #[test]
    fn only_pages_of_hubs_in_use_and_of_driver_makers_are_opened() {
        #[track_caller]
        fn check(address: &str, expected: bool) {
            assert_eq!(page(address, &mirror()).is_some(), expected, "{address}");
        }
        check("https://huggingface.co/a/b", true);
        check("https://hub.corp/a/b", true);
        check("http://hub.test:8080/a/b", true);
        check("https://winfsp.dev/rel/", true);
        check("https://github.com/libfuse/libfuse", true);
        check("https://github.com/libfuse/libfuse/x", false);
        check("http://huggingface.co/a/b", false);
        check("https://huggingface.co.evil.test/a", false);
        check("https://huggingface.co:444/a", false);
        check("https://huggingface.co@evil.test/", false);
        check("https://me@huggingface.co/", false);
        check("http://hub.test/a/b", false);
        check("file:///etc/passwd", false);
        check("javascript:alert(1)", false);
        check("a/b", false);
    }

    #[test]
    fn only_mounts_and_the_folder_of_the_log_are_opened() {
        for dir in ["/home/me/a b", "/home/me/log"] {
            assert!(is_ours(dir, &mirror()), "{dir}");
        }
        for dir in ["/home/me", "/home/me/a b/..", "/home/me/log/engine.log", "/etc", "", "/home/me/a b/"] {
            assert!(!is_ours(dir, &mirror()), "{dir}");
        }
        assert!(!is_ours("", &Mirror::default()));
    }
}
