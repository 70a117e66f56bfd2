//! How a command ends: the fault that people and scripts see, and the exit code. The codes are a promise (`--help` lists
//! them).

use nix::errno::Errno;
use std::time::SystemTime;
use weightless_control::{Fault, Holder};
use weightless_core::{Error, ErrorKind};
use weightless_platform::clock;
use weightless_platform::mounts::Busy;

/// A command's result.
pub(crate) type Outcome<T = ()> = Result<T, Fault>;

/// The engine's error, in the words of its table; the cause goes to the log.
pub(crate) fn fault(error: Error) -> Fault {
    tracing::debug!(?error, "failed");
    if is_out_of_files(&error) {
        return Fault::new(
            "limit",
            format!("{}: the engine has as many files open as the system lets it", error.subject()),
        )
        .advise("Unmount something, or raise the limit (ulimit -n) and restart it: weightless engine restart.");
    }
    let mut fault = Fault::new(error.kind().row().code, error.to_string()).advise(error.advice());
    if let (ErrorKind::RateLimited, Some(wait)) = (error.kind(), error.wait_asked()) {
        fault.sentence = format!("{}: rate limited until {}", error.subject(), clock::minute(SystemTime::now() + wait));
    }
    fault.holders = holders(&error);
    fault
}

/// Whether a limit of the system is behind it, whatever it looked like: the network that cannot be reached, a mount that cannot
/// be made.
fn is_out_of_files(error: &Error) -> bool {
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let io = cause.downcast_ref::<std::io::Error>();
        let errno = io.and_then(std::io::Error::raw_os_error).map(Errno::from_raw);
        if matches!(errno.or(cause.downcast_ref().copied()), Some(Errno::EMFILE | Errno::ENFILE)) {
            return true;
        }
        next = match io.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => cause.source(),
        };
    }
    false
}

/// Who keeps a mount busy, where the platform found out.
fn holders(error: &Error) -> Vec<Holder> {
    let busy = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<Busy>());
    busy.map_or(&[][..], |busy| &busy.holders)
        .iter()
        .map(|holder| Holder {
            pid: holder.pid,
            program: holder.program.clone(),
            path: holder.path.to_string_lossy().into_owned(),
        })
        .collect()
}

/// A fault of the table's `kind` about `subject`, found by the command line itself.
pub(crate) fn fault_of(kind: ErrorKind, subject: impl Into<String>) -> Fault {
    fault(Error::new(kind, subject))
}

/// Says that the system refused something.
pub(crate) fn io_fault(what: impl std::fmt::Display, error: &std::io::Error) -> Fault {
    Fault::new("io", format!("{what}: {error}"))
}

/// The exit code of a fault.
pub(crate) fn code(fault: &Fault) -> u8 {
    match fault.code.as_str() {
        "invalid_input" | "usage" | "settings_invalid" => 2,
        "repo_not_found" | "revision_not_found" | "entry_not_found" | "not_mounted" => 3,
        "not_logged_in" | "token_rejected" | "keychain_missing" | "keychain_locked" | "gated" | "no_access"
        | "file_refused" => 4,
        "offline" | "hub_down" | "rate_limited" | "tls_untrusted" | "stalled" | "deadline" | "connection"
        | "expired" | "content_mismatch" | "protocol" | "paused" => 5,
        "driver_missing" | "mount_point_busy" | "mount_point_invalid" => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_limit_of_files_is_told_from_a_network_that_is_down() {
        let offline = |cause: std::io::Error| fault(Error::new(ErrorKind::Offline, "org/name").because(cause)).code;
        let limit = || std::io::Error::from_raw_os_error(Errno::EMFILE as i32);
        assert_eq!(offline(limit()), "limit");
        assert_eq!(offline(std::io::Error::other(limit())), "limit");
        assert_eq!(offline(std::io::Error::from_raw_os_error(Errno::ECONNREFUSED as i32)), "offline");
    }

    #[test]
    fn a_hub_that_asks_to_slow_down_is_said_with_the_time_when_that_ends() {
        let error = Error::new(ErrorKind::RateLimited, "org/name").wait(std::time::Duration::from_secs(90));
        let sentence = fault(error).sentence;
        let (before, time) = sentence.split_at(sentence.len() - 5);
        assert_eq!((before, time.find(':')), ("org/name: rate limited until ", Some(2)), "{sentence}");
    }

    #[test]
    fn each_class_of_fault_has_its_exit_code() {
        #[track_caller]
        fn check(kind: ErrorKind, expected: u8) {
            assert_eq!(code(&fault_of(kind, "x")), expected);
        }
        check(ErrorKind::InvalidInput, 2);
        check(ErrorKind::RepoNotFound, 3);
        check(ErrorKind::RevisionNotFound, 3);
        check(ErrorKind::Gated, 4);
        check(ErrorKind::TokenRejected, 4);
        check(ErrorKind::NotLoggedIn, 4);
        check(ErrorKind::Offline, 5);
        check(ErrorKind::HubDown, 5);
        check(ErrorKind::Paused, 5);
        check(ErrorKind::MountPointBusy, 6);
        check(ErrorKind::DriverMissing, 6);
        check(ErrorKind::Internal, 1);
        assert!(ErrorKind::ALL.iter().all(|&kind| code(&fault_of(kind, "")) != 0));
    }
}
