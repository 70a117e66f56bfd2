//! The network configuration: which Hub, through what, how patiently. Builds every HTTP client of the process, so that
//! proxy, certificates and user agent hold for all of them; sends nothing itself.

mod proxy;
mod switch;

pub use self::proxy::ProxyUrl;
pub use self::switch::Switch;
use crate::{Error, ErrorKind, Result};
use std::time::Duration;
use url::Url;

/// The Hub, where neither an argument nor `HF_ENDPOINT` names another.
pub const ENDPOINT_DEFAULT: &str = "https://huggingface.co";
/// Time for DNS, TCP and TLS together. Three SYNs fit (1 s, 2 s, 4 s); a host that answers none is not there.
const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// Below the 60 s after which common load balancers and NATs forget a connection, so that we forget it first.
const POOL_IDLE_MS: u64 = 50_000;

/// An environment variable by name, `None` if unset. The border passes `|name| std::env::var(name).ok()`; nothing below
/// reads the environment (the proxy variables apart, which the HTTP client reads itself).
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Which Hub, through what, how patiently.
#[derive(Debug, Clone)]
pub struct NetConfig {
    /// The Hub's base URL; may have a path, never ends with `/`, never carries user, query or fragment.
    endpoint: Url,
    /// `User-Agent` of every request.
    user_agent: String,
    /// Extra certificate authorities, trusted beside those of the OS.
    extra_ca: Vec<reqwest::Certificate>,
    /// One proxy for everything; without it those of the environment.
    proxy: Option<ProxyUrl>,
    /// Whether the Hub may be asked at all.
    switch: Switch,
}

impl NetConfig {
    /// Takes the endpoint from the argument, else from `HF_ENDPOINT`, else the Hub.
    pub fn new(endpoint: Option<&str>, env: Env<'_>) -> Result<Self> {
        let from_env = env("HF_ENDPOINT").filter(|value| !value.trim().is_empty());
        let text = endpoint.or(from_env.as_deref()).unwrap_or(ENDPOINT_DEFAULT);
        let user_agent = concat!("weightless/", env!("CARGO_PKG_VERSION")).to_owned();
        Ok(NetConfig {
            endpoint: parse_endpoint(text)?,
            user_agent,
            extra_ca: Vec::new(),
            proxy: None,
            switch: Switch::default(),
        })
    }

    /// Trusts the certificates of a PEM bundle too: what a proxy that inspects TLS asks for.
    pub fn with_extra_ca(mut self, pem: &[u8]) -> Result<Self> {
        let invalid = || {
            Error::new(ErrorKind::InvalidInput, "CA certificate")
                .saying("this holds no certificate")
                .advise("Give a PEM file with certificates.")
        };
        let certificates = reqwest::Certificate::from_pem_bundle(pem).map_err(|error| invalid().because(error))?;
        if certificates.is_empty() {
            return Err(invalid());
        }
        self.extra_ca.extend(certificates);
        Ok(self)
    }

    /// Sends everything through one proxy, hosts of `NO_PROXY` apart; see [`ProxyUrl::parse`] for what it may be.
    pub fn with_proxy(mut self, proxy: &str) -> Result<Self> {
        self.proxy = Some(ProxyUrl::parse(proxy)?);
        Ok(self)
    }

    /// Asks nothing while `switch` is paused.
    #[must_use]
    pub fn with_switch(self, switch: &Switch) -> Self {
        NetConfig { switch: switch.clone(), ..self }
    }

    /// Whether nothing may be asked now.
    pub(crate) fn is_paused(&self) -> bool {
        self.switch.is_paused()
    }

    /// The Hub's base URL.
    pub fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// The Hub's base URL without a slash at its end, to be followed by a path.
    pub(crate) fn base(&self) -> &str {
        self.endpoint.as_str().trim_end_matches('/')
    }

    /// Whether `url` is at the endpoint's host, so that it may see the Hub's token. The same host over TLS counts too.
    pub fn is_endpoint(&self, url: &Url) -> bool {
        let same_host = url.host() == self.endpoint.host();
        let same_port = url.port_or_known_default() == self.endpoint.port_or_known_default();
        let upgraded = self.endpoint.scheme() == "http"
            && url.scheme() == "https"
            && self.endpoint.port().is_none()
            && url.port().is_none();
        same_host && (url.scheme() == self.endpoint.scheme() && same_port || upgraded)
    }

    /// Builder of every client: follows no redirect by itself (a redirect may leave the host that a token is for), takes
    /// proxies from the environment where none is given, knows no total timeout (each caller has its own).
    fn client_builder(&self) -> reqwest::ClientBuilder {
        let builder = reqwest::Client::builder()
            .user_agent(&self.user_agent)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(Duration::from_millis(CONNECT_TIMEOUT_MS))
            .pool_idle_timeout(Duration::from_millis(POOL_IDLE_MS))
            .tcp_nodelay(true);
        let builder = match &self.proxy {
            // Also forgets the proxies of the environment (reqwest, `ClientBuilder::proxy`).
            Some(proxy) => builder.proxy(proxy.for_everything()),
            None => builder,
        };
        if self.extra_ca.is_empty() { builder } else { builder.tls_certs_merge(self.extra_ca.iter().cloned()) }
    }

    /// A client for the Hub's API.
    pub fn client(&self) -> Result<reqwest::Client> {
        built(self.client_builder())
    }

    /// A client for content. HTTP/2 would put all ranges on one connection, whose window and losses they would share.
    pub fn data_client(&self) -> Result<reqwest::Client> {
        built(self.client_builder().http1_only())
    }
}

fn built(builder: reqwest::ClientBuilder) -> Result<reqwest::Client> {
    builder.build().map_err(|error| Error::new(ErrorKind::Internal, "HTTP client").because(error))
}

fn parse_endpoint(text: &str) -> Result<Url> {
    let invalid = |reason: &str| {
        Error::new(ErrorKind::InvalidInput, "endpoint").saying("this is no address of a Hub").advise(reason)
    };
    let text = text.trim();
    let text = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let mut url = Url::parse(&text).map_err(|error| invalid("Write the endpoint as https://host.").because(error))?;
    if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
        return Err(invalid("The endpoint is an http or https address."));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(
            "The endpoint cannot carry a user or a password; tokens go into HF_TOKEN or --token-file.",
        ));
    }
    url.set_query(None);
    url.set_fragment(None);
    // The short name only redirects, and a token is never sent across a redirect.
    if matches!(url.host_str(), Some("hf.co" | "www.huggingface.co")) && url.set_host(Some("huggingface.co")).is_err() {
        return Err(invalid("Write the endpoint as https://huggingface.co."));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(endpoint: &str) -> NetConfig {
        NetConfig::new(Some(endpoint), &|_| None).unwrap()
    }

    #[test]
    fn the_endpoint_comes_from_the_argument_then_the_environment_then_the_default() {
        let env = |name: &str| (name == "HF_ENDPOINT").then(|| "https://env.test".to_owned());
        let rows: [(_, Env<'_>, _); 6] = [
            (None, &|_: &str| None, ENDPOINT_DEFAULT),
            (None, &env, "https://env.test"),
            (Some("http://127.0.0.1:8080/"), &env, "http://127.0.0.1:8080"),
            (Some("mirror.test/hub/"), &env, "https://mirror.test/hub"),
            (Some("https://hf.co"), &env, "https://huggingface.co"),
            (None, &|_: &str| Some(" ".to_owned()), ENDPOINT_DEFAULT),
        ];
        for (argument, env, expected) in rows {
            assert_eq!(NetConfig::new(argument, env).unwrap().base(), expected, "{argument:?}");
        }
        for wrong in ["ftp://x", "https://", "https://user:secret@x.test", "https://x y"] {
            let error = NetConfig::new(Some(wrong), &|_| None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{wrong}");
            assert!(!format!("{error:?}").contains("secret"));
        }
    }

    #[test]
    fn only_the_endpoints_own_host_is_trusted_with_the_token() {
        for (endpoint, url, expected) in [
            ("https://huggingface.co", "https://huggingface.co/api/x", true),
            ("https://huggingface.co", "https://HuggingFace.co:443/api/x", true),
            ("https://huggingface.co", "http://huggingface.co/api/x", false),
            ("https://huggingface.co", "https://cdn-lfs.huggingface.co/x", false),
            ("https://huggingface.co", "https://huggingface.co:8443/x", false),
            ("https://huggingface.co", "https://huggingface.co.evil.test/x", false),
            ("http://hub.test", "https://hub.test/x", true),
            ("http://127.0.0.1:80", "http://127.0.0.2:80/x", false),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8081/x", false),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/x", true),
        ] {
            assert_eq!(config(endpoint).is_endpoint(&Url::parse(url).unwrap()), expected, "{endpoint} {url}");
        }
    }

    #[test]
    fn a_certificate_file_without_certificates_is_refused() {
        assert_eq!(config("https://x.test").with_extra_ca(b"hello").unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
