//! FUSE as Linux has it: what is asked of the kernel, and how a session begins.

use super::attributes::{self, Common};
use crate::mounts::{self, MountSource, Unmount};
use crate::{Audience, MountOptions};
use fuser::{Config, Filesystem, FopenFlags, Generation, InitFlags, ReplyEntry, Session, SessionACL};
use nix::unistd::Uid;
use std::fs;
use std::path::Path;
use std::time::Duration;
use weightless_core::tree::NodeId;
use weightless_core::{Error, ErrorKind, Result};

mod attach;
#[cfg(test)]
mod trial;

/// Wished for, where the kernel has it: parallel reads of a file and listings of a folder, entries with their attributes
/// (all at first, then where they are used), and pages that are dropped only when we say so.
pub(super) const CAPABILITIES: [InitFlags; 6] = [
    InitFlags::FUSE_ASYNC_READ,
    InitFlags::FUSE_ASYNC_DIO,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_EXPLICIT_INVAL_DATA,
];

/// Nothing is written, so a close needs no flush.
pub(super) const OPEN_FLAGS: FopenFlags = FopenFlags::FOPEN_NOFLUSH;

/// Tells the kernel, for `ttl`, that a name does not exist: an entry without an inode, whose attributes nobody looks at.
pub(super) fn absent(reply: ReplyEntry, ttl: &Duration, common: &Common) {
    reply.entry(ttl, &attributes::folder_attributes(NodeId(0), common), Generation(0));
}

/// Whether everyone may be let in.
pub(super) fn check_audience(audience: Audience) -> Result<()> {
    const CONFIGURATION: &str = "/etc/fuse.conf";
    let allowed = || allows_others(&fs::read_to_string(CONFIGURATION).unwrap_or_default());
    if audience == Audience::Owner || Uid::effective().is_root() || allowed() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidInput, "user_allow_other")
        .saying("this system lets nobody but root show a mount to other users")
        .advise(format!("Root must add it to {CONFIGURATION}.")))
}

fn allows_others(configuration: &str) -> bool {
    configuration.lines().any(|line| line.trim() == "user_allow_other")
}

/// Mounts and shakes hands with the kernel.
pub(super) fn session<F: Filesystem>(
    adapter: F,
    at: &Path,
    source: &MountSource,
    options: &MountOptions,
) -> Result<Session<F>> {
    let device = attach::attach(at, source, options.audience)?;
    let mut config = Config::default();
    config.n_threads = Some(options.threads.max(1));
    // A queue per thread.
    config.clone_fd = true;
    // The kernel lets in whom the mount's options name; a second check in user space would only refuse what the kernel
    // asks on behalf of a user who has changed since.
    Session::from_fd(adapter, device, SessionACL::All, config).map_err(|error| {
        // Nobody will ever serve it, and the first error is the one to tell.
        if let Ok(Some(entry)) = mounts::find(at) {
            let _ = mounts::unmount(&entry, Unmount::Lazy);
        }
        Error::new(ErrorKind::Internal, at.display().to_string()).because(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_let_in_only_where_root_wrote_so() {
        let table = [
            ("user_allow_other\n", true),
            ("mount_max = 10\n  user_allow_other  \n", true),
            ("#user_allow_other\n", false),
            ("# user_allow_other\nuser_allow_others", false),
            ("", false),
        ];
        for (text, expected) in table {
            assert_eq!(allows_others(text), expected, "{text}");
        }
    }
}
