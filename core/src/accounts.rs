//! Who may ask the Hub: names in a file of ours, tokens in the keychain of the system, and what the environment and the Hub's
//! own tools offer besides. Never writes a token to a file, never shows one, never sends one to another Hub than its own.
//!
//! A keychain may ask its owner a question and wait for the answer for ever, so each call of it has a thread and a bound.

mod desk;
mod keychain;
mod os;

use self::desk::Desk;
pub use self::keychain::{AccountKey, Keychain, MemoryKeychain};
pub use self::os::OsKeychain;
use crate::hub::people;
use crate::net::{Env, NetConfig};
use crate::token::{Offer, Token};
use crate::{Error, ErrorKind, Result, durable, token};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;
use weightless_control::accounts::{Account, Accounts, TokenSource};

/// The book's version that this program writes.
const VERSION: u32 = 1;
/// The Hub's names have at most 96 characters (its rule for names of users and orgs is shorter still).
const NAME_CHARS_MAX: usize = 96;

/// The accounts of this user. One owner: the engine. Holds no token.
#[derive(Debug)]
pub struct AccountBook {
    path: PathBuf,
    book: Book,
    desk: Desk,
}

/// The file: JSON in the state folder.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Book {
    version: u32,
    /// In the order in which they were added. At most one is the default.
    accounts: Vec<Entry>,
    /// What a later program wrote.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// An account whose token lies in the keychain.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    name: String,
    /// As [`NetConfig::base`] writes it.
    endpoint: String,
    #[serde(default)]
    full_name: Option<String>,
    #[serde(default)]
    orgs: Vec<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    is_default: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Entry {
    fn key(&self) -> AccountKey {
        AccountKey { name: self.name.clone(), endpoint: self.endpoint.clone() }
    }

    fn account(&self) -> Account {
        Account {
            name: self.name.clone(),
            full_name: self.full_name.clone(),
            orgs: self.orgs.clone(),
            role: self.role.clone(),
            endpoint: self.endpoint.clone(),
            source: TokenSource::Keychain,
            is_default: self.is_default,
        }
    }
}

impl AccountBook {
    /// Reads the book at `path`; one that is absent has no accounts. Asks nothing of the keychain.
    ///
    /// # Errors
    /// The file cannot be read or is no book; it is not touched.
    pub fn open(path: PathBuf, keychain: Arc<dyn Keychain>) -> Result<Self> {
        let failed = |sentence: String| {
            Error::new(ErrorKind::InvalidInput, path.display().to_string())
                .saying(sentence)
                .advise("Move the file away to start with no accounts; the keychain keeps the tokens.")
        };
        let mut book = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Book>(&bytes)
                .map_err(|error| failed(format!("this is no list of accounts: {error}")))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Book { version: VERSION, ..Book::default() },
            Err(error) => return Err(failed(format!("the file cannot be read: {error}"))),
        };
        // A person edited it, if two are.
        for second in book.accounts.iter_mut().filter(|entry| entry.is_default).skip(1) {
            second.is_default = false;
        }
        Ok(AccountBook { path, book, desk: Desk::new(keychain) })
    }

    /// All accounts: those of the keychain in the order in which they were added, then what the environment and the file of
    /// `hf auth login` offer, first what is used first. Nobody has asked the Hub whose those are, so the variable or the file
    /// stands for the name.
    ///
    /// Answers within the keychain's bound, and at once while the keychain waits for its owner. The future does not keep
    /// `env`, so it is `Send`.
    pub fn list<'a>(&'a self, env: Env<'_>) -> impl Future<Output = Accounts> + Send + use<'a> {
        let offers = Offer::all(env);
        let endpoint = NetConfig::new(env("WEIGHTLESS_ENDPOINT").as_deref(), env)
            .map_or_else(|_| crate::net::ENDPOINT_DEFAULT.to_owned(), |net| net.base().to_owned());
        async move {
            let mut accounts: Vec<_> = self.book.accounts.iter().map(Entry::account).collect();
            let mut is_default = !accounts.iter().any(|account| account.is_default);
            for offer in offers {
                let source = match offer {
                    Offer::Variable { .. } => TokenSource::Environment,
                    Offer::File(_) => TokenSource::File,
                };
                let name = offer.name();
                // One that is no token is an error for who uses it, not for who looks at the list.
                let Ok(Some(_)) = off_runtime(move || offer.token()).await else { continue };
                accounts.push(Account {
                    name,
                    full_name: None,
                    orgs: Vec::new(),
                    role: None,
                    endpoint: endpoint.clone(),
                    source,
                    is_default: std::mem::take(&mut is_default),
                });
            }
            let no_keychain = self.desk.ready().await.err().map(|error| format!("{error}. {}", error.advice()));
            Accounts { accounts, no_keychain: no_keychain.map(|text| text.trim_end_matches(['.', ' ']).to_owned()) }
        }
    }

    /// Stores the token of an account that the Hub has named (`who`, from [`Hub::whoami`](crate::hub::Hub::whoami) with this
    /// very token); the first one becomes the default. One that is there already gets the new token.
    ///
    /// # Errors
    /// [`KeychainMissing`](ErrorKind::KeychainMissing), [`KeychainLocked`](ErrorKind::KeychainLocked), or the book cannot be
    /// written. Nothing is stored then: what a keychain takes in after the bound is taken out again.
    pub async fn add(&mut self, who: people::Account, endpoint: &str, token: Token) -> Result<Account> {
        self.writable()?;
        let endpoint = NetConfig::new(Some(endpoint), &|_| None)?.base().to_owned();
        if who.name.is_empty()
            || who.name.chars().count() > NAME_CHARS_MAX
            || who.name.chars().any(|c| c.is_control() || c.is_whitespace())
        {
            return Err(Error::new(ErrorKind::Protocol, "the account's name"));
        }
        let at = self.book.accounts.iter().position(|entry| entry.name == who.name && entry.endpoint == endpoint);
        let mut book = self.book.clone();
        let is_default = match at {
            Some(at) => book.accounts[at].is_default,
            None => book.accounts.iter().all(|entry| !entry.is_default),
        };
        let entry = Entry {
            name: who.name,
            endpoint,
            full_name: who.full_name,
            orgs: who.orgs.into_iter().map(|org| org.name).collect(),
            role: who.role,
            is_default,
            rest: at.map(|at| book.accounts[at].rest.clone()).unwrap_or_default(),
        };
        let (key, account, is_new) = (entry.key(), entry.account(), at.is_none());
        match at {
            Some(at) => book.accounts[at] = entry,
            None => book.accounts.push(entry),
        }
        let stored = key.clone();
        self.desk
            .ask(move |keychain| keychain.set(&stored, &token), {
                let key = key.clone();
                move |keychain| {
                    if is_new {
                        drop(keychain.remove(&key))
                    }
                }
            })
            .await?;
        if let Err(error) = self.write(book).await {
            if is_new {
                let _ = self.desk.ask(move |keychain| keychain.remove(&key), |_| ()).await;
            }
            return Err(error);
        }
        Ok(account)
    }

    /// Forgets an account and its token. `name` is the name on the Hub, or `name@host` where two Hubs have the same name. If
    /// it was the default, the oldest one left becomes it.
    ///
    /// # Errors
    /// No such account; or the keychain does not give the token up, and then the account stays.
    pub async fn remove(&mut self, name: &str) -> Result<()> {
        self.writable()?;
        let at = self.position(name)?.ok_or_else(|| absent(name))?;
        let key = self.book.accounts[at].key();
        self.desk.ask(move |keychain| keychain.remove(&key), |_| ()).await?;
        let mut book = self.book.clone();
        let removed = book.accounts.remove(at);
        if let Some(first) = book.accounts.first_mut().filter(|_| removed.is_default) {
            first.is_default = true;
        }
        self.write(book).await
    }

    /// Makes an account the default.
    ///
    /// # Errors
    /// No such account, or the book cannot be written.
    pub async fn use_default(&mut self, name: &str) -> Result<()> {
        self.writable()?;
        let at = self.position(name)?.ok_or_else(|| absent(name))?;
        let mut book = self.book.clone();
        for (index, entry) in book.accounts.iter_mut().enumerate() {
            entry.is_default = index == at;
        }
        self.write(book).await
    }

    /// The token to ask the Hub at `endpoint` with; `None` is anonymous. Named: that account's, which must be one of this Hub;
    /// a variable or file from the [list](Self::list) can be named too. Else the default account's if it is one of this Hub;
    /// else what the Hub's own tools would use.
    ///
    /// Where the default account's token cannot be had since no keychain runs, or was deleted in it, what the Hub's own tools
    /// would use stands in; if that is nothing either, the reason is an error: anonymous, a private repo would be missing
    /// without a word. The future does not keep `env`, so it is `Send`.
    ///
    /// # Errors
    /// No such account, an account of another Hub, its token is gone, or what the keychain says.
    pub fn token<'a>(
        &'a self,
        name: Option<&'a str>,
        endpoint: &'a str,
        env: Env<'_>,
    ) -> impl Future<Output = Result<Option<Token>>> + Send + use<'a> {
        let offers = Offer::all(env);
        async move {
            let endpoint = NetConfig::new(Some(endpoint), &|_| None)?.base().to_owned();
            let Some(name) = name else { return self.default_token(&endpoint, offers).await };
            if let Some(at) = self.position(name)? {
                let entry = &self.book.accounts[at];
                if entry.endpoint != endpoint {
                    return Err(Error::new(ErrorKind::InvalidInput, name)
                        .saying(format!("this account is of {}, not of {endpoint}", entry.endpoint))
                        .advise("Name an account of this Hub, or log in there."));
                }
                return self.stored(entry).await.map(Some);
            }
            let offer = offers.into_iter().find(|offer| offer.name() == name).ok_or_else(|| absent(name))?;
            off_runtime(move || offer.token()).await?.ok_or_else(|| absent(name)).map(Some)
        }
    }

    async fn default_token(&self, endpoint: &str, offers: Vec<Offer>) -> Result<Option<Token>> {
        let default = self.book.accounts.iter().find(|entry| entry.is_default && entry.endpoint == endpoint);
        let reason = match default {
            None => None,
            Some(entry) => match self.stored(entry).await {
                Ok(token) => return Ok(Some(token)),
                Err(error) if matches!(error.kind(), ErrorKind::KeychainMissing | ErrorKind::NotLoggedIn) => {
                    Some(error)
                }
                Err(error) => return Err(error),
            },
        };
        match (off_runtime(move || token::first(&offers)).await?, reason) {
            (None, Some(reason)) => Err(reason),
            (token, _) => Ok(token),
        }
    }

    /// The keychain's token of an account of the book. One that lies where both Hubs of a host had theirs moves to its own place,
    /// unless the other Hub has an account of this name, whose token it may be.
    async fn stored(&self, entry: &Entry) -> Result<Token> {
        let key = entry.key();
        let shared = key.shared().filter(|shared| self.book.accounts.iter().all(|other| other.key() != *shared));
        let find = move |keychain: &dyn Keychain| {
            let own = keychain.get(&key)?;
            let (None, Some(shared)) = (&own, &shared) else { return Ok(own) };
            let Some(token) = keychain.get(shared)? else { return Ok(None) };
            keychain.set(&key, &token)?;
            keychain.remove(shared)?;
            Ok(Some(token))
        };
        self.desk.ask(find, |_| ()).await?.ok_or_else(|| {
            Error::new(ErrorKind::NotLoggedIn, entry.name.clone())
                .saying("the keychain no longer has this account's token")
                .advise("Log in again: `weightless login`.")
        })
    }

    /// Where the account of this name is; names are those of the Hub, which are the same in any case of letters.
    fn position(&self, name: &str) -> Result<Option<usize>> {
        let is_named =
            |entry: &Entry| entry.name.eq_ignore_ascii_case(name) || entry.key().short().eq_ignore_ascii_case(name);
        // In full a name is one account's, whatever it is short for.
        let is_exact = |entry: &Entry| entry.key().user().eq_ignore_ascii_case(name);
        if let Some(at) = self.book.accounts.iter().position(is_exact) {
            return Ok(Some(at));
        }
        let mut found = self.book.accounts.iter().enumerate().filter(|(_, entry)| is_named(entry));
        match (found.next(), found.next()) {
            (Some((_, one)), Some((_, other))) => Err(Error::new(ErrorKind::InvalidInput, name)
                .saying("two accounts have this name")
                .advise(format!("Name it {} or {}.", one.key().user(), other.key().user()))),
            (one, _) => Ok(one.map(|(at, _)| at)),
        }
    }

    /// A book of a newer program is read and left alone.
    fn writable(&self) -> Result<()> {
        if self.book.version <= VERSION {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidInput, self.path.display().to_string())
            .saying("this list of accounts is of a newer Weightless, and only that one changes it")
            .advise("Update Weightless."))
    }

    /// Writes the book, then holds it.
    async fn write(&mut self, mut book: Book) -> Result<()> {
        book.version = VERSION;
        let failed = |error: String| {
            Error::new(ErrorKind::InvalidInput, self.path.display().to_string())
                .saying(format!("the list of accounts cannot be written: {error}"))
                .advise("")
        };
        let mut text = serde_json::to_vec_pretty(&book).map_err(|error| failed(error.to_string()))?;
        text.push(b'\n');
        let path = self.path.clone();
        off_runtime(move || Ok(durable::replace(&path, &text))).await?.map_err(|error| failed(error.to_string()))?;
        self.book = book;
        Ok(())
    }
}

fn absent(name: &str) -> Error {
    let error = Error::new(ErrorKind::InvalidInput, name);
    if name.starts_with("HF_TOKEN") || name.starts_with("HUGGING_FACE") {
        return error
            .saying("this token is the environment's, not one of the keychain")
            .advise(format!("Unset {name} where Weightless is started."));
    }
    if name.contains(['/', std::path::MAIN_SEPARATOR]) {
        return error
            .saying("this token is a file's, not one of the keychain")
            .advise("`hf auth logout` removes it; `hf auth login` makes a new one.");
    }
    error.saying("no account has this name").advise("`weightless accounts` shows them all.")
}

/// Runs what touches files on a thread that may wait: a home folder may lie on a network.
async fn off_runtime<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::new(ErrorKind::Internal, "the accounts").because(error))?
}

#[cfg(test)]
mod tests;
