//! The local time of POSIX systems (`localtime_r(3)`).

use std::mem::MaybeUninit;

/// Hour and minute of `unix_s`, seconds since 1970.
pub(super) fn hour_and_minute(unix_s: u64) -> Option<(i32, i32)> {
    let moment = libc::time_t::try_from(unix_s).ok()?;
    let mut broken = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both pointers are to locals that outlive the call; localtime_r writes to nothing else, and answers null where it
    // has not written.
    let written = unsafe { libc::localtime_r(&raw const moment, broken.as_mut_ptr()) };
    if written.is_null() {
        return None;
    }
    // SAFETY: it was written, see above.
    let broken = unsafe { broken.assume_init() };
    Some((broken.tm_hour, broken.tm_min))
}
