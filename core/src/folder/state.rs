//! Which names the Hub folder knows, and under which ids. Asks nobody, tells nobody, reads no clock.
//!
//! The upper half of a node id says whose it is: 0 is the folder's own (the root, kinds, accounts), every other number is one
//! repo's for as long as the kernel may use it, and is never given twice. The lower half is the node in that repo's tree. So a
//! repo that was let go of and comes back has other ids, unless the kernel still holds the old ones: then it comes back as what
//! it was.

use super::answers::Answers;
use super::names::{self, Meaning, Place, Wanted};
use super::pace::Pace;
use crate::hub::Commit;
use crate::mount::Mount;
use crate::tree::{Node, NodeId, NodeKind};
use crate::volume::Dropped;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// Repos that are listed because they were used; those that are mounted come on top.
const RECENT_MAX: usize = 100;

/// The root's id in the folder's own range.
const ROOT: u32 = NodeId::ROOT.0 as u32;

/// A repo that was used, as it is kept on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// Its name, from the folder's root on.
    pub path: String,
    /// Time of the commit that was shown.
    pub modified: SystemTime,
}

/// A folder of ours.
#[derive(Debug)]
struct Dir {
    place: Place,
    parent: u32,
    name: Arc<str>,
    refs: u64,
}

/// A repo under one of its names.
#[derive(Debug)]
pub(super) struct Slot {
    dir: u32,
    name: Arc<str>,
    pub(super) path: String,
    pub(super) wanted: Wanted,
    pub(super) shown: Arc<Shown>,
    /// Times that the kernel was told of a node of it and has not forgotten.
    refs: u64,
    used: Instant,
    modified: SystemTime,
    /// Said to be in use, until it is let go of.
    in_use: bool,
    /// Somebody mounted it: it stays until they unmount it.
    is_kept: bool,
    /// Its name leads elsewhere from now on; it lives for who still holds it.
    is_gone: bool,
}

/// What a repo shows, as far as it is known. Filled once.
#[derive(Debug)]
pub(super) struct Shown {
    /// The id of its root.
    pub(super) first: NodeId,
    pub(super) commit: OnceCell<Commit>,
    pub(super) mount: OnceCell<Arc<Mount>>,
}

/// A name that the Hub is being asked for; lives as long as somebody waits for it.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) dir: u32,
    pub(super) name: Box<str>,
    pub(super) path: String,
    pub(super) wanted: Wanted,
    /// What it is if there is no such repo.
    pub(super) or_account: Option<Place>,
    pub(super) commit: OnceCell<Commit>,
}

/// What is under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Child {
    Dir(u32),
    Slot(u32),
}

/// What became of repos in one sweep.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// Not in use any more.
    pub(super) let_go: Vec<String>,
    /// The kernel is to forget them.
    pub(super) dropped: Vec<Dropped>,
    /// To be dropped outside the lock.
    pub(super) removed: Vec<Slot>,
}

/// Everything of the folder that changes.
#[derive(Debug)]
pub(super) struct State {
    dirs: HashMap<u32, Dir>,
    slots: HashMap<u32, Slot>,
    by_name: HashMap<(u32, Box<str>), Child>,
    asking: HashMap<String, Weak<Asking>>,
    next_dir: u32,
    next_slot: u32,
    /// Newest first.
    recent: VecDeque<Recent>,
    pub(super) answers: Answers,
    pub(super) pace: Pace,
}

/// Whose a node is: 0 for the folder's own.
pub(super) fn slot_of(id: NodeId) -> u32 {
    (id.0 >> 32) as u32
}

/// A node's number in the range it is in.
fn low(id: NodeId) -> u32 {
    id.0 as u32
}

fn first(slot: u32) -> NodeId {
    NodeId(u64::from(slot) << 32 | NodeId::ROOT.0)
}

/// Whether a node is the root of a repo.
pub(super) fn is_first(id: NodeId) -> bool {
    low(id) == ROOT
}

impl State {
    pub(super) fn new(recent: Vec<Recent>) -> Self {
        let root = Dir { place: Place::Root, parent: ROOT, name: "".into(), refs: 0 };
        State {
            dirs: HashMap::from([(ROOT, root)]),
            slots: HashMap::new(),
            by_name: HashMap::new(),
            asking: HashMap::new(),
            next_dir: ROOT + 1,
            next_slot: 1,
            recent: recent.into_iter().take(RECENT_MAX).collect(),
            answers: Answers::default(),
            pace: Pace::default(),
        }
    }

    pub(super) fn place(&self, dir: u32) -> Option<&Place> {
        self.dirs.get(&dir).map(|dir| &dir.place)
    }

    pub(super) fn slot(&self, slot: u32) -> Option<&Slot> {
        self.slots.get(&slot)
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.values()
    }

    /// The slot, used now.
    pub(super) fn touch(&mut self, slot: u32, now: Instant) -> Option<&Slot> {
        let slot = self.slots.get_mut(&slot)?;
        slot.used = now;
        Some(slot)
    }

    /// A node of the folder's own, or a repo's root.
    pub(super) fn node(&self, id: NodeId) -> Option<Node> {
        match slot_of(id) {
            0 => self.dir_node(low(id)),
            slot => self.slot_node(slot),
        }
    }

    fn dir_node(&self, dir: u32) -> Option<Node> {
        let Dir { parent, name, .. } = self.dirs.get(&dir)?;
        let (id, parent) = (NodeId(dir.into()), NodeId((*parent).into()));
        Some(Node { id, parent, name: name.clone(), kind: NodeKind::Directory })
    }

    fn slot_node(&self, slot: u32) -> Option<Node> {
        let Slot { dir, name, .. } = self.slots.get(&slot)?;
        Some(Node { id: first(slot), parent: NodeId((*dir).into()), name: name.clone(), kind: NodeKind::Directory })
    }

    pub(super) fn child_node(&self, child: Child) -> Option<Node> {
        match child {
            Child::Dir(dir) => self.dir_node(dir),
            Child::Slot(slot) => self.slot_node(slot),
        }
    }

    /// What is known under a name.
    pub(super) fn child(&self, dir: u32, name: &str) -> Option<Child> {
        self.by_name.get(&(dir, Box::from(name))).copied()
    }

    /// A folder of ours under its name.
    pub(super) fn dir(&mut self, parent: u32, name: &str, place: Place) -> Option<u32> {
        match self.child(parent, name) {
            Some(Child::Dir(dir)) => return Some(dir),
            Some(Child::Slot(_)) => return None,
            None => {}
        }
        let dir = self.next_dir;
        self.next_dir = self.next_dir.checked_add(1)?;
        self.dirs.insert(dir, Dir { place, parent, name: name.into(), refs: 0 });
        self.by_name.insert((parent, name.into()), Child::Dir(dir));
        Some(dir)
    }

    /// The path of `name` in `dir`, from the folder's root on.
    pub(super) fn path(&self, dir: u32, name: &str) -> String {
        let mut path = name.to_owned();
        let mut at = dir;
        while let Some(Dir { parent, name, .. }) = self.dirs.get(&at).filter(|_| at != ROOT) {
            path = format!("{name}/{path}");
            at = *parent;
        }
        path
    }

    /// A number that no repo has had.
    pub(super) fn number(&mut self) -> u32 {
        let number = self.next_slot;
        // Four thousand million repos: 136 years of one a second.
        self.next_slot = self.next_slot.saturating_add(1);
        number
    }

    /// The repo under a name; made if there is none.
    pub(super) fn repo(
        &mut self,
        dir: u32,
        name: &str,
        wanted: &Wanted,
        modified: SystemTime,
        now: Instant,
    ) -> Option<u32> {
        match self.child(dir, name) {
            Some(Child::Slot(slot)) => return Some(slot),
            Some(Child::Dir(_)) => return None,
            None => {}
        }
        let number = self.number();
        let path = self.path(dir, name);
        let shown = Shown { first: first(number), commit: OnceCell::new(), mount: OnceCell::new() };
        let slot = Slot {
            dir,
            name: name.into(),
            path,
            wanted: wanted.clone(),
            shown: Arc::new(shown),
            refs: 0,
            used: now,
            modified,
            in_use: false,
            is_kept: false,
            is_gone: false,
        };
        self.slots.insert(number, slot);
        self.by_name.insert((dir, name.into()), Child::Slot(number));
        Some(number)
    }

    /// The repo at `path`; its folders and itself are made where they are missing. `wanted` says what it is where its name does
    /// not.
    pub(super) fn repo_at(
        &mut self,
        path: &str,
        wanted: Option<&Wanted>,
        modified: SystemTime,
        now: Instant,
    ) -> Option<u32> {
        let (folders, name) = path.rsplit_once('/').map_or(("", path), |(folders, name)| (folders, name));
        let mut dir = ROOT;
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            dir = match names::meaning(self.place(dir)?, folder)? {
                Meaning::Place(place) | Meaning::Account(place, _) => self.dir(dir, folder, place)?,
                Meaning::Repo(_) => return None,
            };
        }
        let read = match (wanted, names::meaning(self.place(dir)?, name)) {
            (Some(wanted), _) => wanted.clone(),
            (None, Some(Meaning::Repo(wanted) | Meaning::Account(_, Some(wanted)))) => wanted,
            _ => return None,
        };
        self.repo(dir, name, &read, modified, now)
    }

    /// The question for a name that is under way, or a new one.
    pub(super) fn ask(&mut self, asking: Asking) -> Arc<Asking> {
        if let Some(under_way) = self.asking.get(&asking.path).and_then(Weak::upgrade) {
            return under_way;
        }
        self.asking.retain(|_, asking| asking.strong_count() > 0);
        let asking = Arc::new(asking);
        self.asking.insert(asking.path.clone(), Arc::downgrade(&asking));
        asking
    }

    /// What is listed in a folder, by name: what always is, what was used, what is mounted. Repos without an account are not:
    /// who walks two levels deep would be inside of them.
    pub(super) fn list(&mut self, dir: u32, now: Instant) -> Vec<Node> {
        for kind in [crate::repo::RepoKind::Dataset, crate::repo::RepoKind::Space] {
            self.dir(ROOT, kind.api_segment(), Place::Kind(kind));
        }
        for Recent { path, modified } in self.recent.clone() {
            self.repo_at(&path, None, modified, now);
        }
        let mut listed = BTreeMap::new();
        let always = |dir: &Dir| matches!(dir.place, Place::Kind(_));
        for (id, _) in self.dirs.iter().filter(|(_, it)| it.parent == dir && always(it)) {
            listed.extend(self.dir_node(*id).map(|node| (node.name.clone(), node)));
        }
        for slot in self.slots.iter().filter(|(_, slot)| self.is_listed(slot)).map(|(slot, _)| *slot) {
            // Up from the repo, to what of it is in this folder.
            let mut node = self.slot_node(slot);
            while let Some(it) = node.filter(|it| it.id != NodeId::ROOT) {
                if it.parent == NodeId(dir.into()) {
                    listed.insert(it.name.clone(), it);
                    break;
                }
                node = self.dir_node(low(it.parent));
            }
        }
        listed.into_values().collect()
    }

    fn is_listed(&self, slot: &Slot) -> bool {
        let is_recent = || self.recent.iter().any(|recent| recent.path == slot.path);
        !slot.is_gone && slot.wanted.repo.name.contains('/') && (slot.is_kept || is_recent())
    }

    /// A repo is used: says so the first time. `commit` is what it shows.
    pub(super) fn begin_use(&mut self, slot: u32, commit: &Commit, now: Instant) -> bool {
        let Some(slot) = self.slots.get_mut(&slot) else { return false };
        slot.used = now;
        slot.modified = commit.modified;
        if slot.in_use || slot.is_gone {
            return false;
        }
        slot.in_use = true;
        let wanted = &slot.wanted;
        // A repo without an account goes by its full name, where it has one.
        let path = match (wanted.repo.name.contains('/'), commit.repo.name.contains('/')) {
            (true, _) => slot.path.clone(),
            (false, true) => names::path(&commit.repo, wanted.revision.as_deref()),
            (false, false) => return true,
        };
        self.recent.retain(|recent| recent.path != path);
        self.recent.push_front(Recent { path, modified: commit.modified });
        self.recent.truncate(RECENT_MAX);
        true
    }

    /// Somebody mounted it: it is in use until they unmount it.
    pub(super) fn keep(&mut self, slot: u32) {
        if let Some(slot) = self.slots.get_mut(&slot) {
            slot.is_kept = true;
            slot.in_use = true;
        }
    }

    /// What was used, newest first.
    pub(super) fn recent(&self) -> Vec<Recent> {
        self.recent.iter().cloned().collect()
    }

    /// It is not listed any more.
    pub(super) fn forget_recent(&mut self, path: &str) {
        self.recent.retain(|recent| recent.path != path);
    }

    /// What a node of a repo or of ours shows as its time.
    pub(super) fn modified(&self, id: NodeId) -> Option<SystemTime> {
        let slot = self.slots.get(&slot_of(id))?;
        Some(slot.shown.commit.get().map_or(slot.modified, |commit| commit.modified))
    }

    pub(super) fn told(&mut self, id: NodeId) {
        match slot_of(id) {
            0 => self.dirs.get_mut(&low(id)).map(|dir| dir.refs += 1),
            slot => self.slots.get_mut(&slot).map(|slot| slot.refs += 1),
        };
    }

    /// Returns a repo that nobody needs any more, to be dropped outside the lock.
    pub(super) fn forgotten(&mut self, id: NodeId, count: u64, now: Instant, idle: Duration) -> Option<Slot> {
        let number = slot_of(id);
        if number == 0 {
            // Taken out by the next sweep, since what is in it may be just coming.
            let dir = self.dirs.get_mut(&low(id))?;
            dir.refs = dir.refs.saturating_sub(count);
            return None;
        }
        let slot = self.slots.get_mut(&number)?;
        slot.refs = slot.refs.saturating_sub(count);
        slot.is_spare(now, idle).then(|| self.remove(number)).flatten()
    }

    fn remove(&mut self, number: u32) -> Option<Slot> {
        let slot = self.slots.remove(&number)?;
        let key = (slot.dir, Box::from(&*slot.name));
        // A name that leads elsewhere stays.
        if self.by_name.get(&key) == Some(&Child::Slot(number)) {
            self.by_name.remove(&key);
        }
        Some(slot)
    }

    /// What the kernel may know of a repo's name is to be dropped.
    pub(super) fn dropped(&self, slot: u32) -> Option<Dropped> {
        Some(Dropped { unless_held: false, ..self.slots.get(&slot)?.dropped() })
    }

    /// Its name leads nowhere from now on, or to another node.
    pub(super) fn let_go(&mut self, path: &str) -> Option<Dropped> {
        self.forget_recent(path);
        let (number, slot) = self.slots.iter_mut().find(|(_, slot)| slot.path == path && !slot.is_gone)?;
        let number = *number;
        (slot.is_gone, slot.in_use, slot.is_kept) = (true, false, false);
        let dropped = Dropped { unless_held: false, ..slot.dropped() };
        let key = (slot.dir, Box::from(&*slot.name));
        if self.by_name.get(&key) == Some(&Child::Slot(number)) {
            self.by_name.remove(&key);
        }
        Some(dropped)
    }

    /// Lets go of what has not been used for `idle`.
    pub(super) fn sweep(&mut self, now: Instant, idle: Duration) -> Swept {
        let mut swept = Swept::default();
        let mut spare = Vec::new();
        for (number, slot) in &mut self.slots {
            if !slot.is_idle(now, idle) {
                continue;
            }
            if slot.in_use {
                slot.in_use = false;
                swept.let_go.push(slot.path.clone());
            }
            if slot.is_spare(now, idle) {
                spare.push(*number);
            } else if slot.is_gone {
                // Its name is another's, perhaps.
            } else if slot.shown.mount.get().is_some() {
                swept.dropped.push(slot.dropped());
            } else {
                // The kernel knows its root and nothing of it: who comes next sees the commit of then.
                let shown = Shown { first: slot.shown.first, commit: OnceCell::new(), mount: OnceCell::new() };
                slot.shown = Arc::new(shown);
            }
        }
        swept.removed = spare.into_iter().filter_map(|number| self.remove(number)).collect();
        self.sweep_dirs();
        swept
    }

    /// Accounts that nobody knows and in which there is nothing.
    fn sweep_dirs(&mut self) {
        let used: Vec<u32> =
            self.slots.values().map(|slot| slot.dir).chain(self.dirs.values().map(|dir| dir.parent)).collect();
        let State { dirs, by_name, .. } = self;
        dirs.retain(|id, dir| {
            let stays = *id == ROOT || dir.refs > 0 || matches!(dir.place, Place::Kind(_)) || used.contains(id);
            if !stays {
                by_name.remove(&(dir.parent, Box::from(&*dir.name)));
            }
            stays
        });
    }
}

impl Slot {
    /// Nobody has used it for a while, nobody is just getting to it, and nobody has a file of it open.
    fn is_idle(&self, now: Instant, idle: Duration) -> bool {
        let is_open = || self.shown.mount.get().is_some_and(|mount| mount.open_files() > 0);
        let rests = self.is_gone || now.duration_since(self.used) >= idle;
        !self.is_kept && rests && Arc::strong_count(&self.shown) == 1 && !is_open()
    }

    /// Nobody can come back to it under its ids.
    fn is_spare(&self, now: Instant, idle: Duration) -> bool {
        self.refs == 0 && !self.in_use && self.is_idle(now, idle)
    }

    fn dropped(&self) -> Dropped {
        Dropped { parent: NodeId(self.dir.into()), name: self.name.clone(), path: self.path.clone(), unless_held: true }
    }

    pub(super) fn in_use(&self) -> bool {
        self.in_use
    }
}
