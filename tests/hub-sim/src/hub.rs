//! The state that the three hosts share: repos, rights, the Xet store, addresses. Never parses a request.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use crate::http::ByteSource;
use crate::repo::{Preparer, Repo, RepoKind};
use crate::sign::Signer;
use crate::xet::XetStore;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// No token.
    Anonymous,
    /// A token that no account has.
    Unknown,
    /// An account that sees public repos and has accepted no licence.
    Reader,
    /// An account that sees, and may write, everything.
    Owner,
}

/// Where the hosts listen, without a slash at the end.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    pub(crate) hub: String,
    pub(crate) cas: String,
    pub(crate) data: String,
}

/// How long what the Hub hands out is valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifetimes {
    pub(crate) signed_url: Duration,
    pub(crate) xet_token: Duration,
}

/// Uploads that were allowed and not committed; a client has at most some dozens.
const PENDING_GRANTS_MAX: usize = 1_024;

#[derive(Debug, Default)]
struct Grants {
    pending: HashMap<String, Grant>,
    given: u64,
}

/// An upload of a xorb that was allowed.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) length: u64,
    pub(crate) data: Option<bytes::Bytes>,
}

/// What became of an upload for a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granted {
    Taken,
    Before,
    OtherLength,
    NoGrant,
}

/// Everything but the listeners.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) addresses: Addresses,
    pub(crate) signer: Signer,
    pub(crate) store: Arc<XetStore>,
    pub(crate) preparer: Preparer,
    /// Std: held for reads and swaps alone.
    lifetimes: RwLock<Lifetimes>,
    /// Std: held for map operations alone.
    repos: RwLock<Repos>,
    /// What the data host serves under a SHA-256. Std: held for map operations alone.
    objects: Mutex<HashMap<String, ByteSource>>,
    /// Xorb uploads that were allowed and not yet committed. Std: held for map operations alone.
    grants: Mutex<Grants>,
    /// Std: one writer of repos at a time, readers go on.
    write_turn: Mutex<()>,
    requests: AtomicU64,
}

#[derive(Debug, Default)]
struct Repos {
    by_id: HashMap<(RepoKind, String), Arc<Repo>>,
    renamed: HashMap<(RepoKind, String), String>,
}

impl Hub {
    pub(crate) fn new(addresses: Addresses, store: Arc<XetStore>, lifetimes: Lifetimes) -> Self {
        Self {
            addresses,
            signer: Signer::new(),
            preparer: Preparer::new(store.clone()),
            store,
            lifetimes: RwLock::new(lifetimes),
            repos: RwLock::default(),
            objects: Mutex::default(),
            grants: Mutex::default(),
            write_turn: Mutex::default(),
            requests: AtomicU64::default(),
        }
    }

    /// Adds a repo or replaces it.
    pub(crate) fn put(&self, repo: Repo, former_ids: Vec<String>) {
        let mut repos = self.repos.write().unwrap_or_else(PoisonError::into_inner);
        for former in former_ids {
            repos.renamed.insert((repo.kind, former), repo.id.clone());
        }
        repos.by_id.insert((repo.kind, repo.id.clone()), Arc::new(repo));
    }

    pub(crate) fn remove(&self, kind: RepoKind, id: &str) -> bool {
        let mut repos = self.repos.write().unwrap_or_else(PoisonError::into_inner);
        repos.by_id.remove(&(kind, id.to_owned())).is_some()
    }

    pub(crate) fn repo(&self, kind: RepoKind, id: &str) -> Option<Arc<Repo>> {
        self.repos.read().unwrap_or_else(PoisonError::into_inner).by_id.get(&(kind, id.to_owned())).cloned()
    }

    /// Where a repo of this name went.
    pub(crate) fn renamed(&self, kind: RepoKind, id: &str) -> Option<String> {
        self.repos.read().unwrap_or_else(PoisonError::into_inner).renamed.get(&(kind, id.to_owned())).cloned()
    }

    pub(crate) fn repos_of(&self, kind: RepoKind) -> Vec<Arc<Repo>> {
        let repos = self.repos.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = repos.by_id.values().filter(|repo| repo.kind == kind).cloned().collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    pub(crate) fn lifetimes(&self) -> Lifetimes {
        *self.lifetimes.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_lifetimes(&self, change: impl FnOnce(&mut Lifetimes)) {
        change(&mut self.lifetimes.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// A signed address on the data host for these bytes.
    pub(crate) fn object_url(&self, folder: &str, sha256: &str, source: ByteSource) -> String {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).entry(sha256.to_owned()).or_insert(source);
        let path = format!("/{folder}/{sha256}");
        let query = self.signer.query(&path, "", self.lifetimes().signed_url);
        format!("{}{path}?{query}", self.addresses.data)
    }

    pub(crate) fn object(&self, sha256: &str) -> Option<ByteSource> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).get(sha256).cloned()
    }

    /// Keeps an uploaded LFS object.
    pub(crate) fn put_object(&self, sha256: String, source: ByteSource) {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).insert(sha256, source);
    }

    /// A number that no request had before.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Allows an upload; `None` if too many wait for their data.
    pub(crate) fn add_grant(&self, length: u64) -> Option<String> {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        if grants.pending.len() >= PENDING_GRANTS_MAX {
            return None;
        }
        grants.given += 1;
        let id = format!("grant-{}", grants.given);
        grants.pending.insert(id.clone(), Grant { length, data: None });
        Some(id)
    }

    /// Keeps the data of a grant until it is committed.
    pub(crate) fn fill_grant(&self, id: &str, data: bytes::Bytes) -> Granted {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        match grants.pending.get_mut(id) {
            None => Granted::NoGrant,
            Some(grant) if grant.data.is_some() => Granted::Before,
            Some(grant) if grant.length != data.len() as u64 => Granted::OtherLength,
            Some(grant) => {
                grant.data = Some(data);
                Granted::Taken
            }
        }
    }

    pub(crate) fn take_grant(&self, id: &str) -> Option<Grant> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner).pending.remove(id)
    }

    /// Changes a repo by a copy; readers see the old or the new one.
    pub(crate) fn update<T>(
        &self,
        kind: RepoKind,
        id: &str,
        change: impl FnOnce(&mut Repo) -> io::Result<T>,
    ) -> io::Result<T> {
        let _turn = self.write_turn.lock().unwrap_or_else(PoisonError::into_inner);
        let repo =
            self.repo(kind, id).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no repo {id}")))?;
        let mut repo = Repo::clone(&repo);
        let done = change(&mut repo)?;
        self.put(repo, Vec::new());
        Ok(done)
    }
}
