//! The commits that a mount shows: the one of now, and some before it for whoever still looks at their files. Asks nobody.

use crate::tree::{Node, NodeId, Tree};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::SystemTime;

/// Commits before the one of now that are remembered. A file that is open reads on whatever is remembered; of an older commit's
/// file nothing else can be told any more.
const BEFORE_MAX: usize = 8;

/// A commit as it is shown.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) commit: Arc<str>,
    pub(super) modified: SystemTime,
    pub(super) tree: Arc<Tree>,
}

/// All of them. Each has a range of ids of its own, so that an id is one content for ever; but the root is always the same.
#[derive(Debug)]
pub(super) struct History {
    root: NodeId,
    /// Newest last, never empty. Std: held for a look or a change.
    shown: RwLock<Vec<Arc<Shown>>>,
}

impl History {
    pub(super) fn new(first: Shown) -> Self {
        History { root: first.tree.root(), shown: RwLock::new(vec![Arc::new(first)]) }
    }

    /// The commit of now.
    pub(super) fn now(&self) -> Arc<Shown> {
        let shown = self.shown();
        shown[shown.len() - 1].clone()
    }

    /// From now on `next` is shown.
    pub(super) fn push(&self, next: Shown) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        shown.push(Arc::new(next));
        if shown.len() > BEFORE_MAX + 1 {
            shown.remove(0);
        }
    }

    /// The root of the tree that is shown next; `None` where a mount has a range of ids for one tree only.
    pub(super) fn next_root(&self) -> Option<NodeId> {
        let last = self.now().tree.root();
        (self.root == NodeId::ROOT).then_some(NodeId(last.0 + (1 << RANGE_BITS)))
    }

    /// The commit that a node is of, and the node's id in its tree; `None` if that is not remembered any more.
    pub(super) fn of(&self, node: NodeId) -> Option<(Arc<Shown>, NodeId)> {
        if node == self.root {
            let now = self.now();
            let root = now.tree.root();
            return Some((now, root));
        }
        let is_of = |shown: &&Arc<Shown>| shown.tree.root().0 >> RANGE_BITS == node.0 >> RANGE_BITS;
        Some((self.shown().iter().rfind(is_of)?.clone(), node))
    }

    /// A node of `shown` as it is told.
    pub(super) fn outward(&self, shown: &Shown, mut node: Node) -> Node {
        for id in [&mut node.id, &mut node.parent] {
            if *id == shown.tree.root() {
                *id = self.root;
            }
        }
        node
    }

    fn shown(&self) -> RwLockReadGuard<'_, Vec<Arc<Shown>>> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tree has fewer nodes than this many bits can number.
const RANGE_BITS: u32 = 32;
