//! How this process's allocator treats large buffers. Set once, before threads start.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc;

/// Lets buffers of [`LARGE_BYTES`] and more go back to the system as soon as they are freed, and costs a large buffer only the
/// pages of it that are used. glibc changes to the opposite by itself once the first one was freed: each event loop of a mount
/// owns a buffer of 16 MiB for writes that a read-only mount never gets, and a hundred mounts held 1 GB, and kept it.
pub fn give_large_buffers_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::map_from(LARGE_BYTES);
}

/// From here on a buffer is a mapping of its own; below, the cost of making one would show.
pub const LARGE_BYTES: usize = 1 << 20;
