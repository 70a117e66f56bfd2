//! Repo names, revisions and whatever people paste. Parses once, at the border; never asks the network.

use std::fmt;

/// What kind of repo; decides its routes on the Hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepoKind {
    /// `org/name`
    Model,
    /// `datasets/org/name`
    Dataset,
    /// `spaces/org/name`
    Space,
}

/// A repo's name: kind and `org/name` (or a single segment such as `gpt2`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepoId {
    /// Kind.
    pub kind: RepoKind,
    /// `org/name`, as the Hub spells it.
    pub name: String,
}

/// `org/name`, `datasets/org/name`, `spaces/org/name`: what the user types and what `status` shows.
impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            RepoKind::Model => f.write_str(&self.name),
            RepoKind::Dataset => write!(f, "datasets/{}", self.name),
            RepoKind::Space => write!(f, "spaces/{}", self.name),
        }
    }
}
