//! What is to be mounted where, and who asks: a request made definite. Asks nothing and mounts nothing.

use crate::exit::{Outcome, fault, fault_of};
use crate::{paths, wanted};
use std::path::{Path, PathBuf};
use url::Url;
use weightless_control::{AddMount, Fault, MountState, MountStatus};
use weightless_core::ErrorKind;
use weightless_core::repo::RepoSpec;
use weightless_core::token::Token;

/// One mount that is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// Repo, revision and folder.
    pub(crate) spec: RepoSpec,
    /// The Hub's address, without a slash at its end.
    pub(crate) endpoint: String,
    /// Who asks.
    pub(crate) who: Who,
    /// The mount point: absolute, without links.
    pub(crate) dir: PathBuf,
    /// Whether the engine mounts it whenever it starts.
    pub(crate) at_login: bool,
    /// Whether it moves to a newer commit of its revision by itself.
    pub(crate) follow: bool,
    /// Threads that answer the kernel, where this mount has its own number.
    pub(crate) event_loops: Option<u16>,
}

/// Who asks the Hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    /// The default account, else the token that the Hub's own tools would use.
    Default,
    /// An account of the keychain.
    Account(String),
    /// Whoever the token in this file belongs to.
    File(PathBuf),
    /// Whoever this token belongs to; it is kept in memory only.
    Token(Token),
    /// Nobody, whatever the environment holds: a real token is nothing for a demo's Hub.
    Nobody,
}

impl Who {
    /// Who is named, at most once.
    pub(crate) fn read(token: Option<&str>, token_file: Option<&str>, account: Option<&str>) -> Outcome<Self> {
        match (token, token_file, account) {
            (Some(token), None, None) => Token::new(token).map(Who::Token).map_err(fault),
            (None, Some(file), None) => Ok(Who::File(file.into())),
            (None, None, Some(account)) => Ok(Who::Account(account.to_owned())),
            (None, None, None) => Ok(Who::Default),
            _ => Err(Fault::new("usage", "two ways to say who asks").advise("Name one.")),
        }
    }
}

impl Order {
    /// Reads a request. `endpoint` and `folder` stand in where it names none. Below `hub_folder` nothing is looked at: that would ask
    /// the Hub, and wait for this process itself.
    pub(crate) fn read(request: &AddMount, endpoint: &Url, folder: &Path, hub_folder: Option<&Path>) -> Outcome<Self> {
        let named = request.endpoint.as_deref().map(wanted::endpoint_url).transpose()?;
        let endpoint = named.as_ref().unwrap_or(endpoint);
        let spec = RepoSpec::parse(&request.repo, endpoint).map_err(fault)?;
        let spec = wanted::merge(spec, request.revision.as_deref(), request.subfolder.as_deref())?;
        let dir = match &request.dir {
            Some(dir) if !Path::new(dir).is_absolute() => {
                return Err(fault_of(ErrorKind::MountPointInvalid, dir.as_str()).advise("Name an absolute path."));
            }
            Some(dir) => PathBuf::from(dir),
            None => paths::absolute(folder)?.join(paths::place(&spec)),
        };
        let is_in_hub_folder = hub_folder.is_some_and(|hub_folder| dir.starts_with(hub_folder) && dir != hub_folder);
        let who = Who::read(request.token.as_deref(), request.token_file.as_deref(), request.account.as_deref())?;
        Ok(Order {
            spec,
            endpoint: wanted::without_slash(endpoint).to_owned(),
            who,
            dir: if is_in_hub_folder { dir } else { paths::absolute(&dir)? },
            at_login: request.at_login,
            follow: request.follow,
            event_loops: request.event_loops,
        })
    }

    /// The request that makes this order again. A token that was given is not in it: it must not reach a disk.
    pub(crate) fn request(&self) -> AddMount {
        AddMount {
            repo: self.spec.repo.to_string(),
            revision: self.spec.revision.clone(),
            subfolder: self.spec.path.clone(),
            dir: Some(self.dir.to_string_lossy().into_owned()),
            endpoint: Some(self.endpoint.clone()),
            account: match &self.who {
                Who::Account(name) => Some(name.clone()),
                _ => None,
            },
            token_file: match &self.who {
                Who::File(path) => Some(path.to_string_lossy().into_owned()),
                _ => None,
            },
            token: None,
            at_login: self.at_login,
            follow: self.follow,
            event_loops: self.event_loops,
        }
    }

    /// Whether both show the same files at the same place.
    pub(crate) fn is_same(&self, other: &Order) -> bool {
        self.dir == other.dir
            && self.spec.repo == other.spec.repo
            && wanted::revision(&self.spec) == wanted::revision(&other.spec)
            && self.spec.path == other.spec.path
            && self.endpoint == other.endpoint
    }

    /// `org/name@revision`.
    pub(crate) fn title(&self) -> String {
        format!("{}@{}", self.spec.repo, wanted::revision(&self.spec))
    }

    /// What can be said of it without having mounted it.
    pub(crate) fn status(&self, state: MountState) -> MountStatus {
        MountStatus {
            subfolder: self.spec.path.clone().unwrap_or_default(),
            endpoint: self.endpoint.clone(),
            account: match &self.who {
                Who::Account(name) => Some(name.clone()),
                _ => None,
            },
            at_login: self.at_login,
            follow: self.follow,
            ..MountStatus::new(
                self.spec.repo.to_string(),
                wanted::revision(&self.spec),
                self.dir.to_string_lossy(),
                state,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(request: &AddMount) -> Outcome<Order> {
        Order::read(request, &Url::parse("http://hub.test").unwrap(), Path::new("/home/me/Weightless"), None)
    }

    #[test]
    fn a_request_and_its_order_say_the_same() {
        let request = AddMount {
            repo: "http://hub.test/datasets/a/b/tree/refs%2Fpr%2F1/-c d".into(),
            dir: Some("/-x".into()),
            account: Some("me".into()),
            at_login: true,
            follow: true,
            event_loops: Some(3),
            ..AddMount::default()
        };
        let order = read(&request).unwrap();
        let again = read(&order.request()).unwrap();
        assert!(again.is_same(&order));
        assert_eq!(again.request(), order.request());
        assert_eq!((again.who, again.at_login), (Who::Account("me".into()), true));
    }

    #[test]
    fn a_token_that_was_given_is_not_in_the_request_that_is_kept() {
        let request = AddMount { repo: "a/b".into(), token: Some("hf_secret".into()), ..AddMount::default() };
        let order = read(&request).unwrap();
        assert_eq!(order.request().token, None);
        assert!(!format!("{order:?} {request:?}").contains("secret"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        #[track_caller]
        fn check(request: AddMount, code: &str) {
            assert_eq!(read(&request).map(|_| ()).unwrap_err().code, code);
        }
        let named = |repo: &str| AddMount { repo: repo.into(), ..AddMount::default() };
        check(named(""), "invalid_input");
        check(AddMount { dir: Some("relative".into()), ..named("a/b") }, "mount_point_invalid");
        check(AddMount { account: Some("a".into()), token_file: Some("/t".into()), ..named("a/b") }, "usage");
        check(AddMount { revision: Some("v2".into()), ..named("a/b@v1") }, "usage");
        check(AddMount { endpoint: Some("ftp://x".into()), ..named("a/b") }, "invalid_input");
    }

    #[test]
    fn without_a_folder_each_repo_and_revision_has_its_place() {
        let order = read(&AddMount { repo: "a/b@v1".into(), ..AddMount::default() }).unwrap();
        assert!(order.dir.ends_with("Weightless/a/b@v1"), "{}", order.dir.display());
    }
}
