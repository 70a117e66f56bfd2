//! Linux: the thread's group in `/proc/TID/status`, and that one's `comm`, at most 15 bytes, as `ps` shows it.

use super::Program;
use std::fs;
use std::path::Path;

pub(super) fn of_thread(tid: u32) -> Option<Program> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(Program { pid, name: name.trim_end().to_owned() })
}

pub(super) fn may_have_open(pid: u32, path: &Path) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let Ok(path) = path.canonicalize() else { return false };
    open.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == path))
}
