//! What the store's cells take and when each was last used, as far as this process knows. Never touches a disk.

use super::cell::CellId;
use super::key::BlobKey;
use std::collections::HashMap;
use std::time::SystemTime;

/// The account of all cells.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    cells: HashMap<CellId, Entry>,
    bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    bytes: u64,
    used: SystemTime,
}

/// A content in the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) key: BlobKey,
    pub(super) bytes: u64,
    /// Numbers of its cells, in order.
    pub(super) cells: Vec<u32>,
    /// When the last of its cells was used.
    pub(super) used: SystemTime,
}

impl Ledger {
    /// Bytes on the disk, in all.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A cell takes so much now, and was used then.
    pub(super) fn set(&mut self, id: CellId, bytes: u64, used: SystemTime) {
        let before = self.cells.insert(id, Entry { bytes, used });
        self.bytes = self.bytes - before.map_or(0, |entry| entry.bytes) + bytes;
    }

    /// When a cell was last used, as far as is known.
    pub(super) fn used(&self, id: CellId) -> Option<SystemTime> {
        self.cells.get(&id).map(|entry| entry.used)
    }

    /// A cell is gone.
    pub(super) fn remove(&mut self, id: CellId) {
        if let Some(entry) = self.cells.remove(&id) {
            self.bytes -= entry.bytes;
        }
    }

    /// The cell that leaves first: the one that nobody has used for longest.
    pub(super) fn oldest(&self, but: Option<CellId>) -> Option<CellId> {
        let others = self.cells.iter().filter(|(id, _)| Some(**id) != but);
        others.min_by_key(|(id, entry)| (entry.used, **id)).map(|(id, _)| *id)
    }

    /// The cells of a content.
    pub(super) fn of(&self, key: BlobKey) -> Vec<CellId> {
        self.cells.keys().filter(|id| id.key == key).copied().collect()
    }

    /// All contents, the one first that leaves first.
    pub(super) fn kept(&self) -> Vec<Kept> {
        let mut kept: HashMap<BlobKey, Kept> = HashMap::new();
        for (id, entry) in &self.cells {
            let one = kept.entry(id.key).or_insert(Kept { key: id.key, bytes: 0, cells: Vec::new(), used: entry.used });
            one.bytes += entry.bytes;
            one.cells.push(id.number);
            one.used = one.used.max(entry.used);
        }
        let mut kept: Vec<Kept> = kept.into_values().collect();
        kept.iter_mut().for_each(|one| one.cells.sort_unstable());
        kept.sort_by_key(|one| (one.used, one.key));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_was_not_used_for_longest_leaves_first() {
        let at = |s| SystemTime::UNIX_EPOCH + Duration::from_secs(s);
        let id = |key, number| CellId { key: BlobKey([key; 32]), number };
        let mut ledger = Ledger::default();
        for (cell, bytes, used) in [(id(1, 0), 10, 5), (id(1, 1), 20, 1), (id(2, 0), 30, 3), (id(1, 0), 15, 6)] {
            ledger.set(cell, bytes, at(used));
        }
        assert_eq!(ledger.bytes(), 65);
        assert_eq!(ledger.oldest(None), Some(id(1, 1)));
        assert_eq!(ledger.oldest(Some(id(1, 1))), Some(id(2, 0)));
        let kept: Vec<_> = ledger.kept().into_iter().map(|kept| (kept.key.0[0], kept.bytes, kept.cells)).collect();
        assert_eq!(kept, [(2, 30, vec![0]), (1, 35, vec![0, 1])]);
        ledger.remove(id(1, 1));
        ledger.remove(id(1, 1));
        assert_eq!(
            (ledger.bytes(), ledger.oldest(None), ledger.of(BlobKey([1; 32]))),
            (45, Some(id(2, 0)), vec![id(1, 0)])
        );
    }
}
