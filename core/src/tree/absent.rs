//! Names known not to exist in folders that are not listed. Forgets the oldest; never more than its limit.

use super::NodeId;
use std::collections::HashSet;

/// Names remembered at most, in two halves: about 1 MB of names such as programs probe for.
const ABSENT_NAMES_MAX: usize = 8_192;

/// Two generations: what is not asked for again goes when the younger half is full for the second time.
#[derive(Debug, Default)]
pub(super) struct Absent {
    young: HashSet<(NodeId, Box<str>)>,
    old: HashSet<(NodeId, Box<str>)>,
}

impl Absent {
    pub(super) fn contains(&self, key: &(NodeId, Box<str>)) -> bool {
        self.young.contains(key) || self.old.contains(key)
    }

    pub(super) fn insert(&mut self, key: (NodeId, Box<str>)) {
        if self.young.len() >= ABSENT_NAMES_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_the_limit_holds() {
        let mut absent = Absent::default();
        let key = |ix: usize| (NodeId::ROOT, ix.to_string().into_boxed_str());
        for ix in 0..50_000 {
            absent.insert(key(ix));
            assert!(absent.young.len() + absent.old.len() <= ABSENT_NAMES_MAX);
        }
        assert!((50_000 - ABSENT_NAMES_MAX / 2..50_000).all(|ix| absent.contains(&key(ix))));
        assert!(!absent.contains(&key(0)));
    }
}
