//! Every parser of what others send or type, one function each, run on a corpus (tests/fuzz/corpus) and on inputs made from it.
//! A function must neither panic nor take long, whatever it is given, and says what must hold of what it accepts.

use crate::net::{NetConfig, ProxyUrl};
use crate::repo::RepoSpec;
use crate::token::Token;
use crate::{hub, transport};
use url::Url;
use weightless_control::{Incoming, Reply, Request};

/// A parser with its name, which is that of its corpus.
type Target = (&'static str, fn(&[u8]));

/// All of them.
const TARGETS: &[Target] = &[
    ("tree", hub::fuzz::tree),
    ("link", hub::fuzz::link),
    ("refusal", hub::fuzz::refusal),
    ("reconstruction", transport::fuzz::reconstruction),
    ("xorb", transport::fuzz::xorb),
    ("multipart", transport::fuzz::multipart),
    ("headers", transport::fuzz::headers),
    ("typed", typed),
    ("settings", crate::settings::fuzz),
    ("folder", crate::folder::fuzz),
    ("control", control),
];

/// Lines of text; what is no text is none.
pub(crate) fn words(data: &[u8]) -> impl Iterator<Item = &str> {
    std::str::from_utf8(data).unwrap_or_default().split('\n')
}

/// What people type or paste: repos, addresses, proxies, tokens.
fn typed(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let endpoint = Url::parse(crate::net::ENDPOINT_DEFAULT).expect("it is one");
    if let Ok(spec) = RepoSpec::parse(text, &endpoint) {
        let shown = spec.repo.to_string();
        let again = RepoSpec::parse(&shown, &endpoint).expect("what is shown can be typed");
        assert_eq!(again.repo, spec.repo, "{shown}");
        let hostile = |path: &str| path.split('/').any(|name| matches!(name, "" | "." | "..")) || path.contains('\0');
        assert!(!hostile(&spec.repo.name), "{spec:?}");
    }
    if let Ok(net) = NetConfig::new(Some(text), &|_| None) {
        assert!(net.endpoint().username().is_empty() && net.endpoint().password().is_none());
        assert!(NetConfig::new(Some(net.endpoint().as_str()), &|_| None).is_ok());
    }
    if let Ok(proxy) = ProxyUrl::parse(text) {
        let again = ProxyUrl::parse(&proxy).expect("what was accepted is");
        assert_eq!(again, proxy);
        assert_eq!(format!("{proxy:?}"), proxy.shown());
    }
    if let Ok(token) = Token::new(text)
        && text.trim().len() >= 8
    {
        assert!(!format!("{token:?}").contains(text.trim()), "a token prints as nothing");
    }
}

/// Messages of clients and of the engine.
fn control(data: &[u8]) {
    match Request::parse(data) {
        Ok(request) => drop(format!("{request:?}")),
        Err(malformed) => drop(Reply::failure(malformed.id, malformed.error).line()),
    }
    if let Some(reply) = Reply::parse(data) {
        assert!(Reply::parse(&reply.line()).is_some());
    }
    if let Some(incoming) = Incoming::parse(data) {
        assert!(!format!("{incoming:?}").is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Inputs made from each file of a corpus.
    const CHANGED: u64 = 300;
    /// How many bytes of one are changed at most.
    const CHANGES_MAX: u64 = 6;

    /// A small generator, so that a failing case is its number.
    struct Rng(u64);

    impl Rng {
        fn below(&mut self, end: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % end.max(1) as u64) as usize
        }
    }

    /// The corpus of a target, by name of its files.
    fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(name);
        let listed = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<_> = listed
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
            .collect();
        files.sort();
        files
    }

    /// An input that looks like one of the corpus.
    fn changed(data: &[u8], others: &[(String, Vec<u8>)], seed: u64) -> Vec<u8> {
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut data = data.to_vec();
        for _ in 0..=rng.below(CHANGES_MAX as usize) {
            let at = rng.below(data.len() + 1);
            match rng.below(6) {
                0 => data.truncate(at),
                1 => data.insert(at, rng.below(256) as u8),
                2 if at < data.len() => drop(data.remove(at)),
                3 if at < data.len() => data[at] ^= 1 << rng.below(8),
                4 if at < data.len() => data[at] = [0, b'0', b'9', 0x7f, 0xff, b'"', b'{', b'/'][rng.below(8)],
                _ => {
                    let (_, other) = &others[rng.below(others.len())];
                    data.truncate(at);
                    data.extend_from_slice(&other[rng.below(other.len())..]);
                }
            }
        }
        data
    }

    #[test]
    fn every_parser_bears_its_corpus_and_what_looks_like_it() {
        for (name, target) in TARGETS {
            let files = corpus(name);
            assert!(files.len() >= 2, "{name} has a corpus");
            for (file, data) in &files {
                target(data);
                for seed in 0..CHANGED {
                    let data = changed(data, &files, seed);
                    if std::panic::catch_unwind(|| target(&data)).is_err() {
                        panic!("{name}: {file}, changed by seed {seed}: {:?}", String::from_utf8_lossy(&data));
                    }
                }
            }
        }
    }
}
