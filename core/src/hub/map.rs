//! What the Hub's refusals mean: status, headers and what was asked, to a row of the error table. Pure; reads no clock and
//! sends nothing.

use crate::{Error, ErrorKind};
use std::error::Error as StdError;
use std::time::Duration;

/// The wait where the Hub asks to slow down and names no time, in seconds (*ours*): a fifth of its 300 s window would be
/// too long to sit through, a few seconds too short to help.
pub const RATE_LIMIT_WAIT_DEFAULT_S: u64 = 30;
/// Longest wait that is believed, in seconds; the Hub's windows are five minutes long.
pub const RATE_LIMIT_WAIT_MAX_S: u64 = 3_600;
/// How much of the Hub's own message is kept as the cause, in characters.
const MESSAGE_CHARS_MAX: usize = 300;

/// What an error answer says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// `X-Error-Code`.
    pub code: Option<String>,
    /// `X-Error-Message`, else the `error` of the JSON body.
    pub message: Option<String>,
    /// `RateLimit`, as `"api";r=0;t=55`.
    pub rate_limit: Option<String>,
    /// `Retry-After`, in seconds or a date (which is not read).
    pub retry_after: Option<String>,
    /// `X-Request-Id`, for the log.
    pub request_id: Option<String>,
}

/// What was asked for: what a bare 404 or 401 is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The account itself.
    Account,
    /// A repo.
    Repo,
    /// A revision of a repo.
    Revision,
    /// A file or folder of a commit.
    Entry,
    /// Something of no repo: a search.
    Other,
}

/// What was asked, and by whom.
#[derive(Debug, Clone)]
pub struct Question {
    /// What a bare 404 or 401 is about.
    pub subject: Subject,
    /// Its name for people: `org/name@rev`, a path, an account.
    pub name: String,
    /// The repo's page, where a licence is accepted.
    pub page: Option<String>,
    /// Whether a token was sent.
    pub logged_in: bool,
}

/// The error that `refusal` means.
pub fn map(refusal: &Refusal, question: &Question) -> Error {
    let kind = kind(refusal, question);
    let mut error = Error::new(kind, question.name.clone()).because(cause(refusal));
    match (kind, &question.page) {
        (ErrorKind::Gated, Some(page)) if question.logged_in => {
            error = error.advise(format!("Open {page} while logged in and accept the licence."));
        }
        (ErrorKind::Gated, Some(page)) => {
            error = error.advise(format!("Log in, then open {page} and accept the licence."));
        }
        (ErrorKind::NoAccess, _) if is_disabled(refusal) => {
            error = error.advise("The Hub has disabled this repo.");
        }
        (ErrorKind::RepoNotFound, _) if !question.logged_in => {
            error = error.advise(
                "Check the spelling; if the repo is private, log in: `weightless login`, HF_TOKEN or `hf auth login`.",
            );
        }
        _ => {}
    }
    match wait(refusal) {
        Some(wait) => error.wait(wait),
        None => error,
    }
}

fn kind(refusal: &Refusal, question: &Question) -> ErrorKind {
    let bare_not_found = match question.subject {
        Subject::Account => ErrorKind::Protocol,
        Subject::Repo => ErrorKind::RepoNotFound,
        Subject::Revision => ErrorKind::RevisionNotFound,
        Subject::Entry => ErrorKind::EntryNotFound,
        Subject::Other => ErrorKind::Protocol,
    };
    let code = refusal.code.as_deref().unwrap_or_default();
    match (refusal.status, code) {
        (401, _) if question.logged_in && is_about_the_token(refusal) => ErrorKind::TokenRejected,
        (_, "GatedRepo") => ErrorKind::Gated,
        (_, "RepoNotFound") => ErrorKind::RepoNotFound,
        (_, "RevisionNotFound") => ErrorKind::RevisionNotFound,
        (_, "EntryNotFound") => ErrorKind::EntryNotFound,
        (_, "DisabledRepo") => ErrorKind::NoAccess,
        (401, _) if !question.logged_in => ErrorKind::NotLoggedIn,
        // With a token that it knows, the Hub answers 404 for what the account cannot see, so a 401 is about the token.
        (401, _) => ErrorKind::TokenRejected,
        (403 | 451, _) if question.logged_in || is_disabled(refusal) => ErrorKind::NoAccess,
        (403, _) => ErrorKind::NotLoggedIn,
        (451, _) => ErrorKind::NoAccess,
        (404 | 410, _) => bare_not_found,
        (400 | 422, _) if question.subject == Subject::Revision => ErrorKind::RevisionNotFound,
        (408, _) => ErrorKind::Connection,
        (407, _) => ErrorKind::Offline,
        (429, _) => ErrorKind::RateLimited,
        (500..=599, _) => ErrorKind::HubDown,
        _ => ErrorKind::Protocol,
    }
}

/// The Hub says so in words only. A repo that an anonymous caller may not see reads "Invalid username or password.", so that
/// phrase proves nothing.
fn is_about_the_token(refusal: &Refusal) -> bool {
    let message = refusal.message.as_deref().unwrap_or_default().to_ascii_lowercase();
    message.contains("invalid credentials")
        || message.contains("token") && ["expired", "invalid", "revoked"].iter().any(|word| message.contains(word))
}

fn is_disabled(refusal: &Refusal) -> bool {
    refusal.code.as_deref() == Some("DisabledRepo")
        || refusal.message.as_deref() == Some("Access to this resource is disabled.")
}

fn cause(refusal: &Refusal) -> String {
    let mut text = format!("HTTP {}", refusal.status);
    for (label, value) in [(" ", &refusal.code), (": ", &refusal.message), (", request ", &refusal.request_id)] {
        if let Some(value) = value {
            text.push_str(label);
            text.extend(value.chars().take(MESSAGE_CHARS_MAX));
        }
    }
    text
}

/// How long the Hub asks to wait. `RateLimit` comes with every answer and counts only where nothing remains.
fn wait(refusal: &Refusal) -> Option<Duration> {
    if !matches!(refusal.status, 429 | 503) {
        return None;
    }
    let reset = refusal.rate_limit.as_deref().and_then(|text| {
        let number = |key: &str| {
            let mut parts = text.split(';').map(str::trim);
            parts.find_map(|part| part.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim().parse::<u64>().ok())
        };
        (number("r")? == 0).then(|| number("t"))?
    });
    let retry_after = refusal.retry_after.as_deref().and_then(|text| text.trim().parse::<u64>().ok());
    let named = reset.max(retry_after);
    let seconds = if refusal.status == 429 { Some(named.unwrap_or(RATE_LIMIT_WAIT_DEFAULT_S)) } else { named };
    seconds.map(|seconds| Duration::from_secs(seconds.min(RATE_LIMIT_WAIT_MAX_S)))
}

/// The error that a request met which got no answer, or a broken one. The address is left out: it may be signed.
pub fn map_transport(error: reqwest::Error, name: &str) -> Error {
    let error = error.without_url();
    let kind = if let Some(tls) = find::<rustls::Error>(&error) {
        match tls {
            rustls::Error::InvalidCertificate(_) => ErrorKind::TlsUntrusted,
            _ if error.is_connect() => ErrorKind::Offline,
            _ => ErrorKind::Connection,
        }
    } else if error.is_connect() {
        ErrorKind::Offline
    } else if error.is_timeout() {
        ErrorKind::Stalled
    } else if error.is_builder() {
        ErrorKind::Internal
    } else {
        ErrorKind::Connection
    };
    Error::new(kind, name).because(error)
}

/// The first `E` in the chain of causes. An `io::Error` hides what it wraps from `source`, so it is opened.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref());
        next = match inner {
            Some(inner) => Some(inner as &(dyn StdError + 'static)),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorKind::*;
    use Subject::*;

    fn refusal(status: u16, code: &str, message: &str) -> Refusal {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Refusal { status, code: some(code), message: some(message), ..Refusal::default() }
    }

    fn question(subject: Subject, logged_in: bool) -> Question {
        Question { subject, name: "org/name".into(), page: Some("https://hub.test/org/name".into()), logged_in }
    }

    #[test]
    fn every_refusal_has_its_kind() {
        const BAD_TOKEN: &str = "Invalid credentials in Authorization header";
        const ANONYMOUS: &str = "Invalid username or password.";
        for (status, code, message, subject, logged_in, expected) in [
            (401, "RepoNotFound", ANONYMOUS, Repo, false, RepoNotFound),
            (401, "RepoNotFound", "Repository not found", Repo, true, RepoNotFound),
            (404, "RepoNotFound", "Repository not found", Revision, true, RepoNotFound),
            (404, "RepoNotFound", "", Entry, true, RepoNotFound),
            (404, "RevisionNotFound", "Invalid rev id: x", Revision, false, RevisionNotFound),
            (404, "EntryNotFound", "Entry not found", Entry, false, EntryNotFound),
            (404, "EntryNotFound", "", Revision, false, EntryNotFound),
            (404, "", "", Repo, false, RepoNotFound),
            (404, "", "", Revision, false, RevisionNotFound),
            (404, "", "", Entry, false, EntryNotFound),
            (404, "", "", Other, false, Protocol),
            (404, "", "", Account, true, Protocol),
            (410, "", "", Entry, false, EntryNotFound),
            (401, "GatedRepo", "Access to model is restricted", Entry, false, Gated),
            (403, "GatedRepo", "", Entry, true, Gated),
            (401, "", BAD_TOKEN, Repo, true, TokenRejected),
            (401, "RepoNotFound", BAD_TOKEN, Repo, true, TokenRejected),
            (401, "", BAD_TOKEN, Account, true, TokenRejected),
            (401, "", "User Access Token \"x\" is expired", Repo, true, TokenRejected),
            (401, "", ANONYMOUS, Account, true, TokenRejected),
            (401, "", ANONYMOUS, Account, false, NotLoggedIn),
            (401, "", "", Revision, false, NotLoggedIn),
            (401, "", BAD_TOKEN, Repo, false, NotLoggedIn),
            (403, "", "", Revision, true, NoAccess),
            (403, "", "", Revision, false, NotLoggedIn),
            (403, "", "Access to this resource is disabled.", Repo, false, NoAccess),
            (403, "DisabledRepo", "", Repo, false, NoAccess),
            (451, "", "", Repo, false, NoAccess),
            (429, "", "", Repo, false, RateLimited),
            (400, "", "", Revision, false, RevisionNotFound),
            (400, "", "", Entry, false, Protocol),
            (407, "", "", Repo, false, Offline),
            (408, "", "", Repo, false, Connection),
            (416, "", "", Entry, false, Protocol),
            (500, "", "", Repo, false, HubDown),
            (502, "", "", Entry, true, HubDown),
            (503, "", "", Account, true, HubDown),
            (504, "", "", Other, true, HubDown),
            (302, "", "", Repo, false, Protocol),
            (200, "", "", Repo, false, Protocol),
        ] {
            let error = map(&refusal(status, code, message), &question(subject, logged_in));
            assert_eq!(error.kind(), expected, "{status} {code} {message:?} {subject:?} {logged_in}");
            assert!(error.to_string().starts_with("org/name: "));
        }
    }

    #[test]
    fn a_licence_is_named_with_its_page() {
        let error = map(&refusal(403, "GatedRepo", ""), &question(Entry, true));
        assert!(error.advice().contains("https://hub.test/org/name"));
        let error = map(&refusal(401, "GatedRepo", ""), &question(Entry, false));
        assert!(error.advice().starts_with("Log in, then open https://hub.test/org/name"));
    }

    #[test]
    fn the_wait_is_the_one_that_the_hub_names() {
        for (status, rate_limit, retry_after, expected) in [
            (429, "\"api\";r=0;t=55", "", Some(55)),
            (429, "\"api\"; r = 0 ; t = 55", "", Some(55)),
            (429, "\"api\";r=3;t=55", "", Some(RATE_LIMIT_WAIT_DEFAULT_S)),
            (429, "\"api\";r=3;t=55", "7", Some(7)),
            (429, "", " 7 ", Some(7)),
            (429, "\"api\";r=0;t=5", "9", Some(9)),
            (429, "", "", Some(RATE_LIMIT_WAIT_DEFAULT_S)),
            (429, "nonsense", "Wed, 21 Oct 2026 07:28:00 GMT", Some(RATE_LIMIT_WAIT_DEFAULT_S)),
            (429, "", "99999999", Some(RATE_LIMIT_WAIT_MAX_S)),
            (429, "\"api\";r=0;t=99999999999999999999", "", Some(RATE_LIMIT_WAIT_DEFAULT_S)),
            (503, "", "4", Some(4)),
            (503, "", "", None),
            (404, "\"api\";r=0;t=55", "7", None),
        ] {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let refusal =
                Refusal { status, rate_limit: some(rate_limit), retry_after: some(retry_after), ..Refusal::default() };
            let wait = map(&refusal, &question(Repo, true)).wait_asked();
            assert_eq!(wait, expected.map(Duration::from_secs), "{status} {rate_limit} {retry_after}");
        }
    }

    #[test]
    fn the_cause_keeps_what_the_hub_said_for_the_log() {
        let refusal = Refusal { request_id: Some("Root=1-abc".into()), ..refusal(500, "Odd", "it broke") };
        let shown = format!("{:?}", map(&refusal, &question(Repo, true)));
        assert!(shown.contains("HTTP 500 Odd: it broke, request Root=1-abc"), "{shown}");
    }
}
