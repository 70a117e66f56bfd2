//! What a mount is told besides its repo and its place. Plain values with their defaults.

/// Settings of one mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountOptions {
    /// Threads that take requests from the kernel; 1 where the system allows no more (macOS).
    pub threads: usize,
    /// Who may look.
    pub audience: Audience,
    /// What to do with a folder that is not empty.
    pub covering: Covering,
}

/// Who may look into a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    /// Nobody but the user who mounts, root included: FUSE's own default.
    #[default]
    Owner,
    /// Every user of this machine; needs `user_allow_other` in `/etc/fuse.conf` unless root mounts.
    Everyone,
}

/// What to do with a mount point that holds files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Covering {
    /// Refuse: its files would be hidden.
    #[default]
    EmptyOnly,
    /// Hide them for as long as the mount lives.
    Anything,
}

impl Default for MountOptions {
    /// Threads: one per core, 2 to 4. A request is answered or handed on in microseconds, so more only compete for the
    /// reader's lock; fewer than two lets one slow copy delay every other request.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(THREADS_MIN, usize::from);
        MountOptions {
            threads: cores.clamp(THREADS_MIN, THREADS_MAX),
            audience: Audience::default(),
            covering: Covering::default(),
        }
    }
}

const THREADS_MIN: usize = 2;
const THREADS_MAX: usize = 4;
