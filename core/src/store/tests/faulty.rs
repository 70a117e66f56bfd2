//! A disk in memory that loses its power, fails and fills up. What was not synced may survive a crash whole, in part, or not
//! at all, sector by sector; names likewise.

use crate::store::disk::{Disk, DiskFile, FileFacts};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

const SECTOR_BYTES: usize = 512;
const PAGE_BYTES: u64 = 4096;

/// Numbers that look random; the same for the same seed.
#[derive(Debug, Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }
}

#[derive(Debug, Default, Clone)]
struct Inode {
    now: Vec<u8>,
    pages: BTreeSet<u64>,
    durable: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
    used_s: u64,
}

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    durable_folders: BTreeSet<PathBuf>,
    inodes: Vec<Inode>,
    /// Changes until the power goes; none: it stays.
    changes_left: Option<u64>,
    refuse: Option<io::ErrorKind>,
    capacity_bytes: Option<u64>,
    clock_s: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct FaultyDisk(Arc<Mutex<State>>);

struct OpenFile {
    disk: FaultyDisk,
    inode: usize,
}

fn power_cut() -> io::Error {
    io::Error::other("the power is gone")
}

impl State {
    fn allocated(&self) -> u64 {
        let live: BTreeSet<_> = self.names.values().collect();
        live.into_iter().map(|inode| self.inodes[*inode].pages.len() as u64 * PAGE_BYTES).sum()
    }

    /// A change is about to be made; `false`: it is the one in which the power goes.
    fn change(&mut self) -> io::Result<bool> {
        match &mut self.changes_left {
            Some(0) => return Err(power_cut()),
            Some(left) => {
                *left -= 1;
                if *left == 0 {
                    return Ok(false);
                }
            }
            None => {}
        }
        match self.refuse {
            Some(kind) => Err(kind.into()),
            None => Ok(true),
        }
    }

    fn write(&mut self, inode: usize, content: &[u8], offset: usize) {
        self.clock_s += 1;
        let clock_s = self.clock_s;
        let inode = &mut self.inodes[inode];
        let end = offset + content.len();
        if inode.now.len() < end {
            inode.now.resize(end, 0);
        }
        inode.now[offset..end].copy_from_slice(content);
        inode.pages.extend(offset as u64 / PAGE_BYTES..(end as u64).div_ceil(PAGE_BYTES));
        inode.unsynced.push((offset, content.to_vec()));
        inode.used_s = clock_s;
    }
}

impl FaultyDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The power goes in the `n`th change from now.
    pub(super) fn cut_after(&self, n: u64) {
        self.state().changes_left = Some(n);
    }

    /// Whether the power is gone.
    pub(super) fn is_dead(&self) -> bool {
        self.state().changes_left == Some(0)
    }

    /// Every change fails like this.
    pub(super) fn refuse(&self, kind: Option<io::ErrorKind>) {
        self.state().refuse = kind;
    }

    /// So much fits.
    pub(super) fn set_capacity(&self, bytes: u64) {
        self.state().capacity_bytes = Some(bytes);
    }

    pub(super) fn allocated(&self) -> u64 {
        self.state().allocated()
    }

    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }

    /// Changes a byte behind everybody's back.
    pub(super) fn corrupt(&self, path: &Path, at: usize) {
        let mut state = self.state();
        let inode = state.names[path];
        state.inodes[inode].now[at] ^= 0x40;
    }

    /// The disk as it is found after the power came back.
    pub(super) fn after_crash(&self, dice: &mut Dice) -> FaultyDisk {
        let state = self.state();
        let mut found = State { clock_s: state.clock_s, ..State::default() };
        let all: BTreeSet<_> = state.names.iter().chain(&state.durable_names).map(|(path, _)| path.clone()).collect();
        let mut moved = BTreeMap::new();
        for path in all {
            let (now, durable) = (state.names.get(&path), state.durable_names.get(&path));
            let is_reached = path
                .ancestors()
                .skip(1)
                .all(|folder| folder.components().count() <= 2 || state.durable_folders.contains(folder));
            let inode = match (now, durable) {
                (Some(now), Some(durable)) if now == durable && is_reached => *now,
                (now, durable) => match [now, durable, None][dice.roll(3) as usize] {
                    Some(inode) => *inode,
                    None => continue,
                },
            };
            let new = *moved.entry(inode).or_insert_with(|| {
                found.inodes.push(survivor(&state.inodes[inode], dice));
                found.inodes.len() - 1
            });
            found.names.insert(path.clone(), new);
            found.durable_names.insert(path.clone(), new);
            found.durable_folders.extend(path.ancestors().skip(1).map(Path::to_owned));
        }
        FaultyDisk(Arc::new(Mutex::new(found)))
    }
}

/// What is left of a file.
fn survivor(inode: &Inode, dice: &mut Dice) -> Inode {
    let mut content = inode.durable.clone();
    for (offset, written) in &inode.unsynced {
        let fate = dice.roll(4);
        for (n, sector) in written.chunks(SECTOR_BYTES).enumerate() {
            let survives = match fate {
                0 => false,
                1 | 2 => true,
                _ => dice.roll(2) == 0,
            };
            if survives {
                let start = offset + n * SECTOR_BYTES;
                if content.len() < start + sector.len() {
                    content.resize(start + sector.len(), 0);
                }
                content[start..start + sector.len()].copy_from_slice(sector);
            }
        }
    }
    let pages = (0..(content.len() as u64).div_ceil(PAGE_BYTES)).collect();
    Inode { now: content.clone(), durable: content, pages, unsynced: Vec::new(), used_s: inode.used_s }
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let state = self.state();
        let inode = *state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(OpenFile { disk: self.clone(), inode }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        let known = state.names.get(path).copied();
        let inode = match known {
            Some(inode) => inode,
            None => {
                if !state.change()? {
                    return Err(power_cut());
                }
                state.inodes.push(Inode::default());
                let inode = state.inodes.len() - 1;
                state.names.insert(path.to_owned(), inode);
                inode
            }
        };
        drop(state);
        Ok(Box::new(OpenFile { disk: self.clone(), inode }))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.create(path)
    }

    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        self.open(path)?.facts()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.names.contains_key(path) {
            let goes_on = state.change()?;
            state.names.remove(path);
            if !goes_on {
                return Err(power_cut());
            }
        }
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        match self.state().names.keys().any(|name| name.starts_with(path)) {
            true => Err(io::ErrorKind::DirectoryNotEmpty.into()),
            false => Ok(()),
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        let below = state.names.keys().filter_map(|name| name.strip_prefix(folder).ok()?.iter().next());
        let names: BTreeSet<_> = below.map(|name| name.to_str().unwrap().to_owned()).collect();
        Ok(names.into_iter().collect())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.change()? {
            return Err(power_cut());
        }
        let State { names, durable_names, durable_folders, .. } = &mut *state;
        durable_names.retain(|path, _| path.parent() != Some(folder));
        for (path, inode) in names.iter() {
            if path.parent() == Some(folder) {
                durable_names.insert(path.clone(), *inode);
            }
            durable_folders.extend(path.ancestors().filter(|child| child.parent() == Some(folder)).map(Path::to_owned));
        }
        Ok(())
    }

    fn free_bytes(&self, _: &Path) -> io::Result<u64> {
        let state = self.state();
        state
            .capacity_bytes
            .map(|capacity| capacity.saturating_sub(state.allocated()))
            .ok_or(io::ErrorKind::Unsupported.into())
    }
}

impl DiskFile for OpenFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.state();
        let content = &state.inodes[self.inode].now;
        let rest = &content[content.len().min(offset as usize)..];
        let read = rest.len().min(into.len());
        into[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, content: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let goes_on = state.change()?;
        if let Some(capacity) = state.capacity_bytes
            && state.allocated() + content.len() as u64 > capacity
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if goes_on {
            state.write(self.inode, content, offset as usize);
            return Ok(());
        }
        let half = content.len() / 2;
        state.write(self.inode, &content[..half], offset as usize);
        Err(power_cut())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        if !state.change()? {
            return Err(power_cut());
        }
        let inode = &mut state.inodes[self.inode];
        inode.durable = inode.now.clone();
        inode.unsynced.clear();
        Ok(())
    }

    fn facts(&self) -> io::Result<FileFacts> {
        let state = self.disk.state();
        let inode = &state.inodes[self.inode];
        let used = SystemTime::UNIX_EPOCH + Duration::from_secs(inode.used_s);
        Ok(FileFacts { allocated: inode.pages.len() as u64 * PAGE_BYTES, used })
    }

    fn touch(&self) {
        let mut state = self.disk.state();
        state.clock_s += 1;
        state.inodes[self.inode].used_s = state.clock_s;
    }
}
