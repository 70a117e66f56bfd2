//! The Secret Service of a desktop session, which comes and goes: it may start after us, and its session's bus may end before
//! us. So not by the `keyring` crate, which finds a store once a process and keeps to what it found; by the same store.

use super::Failure;
use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error};
use std::sync::{Arc, Mutex, PoisonError};
use zbus_secret_service_keyring_store::Store as Connected;

#[derive(Default)]
pub(super) struct Store {
    /// The connection, once there was one. std: held to take it or to replace it, never while the service is asked.
    connected: Mutex<Option<Arc<Connected>>>,
}

impl Store {
    pub(super) fn ready(&self) -> Result<(), Failure> {
        self.connected().map(drop)
    }

    /// Does it, and once more on a new connection if the one before has broken: the service was started again, or the session.
    pub(super) fn with<T>(
        &self,
        service: &str,
        user: &str,
        act: impl Fn(&Entry) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let run = |store: Arc<Connected>| store.build(service, user, None).and_then(|entry| act(&entry));
        match run(self.connected()?) {
            Err(Error::PlatformFailure(_)) => {
                *self.lock() = None;
                run(self.connected()?).map_err(Failure::Refused)
            }
            done => done.map_err(Failure::Refused),
        }
    }

    fn connected(&self) -> Result<Arc<Connected>, Failure> {
        if let Some(store) = &*self.lock() {
            return Ok(Arc::clone(store));
        }
        let store = Connected::new().map_err(Failure::Missing)?;
        *self.lock() = Some(Arc::clone(&store));
        Ok(store)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Connected>>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
