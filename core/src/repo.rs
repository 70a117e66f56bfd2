//! Repo names, revisions and whatever people paste. Parses once, at the border; never asks the network.
//!
//! | module | subject |
//! | --- | --- |
//! | [`name`] | which repo names, revisions and paths can exist at all |
//! | [`spec`] | `org/name@rev`, `hf://…` and links of the Hub |

pub mod name;
pub mod spec;

pub use spec::RepoSpec;
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

impl RepoKind {
    /// The segment after `/api/`: `models`, `datasets`, `spaces`.
    pub const fn api_segment(self) -> &'static str {
        match self {
            RepoKind::Model => "models",
            RepoKind::Dataset => "datasets",
            RepoKind::Space => "spaces",
        }
    }
}

/// A repo's name: kind and `org/name` (or a single segment such as `gpt2`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepoId {
    /// Kind.
    pub kind: RepoKind,
    /// `org/name`, as the Hub spells it.
    pub name: String,
}

impl RepoId {
    /// A repo whose name the Hub's rules allow.
    pub fn new(kind: RepoKind, name: impl Into<String>) -> crate::Result<Self> {
        let name = name.into();
        match name::check_repo(&name) {
            Ok(()) => Ok(RepoId { kind, name }),
            Err(reason) => Err(spec::invalid(&name, reason)),
        }
    }
}

/// `org/name`, `datasets/org/name`, `spaces/org/name`: what the user types, what `status` shows and what follows the
/// host in the address of the repo's page.
impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            RepoKind::Model => f.write_str(&self.name),
            RepoKind::Dataset => write!(f, "datasets/{}", self.name),
            RepoKind::Space => write!(f, "spaces/{}", self.name),
        }
    }
}
