//! One mount that is there: its repo, its place in the system or in the Hub folder, its way out.

use super::order::Order;
use super::place::Place;
use super::{blocking, unix_s};
use crate::exit::{Outcome, fault};
use crate::output;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use tokio::sync::watch;
use weightless_control::{MountState, MountStatus, UnmountManner};
use weightless_core::folder::HubFolder;
use weightless_core::mount::Mount;
use weightless_core::{Error, ErrorKind};
use weightless_platform::mounts::MountSource;
use weightless_platform::{MountOptions, OsMount, driver, mounts};

/// A mount of this process.
#[derive(Debug)]
pub(crate) struct Hosted {
    /// What was asked for.
    order: Order,
    mount: Arc<Mount>,
    way: Way,
    /// Somebody mounted it; a repo that is only used in the Hub folder goes by itself.
    is_kept: AtomicBool,
    mounted_at: SystemTime,
    at_login: AtomicBool,
    follow: AtomicBool,
    is_paused: AtomicBool,
    weight: AtomicU32,
    /// The commit that its revision stands for by now, if that is another one; std because it is held for a copy.
    update: Mutex<Option<String>>,
    is_stopping: AtomicBool,
}

/// Where it is.
#[derive(Debug)]
enum Way {
    /// At a mount point of its own.
    Alone {
        os: OsMount<Mount>,
        /// Taken, and with it the folders that were made removed, as soon as nothing is mounted there; std because it is held
        /// for that only.
        place: Mutex<Option<Place>>,
    },
    /// Under its name in the Hub folder.
    InFolder {
        folder: Arc<HubFolder>,
        path: String,
        /// True once it is no mount any more.
        ended: watch::Sender<bool>,
    },
}

impl Hosted {
    /// Mounts `mount` at `place`. Says what was cleared from there.
    pub(crate) async fn start(
        order: Order,
        mount: Arc<Mount>,
        place: Place,
        loops: usize,
    ) -> Outcome<(Self, Vec<String>)> {
        let options = MountOptions { threads: loops, ..MountOptions::default() };
        let (os, place) = {
            let mount = mount.clone();
            let source = MountSource::of(&mount);
            // Both come back together: if nobody waits for them any more, the mount goes first and then its folder.
            let start = move || {
                driver::check()?;
                Ok::<_, Error>((OsMount::start(mount, &source, place.dir(), &options)?, place))
            };
            blocking(start).await?.map_err(fault)?
        };
        let cleared = (os.cleared() > 0).then(|| format!("cleared a dead mount at {}", order.dir.display()));
        let hosted = Hosted::new(order, mount, Way::Alone { os, place: Mutex::new(Some(place)) }, true);
        Ok((hosted, cleared.into_iter().collect()))
    }

    /// A repo at `path` in the Hub folder, which somebody mounted there or only uses.
    pub(crate) fn in_folder(
        order: Order,
        mount: Arc<Mount>,
        folder: Arc<HubFolder>,
        path: String,
        is_kept: bool,
    ) -> Self {
        Hosted::new(order, mount, Way::InFolder { folder, path, ended: watch::Sender::new(false) }, is_kept)
    }

    fn new(order: Order, mount: Arc<Mount>, way: Way, is_kept: bool) -> Self {
        Hosted {
            at_login: AtomicBool::new(order.at_login),
            follow: AtomicBool::new(order.follow),
            order,
            mount,
            way,
            is_kept: AtomicBool::new(is_kept),
            mounted_at: SystemTime::now(),
            is_paused: AtomicBool::new(false),
            weight: AtomicU32::new(1),
            update: Mutex::default(),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// What was asked for, with what was changed since.
    pub(crate) fn order(&self) -> Order {
        let (at_login, follow) = (self.at_login.load(Ordering::Relaxed), self.follows());
        Order { at_login, follow, ..self.order.clone() }
    }

    /// Its repo.
    pub(crate) fn mount(&self) -> &Arc<Mount> {
        &self.mount
    }

    /// The mount point as the system knows it.
    pub(crate) fn dir(&self) -> String {
        let dir = match &self.way {
            Way::Alone { os, .. } => os.at(),
            Way::InFolder { .. } => &self.order.dir,
        };
        dir.to_string_lossy().into_owned()
    }

    /// Resolves when the mount is over, whoever ended it.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let (alone, in_folder) = match &self.way {
            Way::Alone { os, .. } => (Some(os.ended()), None),
            Way::InFolder { ended, .. } => (None, Some(ended.subscribe())),
        };
        async move {
            if let Some(ended) = alone {
                ended.await;
            }
            if let Some(mut ended) = in_folder {
                // An error means that nobody has it any more.
                let _ = ended.wait_for(|ended| *ended).await;
            }
        }
    }

    /// Whether it is in the Hub folder.
    pub(crate) fn is_in_folder(&self) -> bool {
        matches!(self.way, Way::InFolder { .. })
    }

    /// Whether somebody mounted it.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// Somebody mounts what was only used in the Hub folder until now. `false` if it was mounted already.
    pub(crate) fn keep(&self) -> bool {
        if let Way::InFolder { folder, path, .. } = &self.way {
            folder.keep_what_is(path);
        }
        !self.is_kept.swap(true, Ordering::Relaxed)
    }

    /// Whether it is on its way out.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// What is to be told of it.
    pub(crate) fn status(&self) -> MountStatus {
        let counters = self.mount.counters();
        let totals = self.mount.totals();
        let state = if self.is_stopping() { MountState::Stopping } else { MountState::Ready };
        MountStatus {
            repo: self.mount.repo().to_string(),
            revision: self.mount.revision().to_owned(),
            commit: self.mount.commit().to_string(),
            update: self.update.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            dir: self.dir(),
            pid: Some(std::process::id()),
            mounted_unix_s: unix_s(self.mounted_at),
            bytes_delivered: counters.delivered_bytes.load(Ordering::Relaxed),
            bytes_fetched: counters.fetched_bytes.load(Ordering::Relaxed),
            bytes_from_store: counters.store_bytes.load(Ordering::Relaxed),
            bytes_from_hub_cache: counters.hub_cache_bytes.load(Ordering::Relaxed),
            open_files: self.mount.open_files() as u64,
            files: totals.files,
            size_bytes: totals.bytes,
            in_folder: self.is_in_folder(),
            is_paused: self.is_paused.load(Ordering::Relaxed),
            weight: self.weight.load(Ordering::Relaxed),
            ..self.order().status(state)
        }
    }

    /// Whether the engine mounts it whenever it starts.
    pub(crate) fn set_at_login(&self, at_login: bool) {
        if at_login {
            self.keep();
        }
        self.at_login.store(at_login, Ordering::Relaxed);
    }

    /// Whether it moves to a newer commit by itself.
    pub(crate) fn set_follow(&self, follow: bool) {
        self.follow.store(follow, Ordering::Relaxed);
    }

    /// See [`set_follow`](Self::set_follow).
    pub(crate) fn follows(&self) -> bool {
        self.follow.load(Ordering::Relaxed)
    }

    /// Whether its reads fail at once that need the network. `all` says so for every mount.
    pub(crate) fn set_paused(&self, paused: bool, all: bool) {
        self.is_paused.store(paused, Ordering::Relaxed);
        self.mount.set_paused(paused || all);
    }

    /// Everything is paused, or goes on but for what is paused by itself.
    pub(crate) fn set_all_paused(&self, all: bool) {
        self.mount.set_paused(all || self.is_paused.load(Ordering::Relaxed));
    }

    /// What its revision stands for now. `false` if that was known.
    pub(crate) fn set_newest(&self, commit: &str) -> bool {
        let newest = (commit != &*self.mount.commit()).then(|| commit.to_owned());
        let mut update = self.update.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *update, newest.clone()) != newest
    }

    /// Its share of the memory.
    pub(crate) fn set_weight(&self, weight: u32) {
        self.weight.store(weight, Ordering::Relaxed);
        self.mount.set_weight(weight);
    }

    /// Takes the mount away.
    pub(crate) async fn unmount(&self, manner: UnmountManner) -> Outcome {
        self.is_stopping.store(true, Ordering::Release);
        let unmounted = match (&self.way, manner) {
            (Way::InFolder { folder, path, .. }, manner) => self.let_go(folder, path, manner).await,
            (Way::Alone { os, .. }, UnmountManner::Refuse) => os.unmount().await.map_err(fault),
            (Way::Alone { os, .. }, UnmountManner::Lazily) => detach(os.at()).await,
            (Way::Alone { os, .. }, UnmountManner::Force) => os.unmount_lazily().await.map_err(fault),
        };
        match unmounted {
            Ok(()) => {
                tracing::info!(dir = self.dir(), ?manner, "unmounted");
                self.leave();
                Ok(())
            }
            Err(fault) => {
                self.is_stopping.store(false, Ordering::Release);
                Err(fault)
            }
        }
    }

    /// Takes the mount out of the tree, also if it is in use: the process is about to end. Who holds it is said.
    pub(crate) async fn end(&self) {
        let Err(busy) = self.unmount(UnmountManner::Refuse).await else { return };
        output::note(format_args!("{busy}"));
        for holder in &busy.holders {
            output::note(format_args!("  {holder}"));
        }
        output::note("It is taken away all the same; what still has files open gets errors.");
        if let Err(fault) = self.unmount(UnmountManner::Force).await {
            tracing::error!(code = fault.code, dir = self.dir(), "the mount stays");
        }
    }

    /// Leaves the mount to the next engine: it is dead as soon as this process is gone, so that nobody takes an empty folder for
    /// the repo meanwhile, and the next engine puts a live one in its place. Only for a process that is about to end.
    pub(crate) fn abandon(self: &Arc<Self>) {
        std::mem::forget(self.clone());
    }

    /// The folders that were made for it.
    pub(crate) fn made(&self) -> Vec<PathBuf> {
        let Way::Alone { place, .. } = &self.way else { return Vec::new() };
        let place = place.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map(|place| place.made().to_vec()).unwrap_or_default()
    }

    /// The mount is over: what was made for it goes.
    pub(crate) fn leave(&self) {
        match &self.way {
            Way::Alone { place, .. } => drop(place.lock().unwrap_or_else(PoisonError::into_inner).take()),
            Way::InFolder { ended, .. } => drop(ended.send_replace(true)),
        }
    }

    /// Lets go of a repo of the Hub folder, unless its files are open and that counts.
    async fn let_go(&self, folder: &Arc<HubFolder>, path: &str, manner: UnmountManner) -> Outcome {
        match manner {
            UnmountManner::Refuse => {
                // Not what is open: a file that was closed this moment may still be, and who holds a path is busy too.
                let dir = self.order.dir.clone();
                let holders = blocking(move || mounts::holders(&dir)).await?;
                if !holders.is_empty() {
                    let busy = Error::new(ErrorKind::MountPointBusy, self.dir());
                    return Err(fault(busy.because(mounts::Busy { holders })));
                }
            }
            UnmountManner::Lazily => {}
            UnmountManner::Force => self.mount.shut_down(),
        }
        folder.let_go(path).await;
        Ok(())
    }
}

/// Takes the folder away and goes on serving who has files open; the kernel ends the mount when the last one closes.
pub(super) async fn detach(at: &Path) -> Outcome {
    let at = at.to_owned();
    blocking(move || match mounts::find(&at)? {
        Some(entry) => mounts::unmount(&entry, mounts::Unmount::Lazy),
        None => Ok(()),
    })
    .await?
    .map_err(fault)
}
