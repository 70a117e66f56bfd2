//! Repos as the simulator holds them: commits with whole trees, refs, and what people see about them.
//! Never speaks HTTP.

mod definition;
mod history;
mod prepare;
mod tree;

pub use definition::RepoDef;
pub(crate) use definition::{Change, apply};
pub(crate) use history::{Commit, Repo};
pub(crate) use prepare::{Preparer, default_storage, hex, is_large, large_entry, pointer};
pub(crate) use tree::{Entry, Stored, Tree};

/// The three kinds of repo that can be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RepoKind {
    /// `org/name`
    Model,
    /// `datasets/org/name`
    Dataset,
    /// `spaces/org/name`
    Space,
}

impl RepoKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Model, Self::Dataset, Self::Space];

    /// The name in API paths: `models`, `datasets`, `spaces`.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Dataset => "datasets",
            Self::Space => "spaces",
        }
    }

    /// The name in JSON bodies: `model`, `dataset`, `space`.
    pub fn singular(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Dataset => "dataset",
            Self::Space => "space",
        }
    }

    /// What stands before the id in page addresses: nothing, `datasets/` or `spaces/`.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Model => "",
            Self::Dataset => "datasets/",
            Self::Space => "spaces/",
        }
    }
}

/// How a file is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A git blob, answered by the Hub itself.
    Git,
    /// A plain LFS object on the data host, without Xet.
    Lfs,
    /// Chunks in xorbs, and a plain address on the data host.
    Xet,
}

/// Who may see a repo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    Public,
    Private,
}

/// Whether contents ask for an accepted licence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Anyone may read.
    Open,
    /// Accepted at once for who asks.
    Auto,
    /// Accepted by the authors.
    Manual,
}

/// What people see about a repo besides its files.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) visibility: Visibility,
    pub(crate) gate: Gate,
    pub(crate) downloads: u64,
    pub(crate) likes: u64,
    pub(crate) license: Option<String>,
    pub(crate) pipeline_tag: Option<String>,
    pub(crate) library: Option<String>,
    pub(crate) tags: Vec<String>,
}
