//! glibc: a fixed threshold for mappings switches its moving one off (`mallopt(3)`, `M_MMAP_THRESHOLD`).

/// Maps every allocation of `bytes` and more by itself.
pub(super) fn map_from(bytes: usize) {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: mallopt takes plain numbers and may be called at any time; it answers 0 for what it refuses.
    let taken = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) };
    if taken == 0 {
        tracing::warn!("the allocator keeps large buffers");
    }
}
