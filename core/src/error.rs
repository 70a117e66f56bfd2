//! The one error table: what can go wrong, in words a person understands, with what to do and whether to try again.
//!
//! Knows no errno and no NTSTATUS: `weightless-platform` maps [`ErrorKind`] to those, exhaustively.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What went wrong. Every kind has one row in [`ErrorKind::row`] and one in the platform's table of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// What the user typed cannot be meant: a malformed repo name, URL or revision.
    InvalidInput,
    /// No such repo for this account; to an anonymous caller the Hub does not tell absent from private.
    RepoNotFound,
    /// The repo has no such branch, tag, commit or pull request.
    RevisionNotFound,
    /// The commit has no such file or folder.
    EntryNotFound,
    /// A path component that must be a folder is a file.
    NotADirectory,
    /// A folder was opened as if it were a file.
    IsADirectory,
    /// The Hub wants to know who asks, and no token was given.
    NotLoggedIn,
    /// The Hub does not accept the token that was sent.
    TokenRejected,
    /// No keychain answers: no Secret Service runs, as on servers and in containers.
    KeychainMissing,
    /// The keychain is locked and waits for its owner, or did not let us in.
    KeychainLocked,
    /// The repo's licence must be accepted first.
    Gated,
    /// The account is known and may not see this.
    NoAccess,
    /// One file is refused by the data host while the repo is readable.
    FileRefused,
    /// The Hub asked to wait.
    RateLimited,
    /// Nothing on the network answers: no route, no DNS, connection refused.
    Offline,
    /// The Hub answers with 5xx.
    HubDown,
    /// TLS certificate not trusted.
    TlsUntrusted,
    /// No byte for the stall timeout, three attempts in a row.
    Stalled,
    /// The read did not complete within its deadline.
    Deadline,
    /// A connection broke; always tried again before anyone sees it.
    Connection,
    /// A signed data URL or token expired; renewed before anyone sees it.
    Expired,
    /// Bytes arrived that are not the commit's.
    ContentMismatch,
    /// The Hub answered something that this protocol does not allow.
    Protocol,
    /// The local disk is full.
    DiskFull,
    /// The local store cannot be written; reading goes on without it.
    StoreUnusable,
    /// FUSE, macFUSE or WinFsp is not installed or not usable.
    DriverMissing,
    /// The mount point is in use.
    MountPointBusy,
    /// The mount point does not exist, is not an empty folder, or is not ours.
    MountPointInvalid,
    /// The user paused the mount.
    Paused,
    /// The handle was closed or the mount is going away.
    Closed,
    /// What was known under this id is not there any more; its name leads to what is.
    Stale,
    /// A bug of ours; the mount lives on.
    Internal,
}

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Same request, soon, a bounded number of times.
    Soon,
    /// Same request, for as long as an outage is borne: what is away may come back.
    WhileAway,
    /// After the time that the Hub named.
    AtReset,
    /// After renewing a token or a signed URL, once.
    Renew,
    /// Not without the user changing something.
    Never,
}

/// How loudly the log says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Expected in normal use.
    Quiet,
    /// Somebody should look.
    Warn,
    /// A bug or lost data.
    Error,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Stable name for programs (`--json`, the control protocol).
    pub code: &'static str,
    /// The sentence, without the subject; ends without a full stop.
    pub sentence: &'static str,
    /// What to do about it; empty if nothing.
    pub advice: &'static str,
    /// Whether trying again can help.
    pub retry: Retry,
    /// How loudly the log says it.
    pub severity: Severity,
}

impl ErrorKind {
    /// All kinds, for tests and tables.
    pub const ALL: &[ErrorKind] = {
        use ErrorKind::*;
        &[
            InvalidInput,
            RepoNotFound,
            RevisionNotFound,
            EntryNotFound,
            NotADirectory,
            IsADirectory,
            NotLoggedIn,
            TokenRejected,
            KeychainMissing,
            KeychainLocked,
            Gated,
            NoAccess,
            FileRefused,
            RateLimited,
            Offline,
            HubDown,
            TlsUntrusted,
            Stalled,
            Deadline,
            Connection,
            Expired,
            ContentMismatch,
            Protocol,
            DiskFull,
            StoreUnusable,
            DriverMissing,
            MountPointBusy,
            MountPointInvalid,
            Paused,
            Closed,
            Stale,
            Internal,
        ]
    };

    /// The table.
    pub const fn row(self) -> Row {
        use ErrorKind::*;
        use Retry::*;
        use Severity::*;
        const fn row(
            code: &'static str,
            sentence: &'static str,
            advice: &'static str,
            retry: Retry,
            severity: Severity,
        ) -> Row {
            Row { code, sentence, advice, retry, severity }
        }
        match self {
            InvalidInput => row(
                "invalid_input",
                "this is not a repo, revision or path",
                "Write org/name, datasets/org/name, spaces/org/name or paste a link from the Hub.",
                Never,
                Quiet,
            ),
            RepoNotFound => row(
                "repo_not_found",
                "no such repo, or it is private and this account cannot see it",
                "Check the spelling; for a private repo log in with a token that may read it.",
                Never,
                Quiet,
            ),
            RevisionNotFound => row(
                "revision_not_found",
                "the repo has no such revision",
                "Name a branch, a tag, a commit or refs/pr/N.",
                Never,
                Quiet,
            ),
            EntryNotFound => row("entry_not_found", "no such file or folder in this commit", "", Never, Quiet),
            NotADirectory => row("not_a_directory", "this is a file, not a folder", "", Never, Quiet),
            IsADirectory => row("is_a_directory", "this is a folder, not a file", "", Never, Quiet),
            NotLoggedIn => row(
                "not_logged_in",
                "the Hub asks for a login",
                "Log in: `weightless login`; HF_TOKEN, --token-file and `hf auth login` work too.",
                Never,
                Quiet,
            ),
            TokenRejected => row(
                "token_rejected",
                "the Hub rejects the token",
                "It may be expired, revoked or mistyped: make a new one in the Hub's settings.",
                Never,
                Warn,
            ),
            KeychainMissing => row(
                "keychain_missing",
                "no keychain answers here",
                "Give the token in HF_TOKEN, or log in with `hf auth login`: neither needs a keychain.",
                Never,
                Quiet,
            ),
            KeychainLocked => row(
                "keychain_locked",
                "the keychain waits for you to unlock it",
                "Unlock it, then try again.",
                Never,
                Quiet,
            ),
            Gated => row(
                "gated",
                "the repo's licence has not been accepted by this account",
                "Open the repo's page while logged in and accept it.",
                Never,
                Quiet,
            ),
            NoAccess => row(
                "no_access",
                "this account may not read the repo",
                "Ask its owner, or use another account's token.",
                Never,
                Quiet,
            ),
            FileRefused => {
                row("file_refused", "the data host refuses this file", "Other files are not affected.", Never, Warn)
            }
            RateLimited => row("rate_limited", "the Hub asks to slow down", "Try again in a while.", AtReset, Warn),
            Offline => row(
                "offline",
                "the Hub cannot be reached",
                "Check the network, the proxy and the endpoint.",
                WhileAway,
                Warn,
            ),
            HubDown => row("hub_down", "the Hub has a problem of its own", "Try again in a while.", WhileAway, Warn),
            TlsUntrusted => row(
                "tls_untrusted",
                "the connection's certificate is not trusted",
                "Behind a company proxy, add its CA certificate.",
                Never,
                Warn,
            ),
            Stalled => row(
                "stalled",
                "the network went silent",
                "Try again; the network may be blocking the data host.",
                Soon,
                Warn,
            ),
            Deadline => row("deadline", "the read took longer than its deadline", "Try again.", Soon, Warn),
            Connection => row("connection", "the connection broke", "Try again.", WhileAway, Quiet),
            Expired => row("expired", "a signed link expired", "Try again.", Renew, Quiet),
            ContentMismatch => row(
                "content_mismatch",
                "the bytes received are not the file's",
                "Try again; if it stays, report it.",
                Soon,
                Error,
            ),
            Protocol => row(
                "protocol",
                "the Hub gave an answer that makes no sense",
                "Is the endpoint a Hub? A newer Weightless may know this answer.",
                Never,
                Error,
            ),
            DiskFull => row("disk_full", "the disk is full", "Free some space.", Never, Warn),
            StoreUnusable => row(
                "store_unusable",
                "the local store cannot be written, so nothing that is read is kept",
                "Reading goes on from the network. Is the folder yours, and is its disk well?",
                Never,
                Warn,
            ),
            DriverMissing => row("driver_missing", "the file system driver is not usable", "", Never, Warn),
            MountPointBusy => row(
                "mount_point_busy",
                "the mount point is in use",
                "Close what uses it, or choose another.",
                Never,
                Quiet,
            ),
            MountPointInvalid => row(
                "mount_point_invalid",
                "this cannot be a mount point",
                "Choose an empty folder of yours.",
                Never,
                Quiet,
            ),
            Paused => row("paused", "reading is paused", "Resume it and try again.", Never, Quiet),
            Closed => row("closed", "the file or mount was closed", "", Never, Quiet),
            Stale => row("stale", "this was let go of meanwhile", "Open it again by its name.", Never, Quiet),
            Internal => row("internal", "something went wrong inside Weightless", "Please report it.", Never, Error),
        }
    }
}

/// An error on its way to the border: its kind, what it is about, and its cause. Cheap to clone, since one failed fetch
/// may fail many reads.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    /// What it is about: a repo, a path, a mount point.
    subject: String,
    /// Sentence that replaces the row's, when more is known (which line of a file, which keychain).
    sentence: Option<String>,
    /// Advice that replaces the row's, when more is known (a licence link, a package to install).
    advice: Option<String>,
    /// How long the Hub asked to wait, with [`ErrorKind::RateLimited`].
    wait: Option<Duration>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// `subject` names what the error is about, as the user knows it.
    pub fn new(kind: ErrorKind, subject: impl Into<String>) -> Self {
        Error(Arc::new(Inner { kind, subject: subject.into(), sentence: None, advice: None, wait: None, cause: None }))
    }

    fn change(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::try_unwrap(self.0).unwrap_or_else(|shared| Inner {
            kind: shared.kind,
            subject: shared.subject.clone(),
            sentence: shared.sentence.clone(),
            advice: shared.advice.clone(),
            wait: shared.wait,
            cause: Some(Box::new(Error(shared))),
        });
        change(&mut inner);
        Error(Arc::new(inner))
    }

    /// Keeps the cause for the log.
    #[must_use]
    pub fn because(self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let cause = cause.into();
        self.change(|inner| inner.cause = Some(cause))
    }

    /// Replaces the row's sentence by one that says more; no full stop. The code and the number stay those of the kind.
    #[must_use]
    pub fn saying(self, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        self.change(|inner| inner.sentence = Some(sentence))
    }

    /// Replaces the row's advice by a better one.
    #[must_use]
    pub fn advise(self, advice: impl Into<String>) -> Self {
        let advice = advice.into();
        self.change(|inner| inner.advice = Some(advice))
    }

    /// The wait that the Hub asked for.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        self.change(|inner| inner.wait = Some(wait))
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What it is about.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// What happened, without what it is about.
    pub fn sentence(&self) -> &str {
        self.0.sentence.as_deref().unwrap_or(self.0.kind.row().sentence)
    }

    /// What to do about it; empty if nothing.
    pub fn advice(&self) -> &str {
        self.0.advice.as_deref().unwrap_or(self.0.kind.row().advice)
    }

    /// How long the Hub asked to wait, if it did.
    pub fn wait_asked(&self) -> Option<Duration> {
        self.0.wait
    }
}

/// The sentence for people: `org/name: the repo has no such revision`.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subject.is_empty() {
            f.write_str(self.sentence())
        } else {
            write!(f, "{}: {}", self.0.subject, self.sentence())
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self}", self.0.kind)?;
        if let Some(cause) = &self.0.cause {
            write!(f, "; {cause}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| &**cause as _)
    }
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_has_a_code_and_a_sentence_of_its_own() {
        let codes: HashSet<_> = ErrorKind::ALL.iter().map(|kind| kind.row().code).collect();
        let sentences: HashSet<_> = ErrorKind::ALL.iter().map(|kind| kind.row().sentence).collect();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
        assert_eq!(sentences.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn an_error_says_what_it_is_about_and_keeps_its_cause() {
        let error = Error::new(ErrorKind::Gated, "org/name").because("403").advise("Open the page.");
        assert_eq!(error.to_string(), "org/name: the repo's licence has not been accepted by this account");
        assert_eq!(error.advice(), "Open the page.");
        assert!(format!("{error:?}").contains("403"));
        let error = Error::new(ErrorKind::InvalidInput, "x.toml, line 3").saying("this is not TOML");
        assert_eq!(error.to_string(), "x.toml, line 3: this is not TOML");
        assert_eq!(error.clone().advise("").to_string(), error.to_string());
    }
}
