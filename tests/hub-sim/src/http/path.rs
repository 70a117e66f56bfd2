//! Splits and builds addresses, one path segment at a time.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All but what RFC 3986 calls unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The decoded segments of a path; `None` if one is not UTF-8.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    path.trim_start_matches('/')
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8().ok().map(|segment| segment.into_owned()))
        .collect()
}

/// One segment, a slash in it encoded too.
pub(crate) fn encode_segment(segment: &str) -> String {
    utf8_percent_encode(segment, SEGMENT).to_string()
}

/// A path whose slashes separate segments.
pub(crate) fn encode_path(path: &str) -> String {
    path.split('/').map(encode_segment).collect::<Vec<_>>().join("/")
}

/// The decoded pairs of a query string.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        Self(url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key.trim_end_matches("[]") == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter, also where it is written `name[]`.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key.trim_end_matches("[]") == name).map(|(_, value)| value.as_str())
    }

    /// Whether a switch is on: `true`, `True` or `1`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "True" | "1"))
    }

    /// The query again, with one parameter set.
    pub(crate) fn with(&self, name: &str, value: &str) -> String {
        let kept = self.0.iter().filter(|(key, _)| key != name).map(|(key, value)| (key.as_str(), value.as_str()));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(kept.chain([(name, value)])).finish()
    }
}
