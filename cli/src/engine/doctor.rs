//! `doctor`: each hop to the Hub, tested in turn, and what to do about the first that fails. Changes nothing.

use super::blocking;
use super::host::Host;
use crate::exit::{Outcome, fault};
use crate::wanted;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::net::lookup_host;
use tokio::time::timeout;
use url::Url;
use weightless_control::Fault;
use weightless_control::upkeep::{Checkup, Doctor, Hop, HopState};
use weightless_core::net::ProxyUrl;
use weightless_core::{Error, ErrorKind};
use weightless_platform::driver;

/// A hop that takes longer than this does not work for people.
const HOP_MS_MAX: u64 = 15_000;
/// Data of the public Hub comes from hosts of these domains, whatever the endpoint answers from.
const DATA_HOSTS: [&str; 2] = ["*.hf.co", "*.xethub.hf.co"];

/// What the hop is called that says which Hub is tested.
const ADDRESS: &str = "address of the Hub";

/// A good hop: what was found, and whether somebody should look all the same.
struct Found {
    detail: String,
    warning: Option<String>,
}

impl Found {
    fn good(detail: impl Into<String>) -> Outcome<Found> {
        Ok(Found { detail: detail.into(), warning: None })
    }
}

/// The tests so far.
#[derive(Default)]
struct Visit {
    hops: Vec<Hop>,
    is_broken: bool,
}

impl Visit {
    /// Runs one test, unless one that it builds on has failed.
    async fn hop(&mut self, name: &str, test: impl Future<Output = Outcome<Found>>) {
        if self.is_broken {
            self.hops.push(Hop {
                name: name.to_owned(),
                state: HopState::Skipped,
                detail: "not tested".to_owned(),
                advice: String::new(),
                code: String::new(),
                took_ms: 0,
            });
            return;
        }
        let begin = Instant::now();
        let outcome = timeout(Duration::from_millis(HOP_MS_MAX), test)
            .await
            .unwrap_or_else(|_| Err(Fault::new("deadline", format!("no answer within {} s", HOP_MS_MAX / 1000))));
        let (state, fault) = match outcome {
            Ok(Found { detail, warning: None }) => (HopState::Ok, Fault::new("", detail)),
            Ok(Found { detail, warning: Some(advice) }) => (HopState::Warning, Fault::new("", detail).advise(advice)),
            Err(fault) => {
                self.is_broken = true;
                (HopState::Failed, fault)
            }
        };
        let Fault { code, sentence: detail, advice, .. } = fault;
        let took_ms = begin.elapsed().as_millis() as u64;
        self.hops.push(Hop { name: name.to_owned(), state, detail, advice, code, took_ms });
    }
}

impl Host {
    /// Tests each hop.
    pub(super) async fn doctor(&self, request: &Doctor) -> Checkup {
        let mut visit = Visit::default();
        visit.hop("file-system driver", driver_is_there()).await;
        // The network is worth testing without a driver too.
        visit.is_broken = false;
        let resolved = self.resolved();
        let net = match self.hubs.net(&resolved, request.endpoint.as_deref()) {
            Ok(net) => net,
            Err(fault) => {
                visit.hop(ADDRESS, async { Err(fault) }).await;
                return Checkup { hops: visit.hops, hosts: Vec::new() };
            }
        };
        let endpoint = net.endpoint().clone();
        let from = self.endpoint_from(request);
        visit.hop(ADDRESS, async { Found::good(format!("{}, from {from}", wanted::without_slash(&endpoint))) }).await;
        if self.is_paused() {
            let paused = Error::new(ErrorKind::Paused, "").saying("all network is paused");
            visit.hop("pause", async { Err(fault(paused.advise("weightless resume ends the pause."))) }).await;
        }
        let proxy = resolved.proxy.as_ref().map(ProxyUrl::shown).or_else(|| proxy_of_environment(&endpoint));
        let direct = proxy.is_none();
        visit
            .hop("proxy", async {
                match proxy {
                    Some(proxy) => Found::good(format!("requests go through {proxy}")),
                    None => Found::good("none; requests go straight to the Hub"),
                }
            })
            .await;
        if direct {
            visit.hop("name of the Hub", name_resolves(&endpoint)).await;
        }
        let hub = self.default_hub(request.endpoint.as_deref()).await;
        visit
            .hop("the Hub's answer", async {
                let hub = hub.clone()?;
                let search = weightless_core::hub::people::Search {
                    kind: weightless_core::repo::RepoKind::Model,
                    words: String::new(),
                    author: None,
                    sort: weightless_core::hub::people::SearchSort::default(),
                    limit: 1,
                };
                hub.search(&search).await.map_err(fault)?;
                Found::good(format!("{} answers", endpoint.host_str().unwrap_or_default()))
            })
            .await;
        visit
            .hop("token", async {
                let hub = hub.clone()?;
                if !hub.is_logged_in() {
                    return Ok(Found {
                        detail: "none; public repos need none".to_owned(),
                        warning: Some("For private and gated repos: weightless login.".to_owned()),
                    });
                }
                let account = hub.whoami().await.map_err(fault)?;
                Found::good(format!("it belongs to {}", account.name))
            })
            .await;
        let mut hosts = vec![endpoint.host_str().unwrap_or_default().to_owned()];
        if endpoint.host_str().is_some_and(|host| host.ends_with("huggingface.co")) {
            hosts.extend(DATA_HOSTS.map(str::to_owned));
        }
        Checkup { hops: visit.hops, hosts }
    }
}

impl Host {
    /// Where the address of the Hub comes from, by the rule that mounts follow.
    fn endpoint_from(&self, request: &Doctor) -> String {
        if request.endpoint.is_some() {
            return request.endpoint_from.clone().unwrap_or_else(|| "who asks".to_owned());
        }
        let reply = self.settings_reply();
        match reply.settings.endpoint {
            Some(_) if reply.overridden.iter().any(|name| name == "endpoint") => "WEIGHTLESS_ENDPOINT of the engine",
            Some(_) => "the settings",
            None if crate::env("HF_ENDPOINT").is_some() => "HF_ENDPOINT of the engine",
            None => "nowhere: it is the default",
        }
        .to_owned()
    }
}

/// The proxy that the HTTP client takes from the environment, without its password.
fn proxy_of_environment(endpoint: &Url) -> Option<String> {
    let scheme =
        if endpoint.scheme() == "https" { ["HTTPS_PROXY", "https_proxy"] } else { ["http_proxy", "HTTP_PROXY"] };
    let text = scheme.into_iter().chain(["ALL_PROXY", "all_proxy"]).find_map(crate::env)?;
    let url = Url::parse(&text).ok()?;
    Some(format!("{}://{}", url.scheme(), url.host_str()?))
}

async fn driver_is_there() -> Outcome<Found> {
    blocking(driver::check).await?.map_err(fault)?;
    Found::good("it is installed and can be used")
}

async fn name_resolves(endpoint: &Url) -> Outcome<Found> {
    let host = endpoint.host_str().unwrap_or_default().to_owned();
    let port = endpoint.port_or_known_default().unwrap_or(443);
    // In brackets an IPv6 address is a host of a URL, without them one for the resolver.
    let plain = host.trim_matches(['[', ']']).to_owned();
    match lookup_host((plain, port)).await {
        Ok(addresses) => match addresses.count() {
            1 => Found::good(format!("{host} has an address")),
            count => Found::good(format!("{host} has {count} addresses")),
        },
        Err(error) => Err(Fault::new("offline", format!("{host} is not found: {error}"))
            .advise("Is the network there? Is a name server set?")),
    }
}
