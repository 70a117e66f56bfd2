//! The address of a proxy, which may carry a password: usable as it is, shown and printed without it.

use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::ops::Deref;
use url::Url;

/// Stands for a password where the address is shown.
const PASSWORD_SHOWN: &str = "***";

/// A proxy's address, as [`ProxyUrl::parse`] accepts it. Derefs to the whole text, password included; `Debug` and
/// [`shown`](Self::shown) leave the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(Url);

impl ProxyUrl {
    /// `http://`, `https://`, `socks5://` or `socks5h://` (the proxy resolves names), host and port, with `user:password@`
    /// where the proxy wants it; without a scheme `http://`, as curl does. Characters of a password that end the host's
    /// part of an address (`/ ? #`) are written as `%2F %3F %23`.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |sentence: &str| {
            Error::new(ErrorKind::InvalidInput, "proxy")
                .saying(sentence)
                .advise("Write it as http://host:port, https://host:port or socks5://host:port.")
        };
        let text = text.trim();
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        // The cause would be of no help, and the text may hold a password: neither goes into the error.
        let mut url = Url::parse(&text).map_err(|_| {
            invalid("this is not an address; in a password / ? # and % are written as %2F %3F %23 and %25")
        })?;
        if !matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h") {
            return Err(invalid("a proxy's address begins with http://, https:// or socks5://"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(invalid("the address names no host"));
        }
        // A path means nothing to a proxy; more often it is a password with a slash in it.
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(invalid(
                "behind host and port nothing may follow; in a password / ? # are written as %2F %3F %23",
            ));
        }
        url.set_path("");
        let proxy = ProxyUrl(url);
        reqwest::Proxy::all(proxy.0.clone()).map_err(|_| invalid("this address cannot be used as a proxy"))?;
        Ok(proxy)
    }

    /// The address as it may be shown: `http://user:***@host:3128`.
    pub fn shown(&self) -> String {
        let mut url = self.0.clone();
        if url.password().is_some() && url.set_password(Some(PASSWORD_SHOWN)).is_err() {
            return String::new();
        }
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// For every scheme, hosts of `NO_PROXY` apart.
    pub(super) fn for_everything(&self) -> reqwest::Proxy {
        reqwest::Proxy::all(self.0.clone()).expect("`parse` has tried it").no_proxy(reqwest::NoProxy::from_env())
    }
}

/// Whole, with the password: for the client, not for people.
impl Deref for ProxyUrl {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }
}

/// Without the password.
impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetConfig;
    use crate::testing::{Reply, Server};

    #[test]
    fn a_proxy_is_an_http_or_socks_address_and_never_shows_its_password() {
        #[track_caller]
        fn check(text: &str, expected: Option<(&str, &str)>) {
            let found = ProxyUrl::parse(text);
            let printed = format!("{found:?}");
            assert!(!printed.contains("secret"), "{printed}");
            let found = found.ok();
            let found = found.as_ref().map(|proxy| (&**proxy, proxy.shown()));
            assert_eq!(found, expected.map(|(whole, shown)| (whole, shown.to_owned())), "{text}");
        }
        let same = |text| Some((text, text));
        check("http://proxy:3128", same("http://proxy:3128"));
        check(" http://proxy:3128/ ", same("http://proxy:3128"));
        check("proxy.test:3128", same("http://proxy.test:3128"));
        check("https://proxy", same("https://proxy"));
        check("socks5://[::1]:1080", same("socks5://[::1]:1080"));
        check("socks5h://proxy", same("socks5h://proxy"));
        check("http://me@proxy:1", same("http://me@proxy:1"));
        check("http://me:secret@proxy:1", Some(("http://me:secret@proxy:1", "http://me:***@proxy:1")));
        check("me:secret@proxy:1", Some(("http://me:secret@proxy:1", "http://me:***@proxy:1")));
        check("http://me:a@secret@proxy:1", Some(("http://me:a%40secret@proxy:1", "http://me:***@proxy:1")));
        check("socks5://me:%2Fsecret@proxy:1", Some(("socks5://me:%2Fsecret@proxy:1", "socks5://me:***@proxy:1")));
        for wrong in [
            "",
            "http://",
            "ftp://proxy:1",
            "socks4://proxy:1",
            "file:///etc",
            "http://me:secret/x@proxy:1",
            "http://me:1/secret@proxy:1",
            "http://proxy:1/secret",
            "http://proxy:99999",
            "http://a b:1",
        ] {
            check(wrong, None);
        }
    }

    #[tokio::test]
    async fn everything_goes_through_the_proxy_with_its_password() {
        let server = Server::start(|_| Reply::new(200)).await;
        let host = server.url.authority();
        // base64 of `me:se@c/t`
        for proxy in [format!("http://me:se@c%2Ft@{host}"), format!("me:se%40c%2Ft@{host}")] {
            let config = NetConfig::new(Some("http://hub.test"), &|_| None).unwrap().with_proxy(&proxy).unwrap();
            let client = config.client().unwrap();
            assert!(!format!("{config:?} {client:?}").contains("se@c"), "{config:?} {client:?}");
            client.get("http://hub.test/api").send().await.unwrap();
            let seen = server.take();
            assert_eq!(seen[0].header("proxy-authorization"), Some("Basic bWU6c2VAYy90"));
        }
    }
}
