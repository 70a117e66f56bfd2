//! What a request or its bytes did wrong, before it is known which file it was for. Never retries anything.

use crate::{Error, ErrorKind};
use std::borrow::Cow;
use std::time::Duration;

/// A failure without its subject; [`Fault::about`] makes it an [`Error`].
#[derive(Debug, Clone, thiserror::Error)]
#[error("{cause}")]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    cause: Cow<'static, str>,
    wait: Option<Duration>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, cause: impl Into<Cow<'static, str>>) -> Self {
        Fault { kind, cause: cause.into(), wait: None }
    }

    /// Bytes that cannot be what was asked for.
    pub(crate) fn mismatch(cause: impl Into<Cow<'static, str>>) -> Self {
        Fault::new(ErrorKind::ContentMismatch, cause)
    }

    /// An answer that the protocol does not allow.
    pub(crate) fn protocol(cause: impl Into<Cow<'static, str>>) -> Self {
        Fault::new(ErrorKind::Protocol, cause)
    }

    pub(crate) fn wait(mut self, wait: Option<Duration>) -> Self {
        self.wait = wait;
        self
    }

    /// `subject` is the file as the user knows it.
    pub(crate) fn about(self, subject: &str) -> Error {
        let error = Error::new(self.kind, subject);
        let error = match self.wait {
            Some(wait) => error.wait(wait),
            None => error,
        };
        error.because(self)
    }
}

/// What a request that got no whole answer means. The URL is left out: it may be signed.
impl From<reqwest::Error> for Fault {
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut cause = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(inner) = source {
            cause.push_str(": ");
            cause.push_str(&inner.to_string());
            source = inner.source();
        }
        let kind = if cause.contains("certificate") {
            ErrorKind::TlsUntrusted
        } else if error.is_connect() {
            ErrorKind::Offline
        } else if error.is_builder() {
            ErrorKind::Protocol
        } else {
            ErrorKind::Connection
        };
        Fault::new(kind, cause)
    }
}
