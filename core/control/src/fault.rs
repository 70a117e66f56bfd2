//! An error as it crosses a process border: a code for programs, a sentence and an advice for people. Never a cause with
//! internals in it; that stays in the log.

use crate::settings::Problem;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What went wrong, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Fault {
    /// Stable name of the kind, from the engine's error table: `repo_not_found`, `mount_point_busy`.
    pub code: String,
    /// What happened, with what it is about; no full stop.
    pub sentence: String,
    /// What to do about it; empty if nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// Who keeps a mount busy, where that is the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
    /// Every setting that cannot be, where that is the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl Fault {
    /// A fault without advice.
    pub fn new(code: impl Into<String>, sentence: impl Into<String>) -> Self {
        Fault {
            code: code.into(),
            sentence: sentence.into(),
            advice: String::new(),
            holders: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Sets what to do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Fault {}

/// A process that keeps a mount busy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its name, as the system lists it.
    pub program: String,
    /// What it holds: an open or mapped file, or the folder it works in.
    pub path: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {}) has {}", self.program, self.pid, self.path)
    }
}
