//! The keychain of the system: Keychain Services, the Windows Credential Manager, or the Secret Service (GNOME Keyring,
//! KWallet, KeePassXC).

#[cfg(any(target_os = "macos", windows))]
mod native;
#[cfg(not(any(target_os = "macos", windows)))]
mod secret_service;

#[cfg(any(target_os = "macos", windows))]
use self::native as system;
#[cfg(not(any(target_os = "macos", windows)))]
use self::secret_service as system;
use super::keychain::{AccountKey, Keychain};
use crate::token::Token;
use crate::{Error, ErrorKind, Result};
use keyring_core::Entry;

/// What all entries are filed under.
const SERVICE: &str = "weightless";

/// The keychain of the system. An entry is filed under the service `weightless` and the user `name@host`.
#[derive(Default)]
pub struct OsKeychain {
    store: system::Store,
}

/// Why the system's keychain did nothing.
enum Failure {
    /// It cannot be reached.
    Missing(keyring_core::Error),
    /// It answered, and this.
    Refused(keyring_core::Error),
}

impl OsKeychain {
    /// The one of this user; reached at the first question.
    pub fn new() -> Self {
        OsKeychain::default()
    }

    fn with<T>(&self, account: &AccountKey, act: impl Fn(&Entry) -> keyring_core::Result<T>) -> Result<Option<T>> {
        match self.store.with(SERVICE, &account.user(), act) {
            Ok(done) => Ok(Some(done)),
            Err(Failure::Refused(keyring_core::Error::NoEntry)) => Ok(None),
            Err(failure) => Err(failed(failure)),
        }
    }
}

impl Keychain for OsKeychain {
    fn ready(&self) -> Result<()> {
        self.store.ready().map_err(failed)
    }

    fn get(&self, account: &AccountKey) -> Result<Option<Token>> {
        self.with(account, Entry::get_password)?.as_deref().map(Token::new).transpose()
    }

    fn set(&self, account: &AccountKey, token: &Token) -> Result<()> {
        self.with(account, |entry| entry.set_password(token.secret())).map(drop)
    }

    fn remove(&self, account: &AccountKey) -> Result<()> {
        self.with(account, Entry::delete_credential).map(drop)
    }
}

/// The cause goes along as text: some of the crate's errors carry what an entry holds, but print none of it.
fn failed(failure: Failure) -> Error {
    let missing = |error: &keyring_core::Error| Error::new(ErrorKind::KeychainMissing, "").because(error.to_string());
    let error = match failure {
        Failure::Missing(error) => return missing(&error),
        Failure::Refused(error) => error,
    };
    match error {
        // Locked, the prompt dismissed, no keyring made yet, access refused.
        keyring_core::Error::NoStorageAccess(_) => Error::new(ErrorKind::KeychainLocked, "")
            .saying("the keychain is locked, or did not let Weightless in")
            .advise(
                "Unlock it and try again; without a desktop give the token in HF_TOKEN, or log in with `hf auth login`.",
            )
            .because(error.to_string()),
        keyring_core::Error::Ambiguous(_) => missing(&error)
            .saying("the keychain has several entries of Weightless for this account")
            .advise("Delete them in the keychain's own program, then log in again."),
        keyring_core::Error::TooLong(..) => missing(&error).saying("the token is too long for this keychain"),
        _ => missing(&error).saying("the keychain does not work"),
    }
}
