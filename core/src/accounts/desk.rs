//! Where the keychain is asked: one question at a time, each on a thread of its own, nobody waits longer than the bound. Never
//! blocks a thread of the runtime, never has more than one thread that is stuck.

use super::keychain::Keychain;
use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Longer than any keychain needs that asks nobody (a D-Bus service is started in a second or two), shorter than people wait
/// for an answer without a word.
const BOUND_MS: u64 = 5_000;

#[derive(Clone)]
pub(super) struct Desk {
    keychain: Arc<dyn Keychain>,
    /// One permit, which the thread of a question holds until the keychain has answered: the Secret Service client has one
    /// lock, so a second thread would only be stuck behind the first.
    turn: Arc<Semaphore>,
}

impl Desk {
    pub(super) fn new(keychain: Arc<dyn Keychain>) -> Self {
        Desk { keychain, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Whether the keychain can be reached; at once if a question is open already.
    pub(super) async fn ready(&self) -> Result<()> {
        let turn = Arc::clone(&self.turn).try_acquire_owned().map_err(|_| waits())?;
        bounded(self.put(turn, |keychain| keychain.ready(), |_| ())).await
    }

    /// Asks. If nobody waits any more when the keychain has done what was asked, `undo` takes it back.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Keychain) -> Result<T> + Send + 'static,
        undo: impl FnOnce(&dyn Keychain) + Send + 'static,
    ) -> Result<T> {
        bounded(async {
            let turn = Arc::clone(&self.turn).acquire_owned().await.map_err(|_| broken())?;
            self.put(turn, question, undo).await
        })
        .await
    }

    async fn put<T: Send + 'static>(
        &self,
        turn: OwnedSemaphorePermit,
        question: impl FnOnce(&dyn Keychain) -> Result<T> + Send + 'static,
        undo: impl FnOnce(&dyn Keychain) + Send + 'static,
    ) -> Result<T> {
        let keychain = Arc::clone(&self.keychain);
        let (answer, answered) = oneshot::channel();
        // Not the runtime's blocking threads: it would wait for one that is stuck when it ends.
        let thread = std::thread::Builder::new().name("keychain".to_owned()).spawn(move || {
            if let Err(Ok(_)) = answer.send(question(&*keychain)) {
                undo(&*keychain);
            }
            drop(turn);
        });
        thread.map_err(|error| broken().because(error))?;
        answered.await.map_err(|_| broken())?
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk")
    }
}

async fn bounded<T>(asking: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(Duration::from_millis(BOUND_MS), asking).await.unwrap_or_else(|_| Err(waits()))
}

fn waits() -> Error {
    Error::new(ErrorKind::KeychainLocked, "")
}

fn broken() -> Error {
    Error::new(ErrorKind::Internal, "the keychain")
}
