//! From what was typed to what is wanted: which repo of which Hub, and who asks. Asks nothing of the network.

use crate::args::{HubArgs, RepoArgs};
use crate::exit::{Outcome, fault, fault_of, io_fault};
use crate::{env, output, paths, ram};
use std::time::Duration;
use tokio::runtime::Runtime;
use url::Url;
use weightless_control::Fault;
use weightless_core::hub::Hub;
use weightless_core::net::NetConfig;
use weightless_core::repo::RepoSpec;
use weightless_core::settings::{Machine, Resolved, SettingsFile};
use weightless_core::token::Token;
use weightless_core::{Error, ErrorKind};

/// Threads for replies that wait and for decoding; the kernel's requests have threads of their own.
const WORKERS_MAX: usize = 8;
/// How long a command waits for the Hub's answer, waits that the Hub asks for included.
const PATIENCE_MS: u64 = 60_000;

/// A repo of a Hub.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Repo, revision and folder.
    pub(crate) spec: RepoSpec,
    /// The Hub.
    pub(crate) net: NetConfig,
}

/// `REPO` with `--revision` and `--subfolder`; what a link names already may be said once more, but not otherwise.
pub(crate) fn repo(what: &RepoArgs, subfolder: Option<&str>, hub: &HubArgs) -> Outcome<Wanted> {
    let net = net(hub)?;
    let spec = RepoSpec::parse(&what.repo, net.endpoint()).map_err(fault)?;
    merge(spec, what.revision.as_deref(), subfolder).map(|spec| Wanted { spec, net })
}

/// `REPO[/PATH]`, as `ls` takes it: everything behind the name is a path, so a revision's slash is written `%2F`.
pub(crate) fn repo_and_path(text: &str, revision: Option<&str>, hub: &HubArgs) -> Outcome<Wanted> {
    let net = net(hub)?;
    let is_link = text.contains("://") || text.starts_with("git@");
    let spec = match RepoSpec::parse(text, net.endpoint()) {
        Ok(spec) if is_link || !text.contains('@') => spec,
        // The error is about what was typed, not about the form that it is read as.
        first => RepoSpec::parse(&format!("hf://{text}"), net.endpoint()).or(first).map_err(fault)?,
    };
    merge(spec, revision, None).map(|spec| Wanted { spec, net })
}

/// The spec with what options name beside it.
pub(crate) fn merge(mut spec: RepoSpec, revision: Option<&str>, subfolder: Option<&str>) -> Outcome<RepoSpec> {
    let twice = |what: &str, one: &str, other: &str| {
        Fault::new("usage", format!("two {what} are named: {one} and {other}")).advise("Name one.")
    };
    if let Some(revision) = revision {
        match &spec.revision {
            Some(named) if named != revision => return Err(twice("revisions", named, revision)),
            _ => spec.revision = Some(revision.to_owned()),
        }
    }
    if let Some(path) = subfolder.map(|path| path.trim_matches('/')).filter(|path| !path.is_empty()) {
        match &spec.path {
            Some(named) if named != path => return Err(twice("folders", named, path)),
            _ => spec.path = Some(path.to_owned()),
        }
    }
    if spec.revision.as_deref().is_some_and(str::is_empty) {
        return Err(fault_of(ErrorKind::InvalidInput, "an empty revision"));
    }
    Ok(spec)
}

/// The Hub's address as people write it, without a slash at its end.
pub(crate) fn endpoint(net: &NetConfig) -> &str {
    without_slash(net.endpoint())
}

/// An address without a slash at its end.
pub(crate) fn without_slash(url: &Url) -> &str {
    url.as_str().trim_end_matches('/')
}

/// A Hub's address as it was typed.
pub(crate) fn endpoint_url(text: &str) -> Outcome<Url> {
    Ok(NetConfig::new(Some(text), &env).map_err(fault)?.endpoint().clone())
}

/// The network, as arguments, environment and settings say, in this order: the same way out as the engine's.
pub(crate) fn net(hub: &HubArgs) -> Outcome<NetConfig> {
    let named = named_endpoint(hub.endpoint.as_deref())?.map(|(endpoint, _)| endpoint);
    let settings = SettingsFile::load(paths::settings_file()?, &env, machine()).map_err(fault)?;
    let resolved = settings.resolved();
    let endpoint = named.or_else(|| resolved.endpoint.clone());
    Resolved { endpoint, ..Resolved::clone(&resolved) }.net(&env).map_err(fault)
}

/// What the defaults of settings depend on.
pub(crate) fn machine() -> Machine {
    Machine {
        ram_bytes: ram::usable_bytes(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        home: paths::home().ok(),
    }
}

/// The revision that is shown where none is named.
pub(crate) fn revision(spec: &RepoSpec) -> &str {
    spec.revision.as_deref().unwrap_or("main")
}

/// The Hub's address as this command names it, and where it has it from; `None` leaves it to the engine.
pub(crate) fn named_endpoint(given: Option<&str>) -> Outcome<Option<(String, &'static str)>> {
    const OWN: &str = "WEIGHTLESS_ENDPOINT";
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let from = match given {
        Some(given) if set(OWN).as_deref() == Some(given) => OWN,
        Some(_) => "--endpoint",
        None if set("HF_ENDPOINT").is_some() => "HF_ENDPOINT",
        None => return Ok(None),
    };
    let net = NetConfig::new(given, &env).map_err(fault)?;
    Ok(Some((endpoint(&net).to_owned(), from)))
}

/// The Hub for a command that asks it without the engine, with the user's token: of the file that is named, else the one that the
/// Hub's own tools would use. Says so when it has to wait.
pub(crate) fn hub(net: NetConfig, args: &HubArgs) -> Outcome<Hub> {
    let host = net.endpoint().host_str().unwrap_or_default().to_owned();
    let token = Token::find(args.token_file.as_deref(), &env).map_err(fault)?;
    let hub = Hub::new(net, token).map_err(fault)?;
    Ok(hub.with_patience(Duration::from_millis(PATIENCE_MS)).telling(move |wait| {
        output::note(format_args!("{}; waiting", fault(Error::new(ErrorKind::RateLimited, &*host).wait(wait))));
    }))
}

/// A runtime for an engine or for questions to the Hub.
pub(crate) fn runtime() -> Outcome<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.clamp(2, WORKERS_MAX))
        .thread_name("weightless")
        .enable_all()
        .build()
        .map_err(|error| io_fault("starting threads", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub() -> HubArgs {
        HubArgs { endpoint: Some("http://hub.test".into()), token_file: None }
    }

    #[test]
    fn what_a_link_names_may_be_said_again_but_not_otherwise() {
        #[track_caller]
        fn check(repo_text: &str, revision: Option<&str>, subfolder: Option<&str>, expected: Option<&str>) {
            let what = RepoArgs { repo: repo_text.into(), revision: revision.map(Into::into) };
            let said = repo(&what, subfolder, &hub()).ok().map(|wanted| {
                let RepoSpec { repo, revision, path } = wanted.spec;
                format!("{repo} {} {}", revision.unwrap_or_default(), path.unwrap_or_default())
            });
            assert_eq!(said.as_deref(), expected);
        }
        check("a/b", None, None, Some("a/b  "));
        check("a/b", Some("v1"), Some("/c/d/"), Some("a/b v1 c/d"));
        check("a/b@v1", None, None, Some("a/b v1 "));
        check("a/b@v1", Some("v1"), None, Some("a/b v1 "));
        check("a/b@v1", Some("v2"), None, None);
        check("http://hub.test/a/b/tree/v1/c", None, None, Some("a/b v1 c"));
        check("http://hub.test/a/b/tree/v1/c", None, Some("c"), Some("a/b v1 c"));
        check("http://hub.test/a/b/tree/v1/c", None, Some("d"), None);
        check("a/b", Some(""), None, None);
    }

    #[test]
    fn a_path_may_follow_a_repo_where_files_are_listed() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let RepoSpec { repo, revision, path } = repo_and_path(text, None, &hub()).unwrap().spec;
            let said = format!("{repo} {} {}", revision.unwrap_or_default(), path.unwrap_or_default());
            assert_eq!(said, expected);
        }
        check("a/b", "a/b  ");
        check("gpt2", "gpt2  ");
        check("a/b/c/d", "a/b  c/d");
        check("datasets/a/b/c", "datasets/a/b  c");
        check("a/b@v1", "a/b v1 ");
        check("a/b@v1/c", "a/b v1 c");
        check("a/b@refs/pr/2/c", "a/b refs/pr/2 c");
        check("http://hub.test/a/b/blob/v1/c/d", "a/b v1 c/d");
    }
}
