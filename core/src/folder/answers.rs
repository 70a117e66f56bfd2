//! What the Hub said of names that lead nowhere: kept for a while, so that a name which is looked up again and again costs one
//! request, and listed for people. Never kept for another account than it was for. Bounded.

use crate::hub::View;
use crate::{Error, ErrorKind};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// How long it holds that a name leads nowhere: as long as the kernel believes it of a file.
const ABSENT_MS: u64 = 60_000;
/// How long a network that does not answer is not asked again: a program that looks for ten names waits once.
const FAULT_MS: u64 = 5_000;
/// Names kept at most.
const ANSWERS_MAX: usize = 4_096;
/// Problems that are listed.
const PROBLEMS_MAX: usize = 16;
/// For how long: somebody who met one looks within minutes.
const PROBLEM_MS: u64 = 15 * 60_000;

/// A name that led nowhere, for people.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The name, from the folder's root on.
    pub path: String,
    /// Why, in words.
    pub error: Error,
}

#[derive(Debug)]
struct Answer {
    error: Error,
    until: Instant,
    view: View,
}

/// What is kept.
#[derive(Debug, Default)]
pub(super) struct Answers {
    by_path: HashMap<String, Answer>,
    /// Oldest first.
    problems: VecDeque<(Instant, Problem)>,
}

impl Answers {
    /// What was said of `path` to this view of the Hub, if that still holds.
    pub(super) fn get(&self, now: Instant, path: &str, view: View) -> Option<Error> {
        let answer = self.by_path.get(path)?;
        (answer.view == view && answer.until > now).then(|| answer.error.clone())
    }

    /// Keeps what was said.
    pub(super) fn keep(&mut self, now: Instant, path: &str, view: View, error: &Error) {
        let Some(hold) = hold(error.kind()) else { return };
        if self.by_path.len() >= ANSWERS_MAX {
            self.by_path.retain(|_, answer| answer.until > now);
        }
        if self.by_path.len() >= ANSWERS_MAX {
            self.by_path.clear();
        }
        self.by_path.insert(path.to_owned(), Answer { error: error.clone(), until: now + hold, view });
    }

    /// Lists it as a problem, in the place of what was listed of this name.
    pub(super) fn list(&mut self, now: Instant, path: &str, error: &Error) {
        self.problems.retain(|(_, problem)| problem.path != path);
        if self.problems.len() >= PROBLEMS_MAX {
            self.problems.pop_front();
        }
        self.problems.push_back((now, Problem { path: path.to_owned(), error: error.clone() }));
    }

    /// The name leads somewhere.
    pub(super) fn forget(&mut self, path: &str) {
        self.by_path.remove(path);
        self.problems.retain(|(_, problem)| problem.path != path);
    }

    /// What is listed, newest first.
    pub(super) fn problems(&self, now: Instant) -> Vec<Problem> {
        let is_new = |(at, _): &&(Instant, Problem)| now.duration_since(*at) < Duration::from_millis(PROBLEM_MS);
        self.problems.iter().rev().filter(is_new).map(|(_, problem)| problem.clone()).collect()
    }
}

/// How long an error of this kind holds; `None` where the next one may be told otherwise at once.
fn hold(kind: ErrorKind) -> Option<Duration> {
    use ErrorKind::*;
    let ms = match kind {
        RepoNotFound | RevisionNotFound | EntryNotFound | NotLoggedIn | TokenRejected | Gated | NoAccess => ABSENT_MS,
        Offline | HubDown | TlsUntrusted | Stalled | Connection | Protocol => FAULT_MS,
        // The pace knows until when.
        _ => return None,
    };
    Some(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "a/b")
    }

    #[test]
    fn an_answer_holds_for_its_time_and_its_account() {
        let (view, other) = (View::fresh(), View::fresh());
        let start = Instant::now();
        let ms = Duration::from_millis;
        for (kind, holds_ms) in [
            (ErrorKind::RepoNotFound, 60_000),
            (ErrorKind::Gated, 60_000),
            (ErrorKind::Offline, 5_000),
            (ErrorKind::RateLimited, 0),
        ] {
            let mut answers = Answers::default();
            answers.keep(start, "a/b", view, &error(kind));
            for (after, expected) in [(0, holds_ms > 0), (holds_ms.max(1) - 1, holds_ms > 0), (holds_ms, false)] {
                let found = answers.get(start + ms(after), "a/b", view).map(|error| error.kind());
                assert_eq!(found, expected.then_some(kind), "{kind:?} after {after} ms");
            }
            assert!(answers.get(start, "a/b", other).is_none());
            assert!(answers.get(start, "a", view).is_none());
            answers.forget("a/b");
            assert!(answers.get(start, "a/b", view).is_none());
        }
    }

    #[test]
    fn answers_and_problems_are_bounded() {
        let view = View::fresh();
        let start = Instant::now();
        let mut answers = Answers::default();
        for ix in 0..20_000 {
            answers.keep(start, &ix.to_string(), view, &error(ErrorKind::RepoNotFound));
            answers.list(start, &ix.to_string(), &error(ErrorKind::RepoNotFound));
            assert!(answers.by_path.len() <= ANSWERS_MAX);
        }
        answers.list(start, "19990", &error(ErrorKind::Gated));
        let problems = answers.problems(start);
        assert_eq!(problems.len(), PROBLEMS_MAX);
        assert_eq!((problems[0].path.as_str(), problems[0].error.kind()), ("19990", ErrorKind::Gated));
        assert!(answers.problems(start + Duration::from_millis(PROBLEM_MS)).is_empty());
    }
}
