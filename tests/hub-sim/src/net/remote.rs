//! Drives a network in another process over its control endpoint. Never retries.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::counters::{Request, Snapshot};
use super::link::{Link, Profile};
use super::script::{Rule, RuleId};

/// A network elsewhere.
#[derive(Clone, Debug)]
pub struct Remote {
    base: String,
    client: reqwest::Client,
}

impl Remote {
    /// The network whose Hub, or whose own control listener, has this address: `http://127.0.0.1:4000`.
    pub fn new(endpoint: &str) -> reqwest::Result<Self> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { base: format!("{}/__sim", endpoint.trim_end_matches('/')), client })
    }

    /// See [`super::Counters::snapshot`].
    pub async fn counters(&self) -> reqwest::Result<Snapshot> {
        self.get("counters").await
    }

    /// See [`super::Counters::requests`].
    pub async fn requests(&self) -> reqwest::Result<Vec<Request>> {
        self.get("requests").await
    }

    /// See [`super::Counters::reset`].
    pub async fn reset(&self) -> reqwest::Result<()> {
        self.post("reset").await
    }

    /// The link of this moment.
    pub async fn link(&self) -> reqwest::Result<Link> {
        self.get("link").await
    }

    /// Changes the link.
    pub async fn set_link(&self, link: &Link) -> reqwest::Result<()> {
        self.put("link", link).await
    }

    /// Changes the link to a profile's.
    pub async fn set_profile(&self, profile: Profile) -> reqwest::Result<()> {
        self.put("link", &profile).await
    }

    /// Adds a rule.
    pub async fn add_rule(&self, rule: &Rule) -> reqwest::Result<RuleId> {
        let request = self.client.post(format!("{}/rules", self.base)).json(rule);
        request.send().await?.error_for_status()?.json().await
    }

    /// Clears the script.
    pub async fn clear_rules(&self) -> reqwest::Result<()> {
        self.client.delete(format!("{}/rules", self.base)).send().await?.error_for_status().map(drop)
    }

    /// Ends every stall.
    pub async fn release(&self) -> reqwest::Result<()> {
        self.post("release").await
    }

    async fn get<T: DeserializeOwned>(&self, what: &str) -> reqwest::Result<T> {
        self.client.get(format!("{}/{what}", self.base)).send().await?.error_for_status()?.json().await
    }

    async fn post(&self, what: &str) -> reqwest::Result<()> {
        self.client.post(format!("{}/{what}", self.base)).send().await?.error_for_status().map(drop)
    }

    async fn put(&self, what: &str, value: &impl Serialize) -> reqwest::Result<()> {
        self.client.put(format!("{}/{what}", self.base)).json(value).send().await?.error_for_status().map(drop)
    }
}
