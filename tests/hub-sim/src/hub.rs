//! The state that the three hosts share: repos, rights, the Xet store, addresses. Never parses a request.

use std::collections::HashMap;
use std::io;
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
    grants: Mutex<Vec<Option<Grant>>>,
    /// Std: one writer of repos at a time, readers go on.
    pub(crate) write_turn: Mutex<()>,
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

    pub(crate) fn add_grant(&self, grant: Grant) -> String {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        grants.push(Some(grant));
        (grants.len() - 1).to_string()
    }

    /// Keeps the data of a grant until it is committed.
    pub(crate) fn fill_grant(&self, id: &str, data: bytes::Bytes) -> Granted {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        let index: Option<usize> = id.parse().ok();
        match index.and_then(|index| grants.get_mut(index)?.as_mut()) {
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
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        grants.get_mut(id.parse::<usize>().ok()?)?.take()
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
