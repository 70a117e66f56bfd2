//! How a command ends: the fault that people and scripts see, and the exit code. The codes are a promise (`--help` lists
//! them).

use weightless_control::{Fault, Holder};
use weightless_core::{Error, ErrorKind};
use weightless_platform::mounts::Busy;

/// A command's result.
pub(crate) type Outcome<T = ()> = Result<T, Fault>;

/// The engine's error, in the words of its table; the cause goes to the log.
pub(crate) fn fault(error: Error) -> Fault {
    tracing::debug!(?error, "failed");
    let mut fault = Fault::new(error.kind().row().code, error.to_string()).advise(error.advice());
    fault.holders = holders(&error);
    fault
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
        | "expired" | "content_mismatch" | "protocol" => 5,
        "driver_missing" | "mount_point_busy" | "mount_point_invalid" => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        check(ErrorKind::MountPointBusy, 6);
        check(ErrorKind::DriverMissing, 6);
        check(ErrorKind::Internal, 1);
        assert!(ErrorKind::ALL.iter().all(|&kind| code(&fault_of(kind, "")) != 0));
    }
}
