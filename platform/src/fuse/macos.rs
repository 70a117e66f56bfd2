//! FUSE as macOS has it, through macFUSE's libfuse: one event loop, no negative entries.

use super::adapter::Adapter;
use super::attributes::Common;
use crate::mounts::{MountSource, SUBTYPE};
use crate::{Audience, MountOptions};
use fuser::{Config, Errno, FopenFlags, InitFlags, MountOption, ReplyEntry, Session, SessionACL};
use std::path::Path;
use std::time::Duration;
use weightless_core::volume::Volume;
use weightless_core::{Error, ErrorKind, Result};

pub(super) const CAPABILITIES: [InitFlags; 1] = [InitFlags::FUSE_ASYNC_READ];

pub(super) const OPEN_FLAGS: FopenFlags = FopenFlags::empty();

/// macFUSE keeps no answer of this kind without an option of its own, and takes an entry without an inode for an error.
pub(super) fn absent(reply: ReplyEntry, _ttl: &Duration, _common: &Common) {
    reply.error(Errno::ENOENT);
}

/// macFUSE decides at the mount.
pub(super) fn check_audience(_audience: Audience) -> Result<()> {
    Ok(())
}

/// Mounts and shakes hands with the kernel.
pub(super) fn session<V: Volume>(
    adapter: Adapter<V>,
    at: &Path,
    source: &MountSource,
    options: &MountOptions,
) -> Result<Session<Adapter<V>>> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(source.to_string()),
        MountOption::Subtype(SUBTYPE.to_owned()),
        MountOption::RO,
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoAtime,
        MountOption::DefaultPermissions,
    ];
    config.acl = match options.audience {
        Audience::Owner => SessionACL::Owner,
        Audience::Everyone => SessionACL::All,
    };
    // fuser runs no more than one loop here, so nothing in a callback may ever wait.
    config.n_threads = Some(1);
    Session::new(adapter, at, &config)
        .map_err(|error| Error::new(ErrorKind::DriverMissing, at.display().to_string()).because(error))
}
