//! What a person who helps wants to know, as text. Tokens and signed addresses are taken out: what leaves the machine is read
//! by people first, and must be safe even if they do not look.

use super::blocking;
use super::host::Host;
use crate::log;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use weightless_control::upkeep::Diagnostics;

/// How much of the log's end is shown.
const LOG_BYTES: u64 = 32 << 10;

impl Host {
    /// Versions, system, settings, mounts, figures, the end of the log.
    pub(super) async fn diagnostics(&self) -> Diagnostics {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "weightless {} on {} {}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        );
        let status = self.status();
        let log = status.engine.log.clone();
        for (title, value) in [
            ("status", serde_json::to_string_pretty(&status)),
            ("settings", serde_json::to_string_pretty(&self.settings_reply())),
            ("figures", serde_json::to_string_pretty(&*self.stats(Duration::ZERO))),
        ] {
            let _ = writeln!(text, "\n{title}:\n{}", value.unwrap_or_default());
        }
        let end = blocking(move || log::tail(Path::new(&log), LOG_BYTES).ok()).await.ok().flatten();
        let _ = writeln!(text, "\nlog:\n{}", end.unwrap_or_else(|| "none".to_owned()));
        Diagnostics { text: redact(&text) }
    }
}

/// Takes out what opens something: tokens of the Hub, bearers, the query of every address, user and password of a proxy.
fn redact(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for (index, word) in text.split_inclusive([' ', '\n', '"', '\'', ',', '(', ')', '<', '>']).enumerate() {
        let is_after_bearer = index > 0 && safe.to_ascii_lowercase().ends_with("bearer ");
        safe += &redact_word(word, is_after_bearer);
    }
    safe
}

fn redact_word(word: &str, is_after_bearer: bool) -> String {
    let body = word.trim_end_matches([' ', '\n', '"', '\'', ',', '(', ')', '<', '>']);
    let end = &word[body.len()..];
    if is_after_bearer && !body.is_empty() {
        return format!("[removed]{end}");
    }
    if let Some(at) = body.find("hf_").filter(|at| body.len() - at > 10) {
        return format!("{}[removed]{end}", &body[..at]);
    }
    if let Some(scheme) = body.find("://") {
        let (address, query) = body.split_once('?').unwrap_or((body, ""));
        let authority_end = address[scheme + 3..].find('/').map_or(address.len(), |at| scheme + 3 + at);
        let host = address[scheme + 3..authority_end].rsplit('@').next().unwrap_or_default();
        let query = if query.is_empty() { "" } else { "?[removed]" };
        return format!("{}{host}{}{query}{end}", &address[..scheme + 3], &address[authority_end..]);
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_opens_something_is_left() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(redact(text), expected);
        }
        check("token hf_abcdefghijkl rejected", "token [removed] rejected");
        check("\"hf_abcdefghijkl\"\n", "\"[removed]\"\n");
        check("Authorization: Bearer eyJhbGci.x", "Authorization: Bearer [removed]");
        check("GET https://cdn.test/a?X-Amz-Signature=1&b=2, 403", "GET https://cdn.test/a?[removed], 403");
        check("proxy http://me:secret@proxy.test:8080", "proxy http://proxy.test:8080");
        check("https://huggingface.co/org/name", "https://huggingface.co/org/name");
        check("hf_hub is short", "hf_hub is short");
    }
}
