//! Every kind of error as the number that an operating system's callers know. One table for POSIX, one for Windows; no
//! sentences here, those are the core's.

use weightless_core::ErrorKind;

/// The errno of a kind.
#[cfg(unix)]
pub const fn errno(kind: ErrorKind) -> i32 {
    use ErrorKind::*;
    match kind {
        InvalidInput | MountPointInvalid => libc::EINVAL,
        RepoNotFound | RevisionNotFound | EntryNotFound => libc::ENOENT,
        NotADirectory => libc::ENOTDIR,
        IsADirectory => libc::EISDIR,
        NotLoggedIn | TokenRejected | KeychainMissing | KeychainLocked | Gated | NoAccess | FileRefused => libc::EACCES,
        // Not EAGAIN: on a blocking descriptor programs take it for a bug or spin.
        RateLimited | MountPointBusy => libc::EBUSY,
        Offline => libc::ENETUNREACH,
        // The network is down because the user wants it so.
        Paused => libc::ENETDOWN,
        Stalled | Deadline => libc::ETIMEDOUT,
        Connection => libc::ECONNRESET,
        TlsUntrusted | Protocol => libc::EPROTO,
        // What Linux file systems answer for a checksum that does not hold.
        ContentMismatch => libc::EBADMSG,
        DiskFull => libc::ENOSPC,
        DriverMissing => libc::ENODEV,
        Closed => libc::ECANCELED,
        Stale => libc::ESTALE,
        HubDown | Expired | StoreUnusable | Internal => libc::EIO,
    }
}

/// The NTSTATUS of a kind, as its number (`[MS-ERREF]` 2.3.1).
pub const fn ntstatus(kind: ErrorKind) -> u32 {
    use ErrorKind::*;
    match kind {
        InvalidInput => STATUS_INVALID_PARAMETER,
        MountPointInvalid => STATUS_OBJECT_PATH_INVALID,
        RepoNotFound | RevisionNotFound => STATUS_OBJECT_PATH_NOT_FOUND,
        EntryNotFound => STATUS_OBJECT_NAME_NOT_FOUND,
        NotADirectory => STATUS_NOT_A_DIRECTORY,
        IsADirectory => STATUS_FILE_IS_A_DIRECTORY,
        // Not STATUS_LOGON_FAILURE: Explorer would ask for a password that nobody can use.
        NotLoggedIn | TokenRejected | KeychainMissing | KeychainLocked | Gated | NoAccess | FileRefused => {
            STATUS_ACCESS_DENIED
        }
        RateLimited => STATUS_NETWORK_BUSY,
        MountPointBusy => STATUS_SHARING_VIOLATION,
        Offline => STATUS_NETWORK_UNREACHABLE,
        Paused => STATUS_SHARING_PAUSED,
        Stalled | Deadline => STATUS_IO_TIMEOUT,
        Connection => STATUS_CONNECTION_RESET,
        TlsUntrusted => STATUS_CONNECTION_REFUSED,
        Protocol => STATUS_INVALID_NETWORK_RESPONSE,
        ContentMismatch => STATUS_CRC_ERROR,
        DiskFull => STATUS_DISK_FULL,
        StoreUnusable => STATUS_IO_DEVICE_ERROR,
        DriverMissing => STATUS_NO_SUCH_DEVICE,
        Closed => STATUS_CANCELLED,
        Stale => STATUS_FILE_INVALID,
        HubDown | Expired => STATUS_UNEXPECTED_NETWORK_ERROR,
        Internal => STATUS_INTERNAL_ERROR,
    }
}

const STATUS_INVALID_PARAMETER: u32 = 0xC000_000D;
const STATUS_NO_SUCH_DEVICE: u32 = 0xC000_000E;
const STATUS_ACCESS_DENIED: u32 = 0xC000_0022;
const STATUS_OBJECT_NAME_NOT_FOUND: u32 = 0xC000_0034;
const STATUS_OBJECT_PATH_INVALID: u32 = 0xC000_0039;
const STATUS_OBJECT_PATH_NOT_FOUND: u32 = 0xC000_003A;
const STATUS_CRC_ERROR: u32 = 0xC000_003F;
const STATUS_SHARING_VIOLATION: u32 = 0xC000_0043;
const STATUS_DISK_FULL: u32 = 0xC000_007F;
const STATUS_IO_TIMEOUT: u32 = 0xC000_00B5;
const STATUS_IO_DEVICE_ERROR: u32 = 0xC000_0185;
const STATUS_FILE_IS_A_DIRECTORY: u32 = 0xC000_00BA;
const STATUS_NETWORK_BUSY: u32 = 0xC000_00BF;
const STATUS_INVALID_NETWORK_RESPONSE: u32 = 0xC000_00C3;
const STATUS_UNEXPECTED_NETWORK_ERROR: u32 = 0xC000_00C4;
const STATUS_FILE_INVALID: u32 = 0xC000_0098;
const STATUS_SHARING_PAUSED: u32 = 0xC000_00CF;
const STATUS_INTERNAL_ERROR: u32 = 0xC000_00E5;
const STATUS_NOT_A_DIRECTORY: u32 = 0xC000_0103;
const STATUS_CANCELLED: u32 = 0xC000_0120;
const STATUS_CONNECTION_RESET: u32 = 0xC000_020D;
const STATUS_CONNECTION_REFUSED: u32 = 0xC000_0236;
const STATUS_NETWORK_UNREACHABLE: u32 = 0xC000_023C;

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_core::ErrorKind::*;

    #[cfg(unix)]
    #[test]
    fn every_kind_has_its_errno() {
        let table = [
            (InvalidInput, libc::EINVAL),
            (RepoNotFound, libc::ENOENT),
            (RevisionNotFound, libc::ENOENT),
            (EntryNotFound, libc::ENOENT),
            (NotADirectory, libc::ENOTDIR),
            (IsADirectory, libc::EISDIR),
            (NotLoggedIn, libc::EACCES),
            (TokenRejected, libc::EACCES),
            (KeychainMissing, libc::EACCES),
            (KeychainLocked, libc::EACCES),
            (Gated, libc::EACCES),
            (NoAccess, libc::EACCES),
            (FileRefused, libc::EACCES),
            (RateLimited, libc::EBUSY),
            (Offline, libc::ENETUNREACH),
            (HubDown, libc::EIO),
            (TlsUntrusted, libc::EPROTO),
            (Stalled, libc::ETIMEDOUT),
            (Deadline, libc::ETIMEDOUT),
            (Connection, libc::ECONNRESET),
            (Expired, libc::EIO),
            (ContentMismatch, libc::EBADMSG),
            (Protocol, libc::EPROTO),
            (DiskFull, libc::ENOSPC),
            (StoreUnusable, libc::EIO),
            (DriverMissing, libc::ENODEV),
            (MountPointBusy, libc::EBUSY),
            (MountPointInvalid, libc::EINVAL),
            (Paused, libc::ENETDOWN),
            (Closed, libc::ECANCELED),
            (Stale, libc::ESTALE),
            (Internal, libc::EIO),
        ];
        assert_eq!(table.map(|(kind, _)| kind), ErrorKind::ALL, "a row for each kind, in order");
        for (kind, expected) in table {
            assert_eq!(errno(kind), expected, "{kind:?}");
        }
    }

    #[test]
    fn every_kind_has_its_ntstatus() {
        let table = [
            (InvalidInput, 0xC000_000D),
            (RepoNotFound, 0xC000_003A),
            (RevisionNotFound, 0xC000_003A),
            (EntryNotFound, 0xC000_0034),
            (NotADirectory, 0xC000_0103),
            (IsADirectory, 0xC000_00BA),
            (NotLoggedIn, 0xC000_0022),
            (TokenRejected, 0xC000_0022),
            (KeychainMissing, 0xC000_0022),
            (KeychainLocked, 0xC000_0022),
            (Gated, 0xC000_0022),
            (NoAccess, 0xC000_0022),
            (FileRefused, 0xC000_0022),
            (RateLimited, 0xC000_00BF),
            (Offline, 0xC000_023C),
            (HubDown, 0xC000_00C4),
            (TlsUntrusted, 0xC000_0236),
            (Stalled, 0xC000_00B5),
            (Deadline, 0xC000_00B5),
            (Connection, 0xC000_020D),
            (Expired, 0xC000_00C4),
            (ContentMismatch, 0xC000_003F),
            (Protocol, 0xC000_00C3),
            (DiskFull, 0xC000_007F),
            (StoreUnusable, 0xC000_0185),
            (DriverMissing, 0xC000_000E),
            (MountPointBusy, 0xC000_0043),
            (MountPointInvalid, 0xC000_0039),
            (Paused, 0xC000_00CF),
            (Closed, 0xC000_0120),
            (Stale, 0xC000_0098),
            (Internal, 0xC000_00E5),
        ];
        assert_eq!(table.map(|(kind, _)| kind), ErrorKind::ALL, "a row for each kind, in order");
        for (kind, expected) in table {
            assert_eq!(ntstatus(kind), expected, "{kind:?}");
            assert_eq!(ntstatus(kind) >> 30, 3, "{kind:?} must be an error, not a warning");
        }
    }
}
