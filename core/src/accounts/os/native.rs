//! Keychain Services of macOS and the Credential Manager of Windows: parts of the system, always there.

use super::Failure;
use keyring_core::{Entry, Error};

#[derive(Default)]
pub(super) struct Store;

impl Store {
    pub(super) fn ready(&self) -> Result<(), Failure> {
        match keyring::Entry::store_status() {
            Ok(()) => Ok(()),
            Err(error) => Err(Failure::Missing(Error::NotSupportedByStore(error.to_string()))),
        }
    }

    pub(super) fn with<T>(
        &self,
        service: &str,
        user: &str,
        act: impl Fn(&Entry) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        self.ready()?;
        let entry = keyring::Entry::new(service, user).map_err(Failure::Refused)?;
        act(&entry.inner).map_err(Failure::Refused)
    }
}
