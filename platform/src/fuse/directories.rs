//! The folders that are open: what `opendir` saw stays what `readdir` lists, under offsets that never move. Bounded.

use super::attributes::NAME_BYTES_MAX;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weightless_core::mount::Directory;
use weightless_core::tree::{Node, NodeId};

/// Open folders of one mount. 16,384 is what a deep, parallel walk never reaches and a leak soon does; a snapshot is
/// shared with the tree, so one costs little.
const OPEN_MAX: usize = 16_384;

/// A folder as it was when it was opened.
#[derive(Debug, Clone)]
pub(super) struct OpenFolder {
    pub(super) id: NodeId,
    pub(super) parent: NodeId,
    pub(super) listing: Arc<Directory>,
}

/// One line of a listing.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// The folder itself.
    Dot(NodeId),
    /// The folder it is in.
    DotDot(NodeId),
    /// An entry.
    Entry(&'a Node),
}

impl OpenFolder {
    /// Lines from `offset` on, each with the offset of the one after it. An offset is a line's index, so one that was
    /// handed out stays right for as long as the folder is open.
    pub(super) fn lines(&self, offset: u64) -> impl Iterator<Item = (u64, Line<'_>)> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let dots = [Line::Dot(self.id), Line::DotDot(self.parent)].into_iter().skip(start);
        let entries = self.listing.entries.iter().skip(start.saturating_sub(DOTS)).map(Line::Entry);
        (offset.saturating_add(1)..=u64::MAX)
            .zip(dots.chain(entries))
            .filter(|(_, line)| !matches!(line, Line::Entry(node) if !is_listable(&node.name)))
    }
}

/// `.` and `..`.
const DOTS: usize = 2;

/// One name that the kernel does not take makes it refuse the whole folder.
fn is_listable(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(['/', '\0']) && name != "." && name != ".."
}

/// The table.
#[derive(Debug, Default)]
pub(super) struct Directories {
    /// std, because it is held for one look-up and never while something is answered.
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    folders: HashMap<u64, OpenFolder>,
    last_handle: u64,
}

impl Directories {
    /// Keeps `folder`; `None` if too many are open.
    pub(super) fn insert(&self, folder: OpenFolder) -> Option<u64> {
        let mut table = self.table();
        if table.folders.len() >= OPEN_MAX {
            return None;
        }
        table.last_handle += 1;
        let handle = table.last_handle;
        table.folders.insert(handle, folder);
        Some(handle)
    }

    pub(super) fn get(&self, handle: u64) -> Option<OpenFolder> {
        self.table().folders.get(&handle).cloned()
    }

    pub(super) fn remove(&self, handle: u64) {
        // Dropped after the lock: a snapshot may be the last of its kind, and large.
        let _folder = self.table().folders.remove(&handle);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing under the lock leaves the table half changed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_core::tree::NodeKind;

    fn folder(names: &[&str]) -> OpenFolder {
        let entries = names.iter().zip(10..).map(|(name, id)| Node {
            id: NodeId(id),
            parent: NodeId(5),
            name: (*name).into(),
            kind: NodeKind::Directory,
        });
        OpenFolder { id: NodeId(5), parent: NodeId(1), listing: Arc::new(Directory { entries: entries.collect() }) }
    }

    fn name(line: &Line<'_>) -> String {
        match line {
            Line::Dot(id) => format!(".{}", id.0),
            Line::DotDot(id) => format!("..{}", id.0),
            Line::Entry(node) => node.name.to_string(),
        }
    }

    /// Lists as the kernel does: as many lines as fit, then again from the last offset seen.
    fn listed(folder: &OpenFolder, lines_a_page: usize) -> Vec<String> {
        let (mut names, mut offset) = (Vec::new(), 0);
        loop {
            let page: Vec<_> = folder.lines(offset).take(lines_a_page).collect();
            let Some((last, _)) = page.last() else { return names };
            offset = *last;
            names.extend(page.iter().map(|(_, line)| name(line)));
        }
    }

    #[test]
    fn every_name_is_listed_once_however_small_the_pages() {
        let long = "x".repeat(256);
        let longest = "x".repeat(255);
        let table: [(&[&str], &[&str]); 5] = [
            (&[], &[".5", "..1"]),
            (&["a"], &[".5", "..1", "a"]),
            (&["a", "b", "c", "d", "e"], &[".5", "..1", "a", "b", "c", "d", "e"]),
            (&["a/b", "", "c", ".", "..", "d\0", "e", &long], &[".5", "..1", "c", "e"]),
            (&[&longest, "é 🦀"], &[".5", "..1", &longest, "é 🦀"]),
        ];
        for (names, expected) in table {
            for lines_a_page in 1..=expected.len() + 1 {
                assert_eq!(listed(&folder(names), lines_a_page), expected, "{lines_a_page} a page");
            }
        }
    }

    #[test]
    fn any_offset_may_be_asked_again() {
        let folder = folder(&["a", "b"]);
        let table: [(u64, &[&str]); 6] = [
            (0, &[".5", "..1", "a", "b"]),
            (1, &["..1", "a", "b"]),
            (2, &["a", "b"]),
            (3, &["b"]),
            (4, &[]),
            (1 << 40, &[]),
        ];
        for (offset, expected) in table {
            let found: Vec<String> = folder.lines(offset).map(|(_, line)| name(&line)).collect();
            assert_eq!(found, expected, "from {offset}");
        }
        assert_eq!(folder.lines(u64::MAX - 1).count(), 0);
    }

    #[test]
    fn the_table_is_bounded_and_never_reuses_a_handle() {
        let directories = Directories::default();
        let handles: Vec<u64> = (0..OPEN_MAX).map_while(|_| directories.insert(folder(&[]))).collect();
        assert_eq!(handles.len(), OPEN_MAX);
        assert_eq!(directories.insert(folder(&[])), None);
        directories.remove(handles[0]);
        assert!(directories.get(handles[0]).is_none());
        let again = directories.insert(folder(&["a"])).expect("there is room again");
        assert!(!handles.contains(&again));
        assert_eq!(directories.get(again).expect("it is open").listing.entries.len(), 1);
    }
}
