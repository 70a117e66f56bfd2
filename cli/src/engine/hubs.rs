//! The Hubs that mounts come from, one for each address and asker: mounts of one account share its connections and its
//! patience. Finds tokens, keeps none on disk.

use super::events::Events;
use super::order::{Order, Who};
use crate::exit::{Outcome, fault};
use crate::{env, wanted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use weightless_control::accounts::{Account, Accounts, AddAccount, RemoveAccount, UseAccount};
use weightless_core::Result;
use weightless_core::accounts::AccountBook;
use weightless_core::engine::Engine;
use weightless_core::hub::Hub;
use weightless_core::net::{NetConfig, Switch};
use weightless_core::settings::Resolved;
use weightless_core::token::Token;
use weightless_core::{Error, ErrorKind};

/// All Hubs of this engine.
#[derive(Debug)]
pub(crate) struct Hubs {
    /// Held for a look; std because never across a wait.
    made: Mutex<Vec<Made>>,
    /// Its own calls are bounded; held across them, so that two clients cannot both add the first account.
    accounts: tokio::sync::Mutex<AccountBook>,
    /// Who asks where nobody is named.
    who: Who,
    /// Whether anybody may be asked.
    switch: Switch,
    events: Arc<Events>,
}

#[derive(Debug)]
struct Made {
    endpoint: String,
    who: Who,
    hub: Arc<Hub>,
}

impl Hubs {
    pub(crate) fn new(accounts: AccountBook, who: Who, events: Arc<Events>) -> Self {
        Hubs {
            made: Mutex::default(),
            accounts: tokio::sync::Mutex::new(accounts),
            who,
            switch: Switch::default(),
            events,
        }
    }

    /// From now on nothing is asked of any Hub, or again.
    pub(crate) fn set_paused(&self, paused: bool) {
        self.switch.set_paused(paused);
    }

    /// How the network is reached, with the Hub at `endpoint` or that of the settings.
    pub(crate) fn net(&self, resolved: &Resolved, endpoint: Option<&str>) -> Outcome<NetConfig> {
        self.reach(resolved, endpoint).map_err(fault)
    }

    fn reach(&self, resolved: &Resolved, endpoint: Option<&str>) -> Result<NetConfig> {
        let net = match endpoint {
            Some(endpoint) => Resolved { endpoint: Some(endpoint.to_owned()), ..resolved.clone() }.net(&env),
            None => resolved.net(&env),
        };
        Ok(net?.with_switch(&self.switch))
    }

    /// The order, asked by who asks here by default.
    pub(crate) fn order(&self, order: Order) -> Outcome<Order> {
        let who = if order.who == Who::Default { self.who.clone() } else { order.who };
        Ok(Order { who, ..order })
    }

    /// The Hub of an order. Looks for the token anew: it may have changed since.
    pub(crate) async fn hub(&self, engine: &Engine, resolved: &Resolved, order: &Order) -> Outcome<Arc<Hub>> {
        self.get(engine, resolved, &order.endpoint, &order.who).await.map_err(fault)
    }

    /// The Hub at `endpoint`, or that of the settings, as the default account sees it.
    pub(crate) async fn default_hub(
        &self,
        engine: &Engine,
        resolved: &Resolved,
        endpoint: Option<&str>,
    ) -> Outcome<Arc<Hub>> {
        let net = self.net(resolved, endpoint)?;
        self.get(engine, resolved, wanted::endpoint(&net), &self.who).await.map_err(fault)
    }

    /// Who asks where nobody is named.
    pub(crate) fn default_who(&self) -> &Who {
        &self.who
    }

    /// The Hub at `endpoint` as `who` sees it. Looks for the token anew.
    pub(crate) async fn get(
        &self,
        engine: &Engine,
        resolved: &Resolved,
        endpoint: &str,
        who: &Who,
    ) -> Result<Arc<Hub>> {
        let token = self.token(endpoint, who).await?;
        if let Some(hub) = self.find(endpoint, who) {
            engine.set_token(&hub, token);
            return Ok(hub);
        }
        let hub = Hub::new(self.reach(resolved, Some(endpoint))?, token)?;
        let (events, host) = (self.events.clone(), hub.config().endpoint().host_str().unwrap_or_default().to_owned());
        let hub = Arc::new(hub.telling(move |wait| tell_of_wait(&events, &host, wait)));
        let mut made = self.made();
        made.retain(|made| Arc::strong_count(&made.hub) > 1);
        made.push(Made { endpoint: endpoint.to_owned(), who: who.clone(), hub: hub.clone() });
        Ok(hub)
    }

    fn find(&self, endpoint: &str, who: &Who) -> Option<Arc<Hub>> {
        let made = self.made();
        made.iter().find(|made| made.endpoint == endpoint && made.who == *who).map(|made| made.hub.clone())
    }

    async fn token(&self, endpoint: &str, who: &Who) -> Result<Option<Token>> {
        match who {
            Who::Default => self.accounts.lock().await.token(None, endpoint, &env).await,
            Who::Account(name) => self.accounts.lock().await.token(Some(name), endpoint, &env).await,
            Who::File(path) => Token::from_file(path).map(Some),
            Who::Token(token) => Ok(Some(token.clone())),
            Who::Nobody => Ok(None),
        }
    }

    /// The network has changed: Hubs made from now on use it. Mounts keep the one that they were made with.
    pub(crate) fn renew(&self, resolved: &Resolved) -> Outcome {
        self.net(resolved, None)?;
        self.made().clear();
        Ok(())
    }

    /// The accounts.
    pub(crate) async fn accounts(&self) -> Accounts {
        self.accounts.lock().await.list(&env).await
    }

    /// Asks the Hub whose token it is, then stores it.
    pub(crate) async fn add_account(
        &self,
        engine: &Engine,
        resolved: &Resolved,
        request: &AddAccount,
    ) -> Outcome<Account> {
        let token = Token::new(&request.token).map_err(fault)?;
        let net = self.net(resolved, request.endpoint.as_deref())?;
        let endpoint = wanted::endpoint(&net).to_owned();
        let whoami = Hub::new(net, Some(token.clone())).map_err(fault)?.whoami().await.map_err(fault)?;
        let account = self.accounts.lock().await.add(whoami, &endpoint, token).await.map_err(fault)?;
        self.refresh_tokens(engine).await;
        Ok(account)
    }

    /// Forgets an account.
    pub(crate) async fn remove_account(&self, engine: &Engine, request: &RemoveAccount) -> Outcome<Accounts> {
        self.accounts.lock().await.remove(&request.name).await.map_err(fault)?;
        self.refresh_tokens(engine).await;
        Ok(self.accounts().await)
    }

    /// Chooses the default account.
    pub(crate) async fn use_account(&self, engine: &Engine, request: &UseAccount) -> Outcome<Accounts> {
        self.accounts.lock().await.use_default(&request.name).await.map_err(fault)?;
        self.refresh_tokens(engine).await;
        Ok(self.accounts().await)
    }

    /// Gives every Hub the token that its asker has now; mounts go on with it.
    async fn refresh_tokens(&self, engine: &Engine) {
        let made: Vec<_> =
            self.made().iter().map(|made| (made.endpoint.clone(), made.who.clone(), made.hub.clone())).collect();
        for (endpoint, who, hub) in made {
            match self.token(&endpoint, &who).await {
                Ok(token) => engine.set_token(&hub, token),
                Err(error) => tracing::warn!(?error, "no token"),
            }
        }
    }

    fn made(&self) -> MutexGuard<'_, Vec<Made>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The Hub asked to slow down: said until that is over.
fn tell_of_wait(events: &Arc<Events>, host: &str, wait: Duration) {
    let error = Error::new(ErrorKind::RateLimited, host).wait(wait);
    events.notice(None, &fault(error));
    let events = events.clone();
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        events.over(ErrorKind::RateLimited.row().code);
    });
}
