//! What a keychain is to us, and the one that tests have.

use crate::Result;
use crate::token::Token;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Whose token it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccountKey {
    /// Name on the Hub.
    pub name: String,
    /// The Hub's address, without a slash at its end.
    pub endpoint: String,
}

impl AccountKey {
    /// What the entry is called in the keychain, where people see it: `name@huggingface.co`. A Hub without TLS is another Hub
    /// than the one with it, and its entry says so: `name@http://host`.
    pub fn user(&self) -> String {
        format!("{}@{}", self.name, self.endpoint.strip_prefix("https://").unwrap_or(&self.endpoint))
    }

    /// The same without a word about TLS, as people may type it.
    pub(super) fn short(&self) -> String {
        let host = self.endpoint.split_once("://").map_or(&*self.endpoint, |(_, host)| host);
        format!("{}@{host}", self.name)
    }

    /// Where the token of a Hub without TLS lay before there were two entries.
    pub(super) fn shared(&self) -> Option<AccountKey> {
        let host = self.endpoint.strip_prefix("http://")?;
        Some(AccountKey { name: self.name.clone(), endpoint: format!("https://{host}") })
    }
}

/// Keeps tokens. Calls may block, also for ever: a keychain that is locked asks its owner. Never called on a thread of the
/// runtime.
pub trait Keychain: Send + Sync {
    /// Whether it can be reached at all; asks its owner nothing.
    ///
    /// # Errors
    /// [`KeychainMissing`](crate::ErrorKind::KeychainMissing).
    fn ready(&self) -> Result<()>;

    /// The token of an account; `None` if it has none.
    ///
    /// # Errors
    /// [`KeychainMissing`](crate::ErrorKind::KeychainMissing), [`KeychainLocked`](crate::ErrorKind::KeychainLocked).
    fn get(&self, account: &AccountKey) -> Result<Option<Token>>;

    /// Stores a token in the place of the one before.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn set(&self, account: &AccountKey, token: &Token) -> Result<()>;

    /// Forgets a token; one that is not there is forgotten.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn remove(&self, account: &AccountKey) -> Result<()>;
}

/// Keeps tokens until it is dropped, for tests.
#[derive(Debug, Default)]
pub struct MemoryKeychain {
    /// std: held for one access of the map.
    tokens: Mutex<HashMap<AccountKey, Token>>,
}

impl MemoryKeychain {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<AccountKey, Token>) -> T) -> Result<T> {
        Ok(act(&mut self.tokens.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Keychain for MemoryKeychain {
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn get(&self, account: &AccountKey) -> Result<Option<Token>> {
        self.with(|tokens| tokens.get(account).cloned())
    }

    fn set(&self, account: &AccountKey, token: &Token) -> Result<()> {
        self.with(|tokens| drop(tokens.insert(account.clone(), token.clone())))
    }

    fn remove(&self, account: &AccountKey) -> Result<()> {
        self.with(|tokens| drop(tokens.remove(account)))
    }
}
