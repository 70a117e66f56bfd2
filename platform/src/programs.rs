//! Which process a thread belongs to and what it is called, for people who want to know who reads; whether a process is the one
//! that it is taken for. Asks the system once for each; never an error.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod others;

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(not(target_os = "linux"))]
use others as os;
use std::path::Path;

/// A process, as the system lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// The process of the thread `tid`, which is what FUSE tells of who asks; `None` if it is gone or not to be seen.
pub fn of_thread(tid: u32) -> Option<Program> {
    os::of_thread(tid)
}

/// Whether the process has the file at `path` open; `true` too where the system does not tell.
pub fn may_have_open(pid: u32, path: &Path) -> bool {
    os::may_have_open(pid, path)
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_leads_to_its_process_and_nobody_to_nothing() {
        let of_another_thread = std::thread::spawn(|| super::of_thread(nix::unistd::gettid().as_raw().cast_unsigned()));
        let found = of_another_thread.join().unwrap().unwrap();
        assert_eq!(found.pid, std::process::id());
        assert!(!found.name.is_empty());
        assert_eq!(super::of_thread(u32::MAX), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_known_by_a_file_that_it_has_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().canonicalize().unwrap();
        assert!(super::may_have_open(std::process::id(), &path));
        drop(file);
        assert!(!super::may_have_open(std::process::id(), &path));
        assert!(!super::may_have_open(u32::MAX, &path));
    }
}
