//! Who asks the Hub. Tokens go in once and never come out.

use crate::message::Method;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Asks for the accounts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ListAccounts {}

impl Method for ListAccounts {
    const NAME: &str = "accounts.list";
    type Reply = Accounts;
}

/// The accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Accounts {
    /// In the order in which they were added; what the environment and the Hub's own tools offer comes last.
    pub accounts: Vec<Account>,
    /// Why tokens cannot be stored here, where that is so: no Secret Service runs. Tokens of the environment work still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_keychain: Option<String>,
}

/// A token, as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Account {
    /// Name on the Hub.
    pub name: String,
    /// Name for people, where it is known.
    #[serde(default)]
    pub full_name: Option<String>,
    /// Organisations that it belongs to.
    #[serde(default)]
    pub orgs: Vec<String>,
    /// What the token may do, as the Hub names it: `read`, `write`, `fineGrained`.
    #[serde(default)]
    pub role: Option<String>,
    /// The Hub it belongs to.
    pub endpoint: String,
    /// Where the token lies.
    pub source: TokenSource,
    /// Whether mounts use it that name no other.
    pub is_default: bool,
}

/// Where a token lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The keychain of the system.
    Keychain,
    /// `HF_TOKEN`.
    Environment,
    /// A file: of `HF_TOKEN_PATH`, or what `hf auth login` wrote.
    File,
    /// A place of a newer protocol.
    #[serde(other)]
    Other,
}

/// Asks the Hub whose token it is and stores it in the keychain. The first account becomes the default.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AddAccount {
    /// The token.
    pub token: String,
    /// The Hub it is for; the one of the settings without.
    #[serde(default)]
    pub endpoint: Option<String>,
}

/// Without the token.
impl fmt::Debug for AddAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddAccount").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Method for AddAccount {
    const NAME: &str = "accounts.add";
    type Reply = Account;
}

/// Forgets an account and its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RemoveAccount {
    /// Name on the Hub.
    pub name: String,
}

impl Method for RemoveAccount {
    const NAME: &str = "accounts.remove";
    type Reply = Accounts;
}

/// Makes an account the default, now and for mounts that run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UseAccount {
    /// Name on the Hub.
    pub name: String,
}

impl Method for UseAccount {
    const NAME: &str = "accounts.use";
    type Reply = Accounts;
}
