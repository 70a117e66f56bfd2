//! What is kept of earlier answers: bounded by count, bytes and age. Holds no policy on what an entry is good for.

use super::XetFile;
use super::layout::Layout;
use crate::hub::View;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Values by key; the oldest goes when there are too many, and none is given out past its time.
#[derive(Debug)]
pub(crate) struct Kept<K, V> {
    values: HashMap<K, (Instant, V)>,
    /// Keys, oldest first; may name entries that are gone.
    order: VecDeque<K>,
    entries_max: usize,
}

impl<K: Eq + Hash + Clone, V: Clone> Kept<K, V> {
    pub(crate) fn new(entries_max: usize) -> Self {
        Kept { values: HashMap::new(), order: VecDeque::new(), entries_max }
    }

    pub(crate) fn get(&self, key: &K, now: Instant) -> Option<V> {
        self.values.get(key).filter(|(until, _)| now < *until).map(|(_, value)| value.clone())
    }

    pub(crate) fn insert(&mut self, key: K, value: V, until: Instant) {
        if self.values.insert(key.clone(), (until, value)).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > self.entries_max {
            let Some(oldest) = self.order.pop_front() else { break };
            self.values.remove(&oldest);
        }
    }

    /// Forgets the value of `key` if it is still the one that `is` says.
    pub(crate) fn forget(&mut self, key: &K, is: impl FnOnce(&V) -> bool) {
        if self.values.get(key).is_some_and(|(_, value)| is(value)) {
            self.values.remove(key);
            self.order.retain(|kept| kept != key);
        }
    }

    /// Forgets what `keep` does not want.
    pub(crate) fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        self.values.retain(|key, _| keep(key));
        self.order.retain(keep);
    }
}

/// Reconstructions kept, as a count; one a piece, so 4096 reach 32 GiB of whole xorbs.
const LAYOUTS_MAX: usize = 4096;
/// Bytes of reconstructions kept.
const LAYOUT_BYTES_MAX: usize = 16 << 20;
/// A reconstruction is asked again after this, as its URLs are signed for a limited time (an hour on the Hub).
const LAYOUT_MS_MAX: u64 = 15 * 60 * 1000;
/// Reconstructions of a file looked at for a byte: overlapping ones are rare.
const CANDIDATES_MAX: usize = 8;

/// The reconstructions of a file by the start of their range, each with the time until which it is good.
type File = BTreeMap<u64, (Instant, Arc<Layout>)>;

/// Reconstructions by file, as one account sees it, and by the start of the range that they were asked for.
#[derive(Debug, Default)]
pub(crate) struct KeptLayouts {
    files: HashMap<XetFile, File>,
    /// Oldest first.
    order: VecDeque<(XetFile, u64, usize)>,
    bytes: usize,
}

impl KeptLayouts {
    /// Those that were asked for a range with `at` in it.
    pub(crate) fn containing(&self, file: &XetFile, at: u64, now: Instant) -> impl Iterator<Item = &Arc<Layout>> {
        self.files
            .get(file)
            .into_iter()
            .flat_map(move |file| file.range(..=at).rev().take(CANDIDATES_MAX))
            .filter(move |(_, (until, layout))| now < *until && layout.asked().contains(&at))
            .map(|(_, (_, layout))| layout)
    }

    pub(crate) fn insert(&mut self, file: &XetFile, layout: Arc<Layout>, now: Instant) {
        let bytes = layout.kept_bytes();
        let Range { start, end } = *layout.asked();
        self.remove(file, start);
        debug_assert!(start < end);
        let until = now + Duration::from_millis(LAYOUT_MS_MAX);
        self.files.entry(file.clone()).or_default().insert(start, (until, layout));
        self.order.push_back((file.clone(), start, bytes));
        self.bytes += bytes;
        while self.order.len() > LAYOUTS_MAX || self.bytes > LAYOUT_BYTES_MAX {
            let Some((file, start, _)) = self.order.front().cloned() else { break };
            self.remove(&file, start);
        }
    }

    /// Memory that they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Forgets `layout`, whose URLs are no longer good.
    pub(crate) fn forget(&mut self, file: &XetFile, layout: &Arc<Layout>) {
        let start = layout.asked().start;
        let kept = self.files.get(file).and_then(|layouts| layouts.get(&start));
        if kept.is_some_and(|(_, kept)| Arc::ptr_eq(kept, layout)) {
            self.remove(file, start);
        }
    }

    /// Forgets what was answered to `view`, which has ended.
    pub(crate) fn forget_view(&mut self, view: View) {
        self.files.retain(|file, _| file.view != view);
        self.order.retain(|(file, ..)| file.view != view);
        self.bytes = self.order.iter().map(|(_, _, bytes)| bytes).sum();
    }

    fn remove(&mut self, file: &XetFile, start: u64) {
        let Some(layouts) = self.files.get_mut(file) else { return };
        if layouts.remove(&start).is_none() {
            return;
        }
        if layouts.is_empty() {
            self.files.remove(file);
        }
        if let Some(index) = self.order.iter().position(|(f, s, _)| f == file && *s == start)
            && let Some((_, _, bytes)) = self.order.remove(index)
        {
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::layout::tests::{KIB, answer};

    fn layout(start_kib: u64) -> Arc<Layout> {
        let range = start_kib * KIB..(start_kib + 100) * KIB;
        Arc::new(Layout::check(answer(0, &[(1, 0..2, 100)], &[(1, &[(0..2, 0, 99)])]), range, true).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_reconstruction_is_found_by_any_byte_of_its_range_until_it_is_too_old() {
        let mut kept = KeptLayouts::default();
        let file = |view| XetFile { view, hash: "h".into() };
        let (mine, theirs) = (file(View::fresh()), file(View::fresh()));
        let now = Instant::now();
        kept.insert(&mine, layout(0), now);
        kept.insert(&mine, layout(50), now);
        kept.insert(&mine, layout(50), now);
        let found = |kept: &KeptLayouts, kib: u64, ms| {
            let later = now + Duration::from_millis(ms);
            kept.containing(&mine, kib * KIB, later).map(|l| l.asked().start / KIB).collect::<Vec<_>>()
        };
        assert_eq!(found(&kept, 60, 0), [50, 0]);
        assert_eq!(found(&kept, 40, 0), [0]);
        assert_eq!(found(&kept, 150, 0), [] as [u64; 0]);
        assert_eq!(found(&kept, 60, LAYOUT_MS_MAX), [] as [u64; 0]);
        kept.insert(&theirs, layout(20), now);
        assert_eq!(found(&kept, 60, 0), [50, 0], "what another account was answered is not for this one");
        kept.forget_view(theirs.view);
        assert_eq!((found(&kept, 60, 0), kept.order.len()), (vec![50, 0], 2));
        let first = Arc::clone(kept.containing(&mine, 0, now).next().unwrap());
        kept.forget(&mine, &first);
        kept.forget(&mine, &first);
        assert_eq!(found(&kept, 60, 0), [50]);
        for n in 0..2 * LAYOUTS_MAX as u64 {
            kept.insert(&mine, layout(n), now);
        }
        assert!(kept.order.len() <= LAYOUTS_MAX && kept.bytes <= LAYOUT_BYTES_MAX);
        assert_eq!(kept.order.iter().map(|(_, _, bytes)| bytes).sum::<usize>(), kept.bytes);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_value_goes_first_and_none_outlives_its_time() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let mut kept = Kept::new(2);
        for key in [1, 2, 2, 3] {
            kept.insert(key, key * 10, later);
        }
        assert_eq!([1, 2, 3].map(|key| kept.get(&key, now)), [None, Some(20), Some(30)]);
        kept.forget(&2, |value| *value == 21);
        kept.forget(&3, |value| *value == 30);
        assert_eq!([2, 3].map(|key| kept.get(&key, now)), [Some(20), None]);
        assert_eq!(kept.get(&2, later), None);
    }
}
