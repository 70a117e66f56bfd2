//! Tokens for the Xet data service, which the Hub hands out per repo and commit. Asks for them; when to renew is the
//! transport's to say.

use super::ask::protocol;
use super::map::Subject;
use super::{Hub, route};
use crate::Result;
use crate::repo::RepoId;
use crate::token::Token;
use serde::Deserialize;
use std::time::{Duration, SystemTime};
use url::Url;

/// Access to the Xet data service for one commit's files.
#[derive(Debug, Clone)]
pub struct XetToken {
    /// Base URL of the data service.
    pub cas_url: Url,
    /// The bearer token for that service, and for no other host.
    pub token: Token,
    /// When it expires, by the Hub's clock.
    pub expires: SystemTime,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    cas_url: String,
    access_token: String,
    exp: u64,
}

impl Hub {
    /// A token to read files of `commit`.
    pub async fn xet_read_token(&self, repo: &RepoId, commit: &str) -> Result<XetToken> {
        let name = repo.to_string();
        let url = route::at(&self.config, repo, "xet-read-token", commit, "")?;
        let answer = self.get(url, self.question(Subject::Revision, repo, name.clone())).await?;
        let header = |key| answer.header(key);
        let by_header = || {
            Some(Wire {
                cas_url: header("x-xet-cas-url")?.to_owned(),
                access_token: header("x-xet-access-token")?.to_owned(),
                exp: header("x-xet-token-expiration")?.parse().ok()?,
            })
        };
        let wire = match by_header() {
            Some(wire) => wire,
            None => answer.json(&name)?,
        };
        let cas_url = Url::parse(&wire.cas_url).map_err(|error| protocol(&name, error))?;
        if !matches!(cas_url.scheme(), "https" | "http") {
            return Err(protocol(&name, "the data service is said to be at an address that is not http"));
        }
        let expires = SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_secs(wire.exp))
            .ok_or_else(|| protocol(&name, "the token is said to expire in no year"))?;
        Ok(XetToken { cas_url, token: Token::new(&wire.access_token)?, expires })
    }
}
