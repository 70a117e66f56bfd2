//! The Hub's ways to say no: a status, a code, a sentence.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json as object};

/// An answer other than success.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A status with the Hub's `X-Error-Code` (empty where it sends none) and sentence.
    No { status: StatusCode, code: &'static str, sentence: String, commit: Option<String> },
    /// The same resource lives at another path of this host.
    Moved { location: String },
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, sentence: impl Into<String>) -> Self {
        Self::No { status, code, sentence: sentence.into(), commit: None }
    }

    pub(crate) fn bad_request(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "", sentence)
    }

    pub(crate) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "", "Sorry, we can't find the page you are looking for.")
    }

    pub(crate) fn no_entry(sentence: impl Into<String>, commit: &str) -> Self {
        Self::No {
            status: StatusCode::NOT_FOUND,
            code: "EntryNotFound",
            sentence: sentence.into(),
            commit: Some(commit.to_owned()),
        }
    }

    pub(crate) fn broken(error: &dyn std::error::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", format!("Internal Error - {error}"))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Moved { location } => {
                let mut response = (StatusCode::TEMPORARY_REDIRECT, "Temporary Redirect").into_response();
                if let Ok(location) = HeaderValue::from_str(&location) {
                    response.headers_mut().insert("location", location);
                }
                response
            }
            Self::No { status, code, sentence, commit } => {
                let mut response = json(&object!({ "error": sentence }));
                *response.status_mut() = status;
                let headers = response.headers_mut();
                let pairs = [
                    ("x-error-code", code),
                    ("x-error-message", &sentence),
                    ("x-repo-commit", commit.as_deref().unwrap_or_default()),
                ];
                for (name, value) in pairs {
                    if !value.is_empty()
                        && let Ok(value) = HeaderValue::from_str(value)
                    {
                        headers.insert(name, value);
                    }
                }
                response
            }
        }
    }
}

/// A JSON body with status 200.
pub(crate) fn json(value: &Value) -> Response {
    ([("content-type", "application/json; charset=utf-8")], value.to_string()).into_response()
}
