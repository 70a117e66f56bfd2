//! What the Hub says, for `crate::fuzz`.

use super::listing::{EntryKind, next_link, parse};
use super::map::{Question, RATE_LIMIT_WAIT_MAX_S, Refusal, Subject, map};
use crate::fuzz::words;

/// A page of a listing, or the answer to a question for one name.
pub(crate) fn tree(data: &[u8]) {
    let Ok(entries) = parse(data, "org/name") else { return };
    // Each entry takes a name and a kind at least: nothing is made of nothing.
    assert!(entries.len() <= data.len() / 8 + 1);
    for entry in entries {
        if let EntryKind::File { size: None, .. } = entry.kind {
            // Asked for by itself later, never taken for 0.
            assert!(entry.path.len() <= data.len());
        }
    }
}

/// A `Link` header.
pub(crate) fn link(data: &[u8]) {
    let Ok(header) = std::str::from_utf8(data) else { return };
    if let Some(link) = next_link(header) {
        assert!(header.contains(&format!("<{link}>")) && !link.contains('>'));
    }
}

/// Status and headers of a refusal.
pub(crate) fn refusal(data: &[u8]) {
    let Some((status, data)) = data.split_first_chunk::<2>() else { return };
    let mut text = words(data).map(|word| (!word.is_empty()).then(|| word.to_owned()));
    let mut next = || text.next().flatten();
    let refusal = Refusal {
        status: u16::from_be_bytes(*status) % 1_000,
        code: next(),
        message: next(),
        rate_limit: next(),
        retry_after: next(),
        request_id: next(),
    };
    for subject in [Subject::Account, Subject::Repo, Subject::Revision, Subject::Entry, Subject::Other] {
        for logged_in in [false, true] {
            let question = Question { subject, name: "org/name".to_owned(), page: None, logged_in };
            let error = map(&refusal, &question);
            assert!(error.wait_asked().is_none_or(|wait| wait.as_secs() <= RATE_LIMIT_WAIT_MAX_S));
            assert_eq!(error.subject(), "org/name");
        }
    }
}
