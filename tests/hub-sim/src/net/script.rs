//! What goes wrong, as a table of rules: which requests, and the steps their answers take instead of being served.
//! Never acts; [`super::exchange`] and [`super::served`] walk the steps.
//!
//! ```ignore
//! network.script().on(Route::XorbData).nth(3).run([serve(40.kib()), reset()]);
//! network.script().on("/tree/").always().run([latency_ms(200)]);
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::route::{Route, Site};

/// One step of an answer. Steps before the first [`Step::Serve`], [`Step::FlipByte`] or [`Step::ServeRest`] happen
/// before the head is sent; after the last one the rest is served. Where an answer has no body (HEAD, redirects, empty
/// files) all steps happen before its head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Waits, on top of the link.
    LatencyMs(u64),
    /// Sends that many body bytes; 0 sends the head.
    Serve(u64),
    /// Sends the whole rest of the body.
    ServeRest,
    /// Holds everything back until [`super::Network::release`] or the client leaves.
    Stall,
    /// Holds everything back for so long, or until released.
    StallMs(u64),
    /// Resets the connection.
    Reset,
    /// Closes the connection in order, whatever was promised.
    Truncate,
    /// Inverts the next body byte.
    FlipByte,
    /// Answers so instead of asking the router.
    Answer(Answer),
}

impl Step {
    pub(super) fn stall_limit(&self) -> Option<Duration> {
        if let Self::StallMs(ms) = self { Some(Duration::from_millis(*ms)) } else { None }
    }
}

/// An answer of the script's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names and values.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default)]
    pub body: String,
}

/// Waits so long before going on.
#[must_use]
pub fn latency_ms(ms: u64) -> Step {
    Step::LatencyMs(ms)
}

/// Sends the next `bytes` of the body; `serve(0)` sends the head alone.
#[must_use]
pub fn serve(bytes: u64) -> Step {
    Step::Serve(bytes)
}

/// Sends what is left of the body.
#[must_use]
pub fn serve_rest() -> Step {
    Step::ServeRest
}

/// Goes silent until released.
#[must_use]
pub fn stall() -> Step {
    Step::Stall
}

/// Goes silent for so long.
#[must_use]
pub fn stall_ms(ms: u64) -> Step {
    Step::StallMs(ms)
}

/// Resets the connection here.
#[must_use]
pub fn reset() -> Step {
    Step::Reset
}

/// Closes the connection here, short of the promised length.
#[must_use]
pub fn truncate() -> Step {
    Step::Truncate
}

/// Sends the next byte wrong.
#[must_use]
pub fn flip_byte() -> Step {
    Step::FlipByte
}

/// Answers with a status and a JSON error.
#[must_use]
pub fn status(status: u16) -> Step {
    let body = format!(r#"{{"error":"scripted {status}"}}"#);
    Step::Answer(Answer { status, headers: vec![("content-type".into(), "application/json".into())], body })
}

/// Answers 429 with the headers the Hub sends, the limit ending in `reset_s`.
#[must_use]
pub fn rate_limited(reset_s: u64) -> Step {
    let headers = [
        ("ratelimit", format!(r#""api";r=0;t={reset_s}"#)),
        ("ratelimit-policy", r#""fixed window";"api";q=500;w=300"#.to_owned()),
        ("retry-after", reset_s.to_string()),
    ];
    Step::Answer(Answer {
        status: 429,
        headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
        body: r#"{"error":"We had to rate limit you"}"#.into(),
    })
}

/// Answers as a data host does once a signed URL has expired.
#[must_use]
pub fn expired() -> Step {
    Step::Answer(Answer {
        status: 403,
        headers: vec![("content-type".into(), "application/xml".into())],
        body: "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>".into(),
    })
}

/// Sizes in scripts: `40.kib()`.
pub trait Size {
    /// Times 1024.
    #[must_use]
    fn kib(self) -> u64;
    /// Times 1024².
    #[must_use]
    fn mib(self) -> u64;
}

impl Size for u64 {
    fn kib(self) -> u64 {
        self << 10
    }

    fn mib(self) -> u64 {
        self << 20
    }
}

/// Which requests a rule looks at: those that match everything that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// The kind.
    pub route: Option<Route>,
    /// The host.
    pub site: Option<Site>,
    /// The method's name.
    pub method: Option<String>,
    /// A part of path and query.
    pub path: Option<String>,
    /// The connection of its site, 1 for the first.
    pub connection: Option<u64>,
}

impl From<Route> for Match {
    fn from(route: Route) -> Self {
        Self { route: Some(route), ..Self::default() }
    }
}

impl From<Site> for Match {
    fn from(site: Site) -> Self {
        Self { site: Some(site), ..Self::default() }
    }
}

impl From<&str> for Match {
    fn from(path: &str) -> Self {
        Self { path: Some(path.to_owned()), ..Self::default() }
    }
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which requests it counts.
    #[serde(default)]
    pub on: Match,
    /// The first of those it acts on, from 1.
    #[serde(default = "first")]
    pub nth: u64,
    /// How many it acts on from there; none is all.
    #[serde(default = "once")]
    pub times: Option<u64>,
    /// What it does.
    pub steps: Vec<Step>,
}

fn first() -> u64 {
    1
}

#[expect(clippy::unnecessary_wraps, reason = "the default of a field that may be none")]
fn once() -> Option<u64> {
    Some(1)
}

/// The table of a network. Each rule counts the requests that match it; the earliest rule whose turn it is acts.
#[derive(Default)]
pub struct Script {
    /// Std, for it is never held across an await.
    rules: Mutex<Vec<Line>>,
}

struct Line {
    rule: Rule,
    seen: u64,
    fired: u64,
}

/// A rule's place in the table, until the table is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleId(usize);

/// How many rules a table holds.
pub const RULES_MAX: usize = 10_000;

impl Script {
    /// Starts a rule; it acts once, on the next request, unless told otherwise.
    #[must_use = "a rule begins with run"]
    pub fn on(&self, on: impl Into<Match>) -> Draft<'_> {
        Draft { script: self, rule: Rule { on: on.into(), nth: first(), times: once(), steps: Vec::new() } }
    }

    /// Adds a rule at the end.
    ///
    /// # Panics
    /// When the table has [`RULES_MAX`] rules: a test that forgot to clear it.
    pub fn add(&self, rule: Rule) -> RuleId {
        let mut rules = self.rules();
        assert!(rules.len() < RULES_MAX, "the script is full");
        rules.push(Line { rule, seen: 0, fired: 0 });
        RuleId(rules.len() - 1)
    }

    /// Removes every rule; answers under way keep their steps.
    pub fn clear(&self) {
        self.rules().clear();
    }

    /// How many requests a rule has acted on.
    #[must_use]
    pub fn fired(&self, id: RuleId) -> u64 {
        self.rules().get(id.0).map_or(0, |line| line.fired)
    }

    /// The steps for one request.
    pub(super) fn steps(&self, asked: &Asked<'_>) -> Option<Vec<Step>> {
        let mut steps = None;
        for line in self.rules().iter_mut().filter(|line| line.rule.on.holds(asked)) {
            line.seen += 1;
            let begun = line.seen >= line.rule.nth.max(1);
            let spent = line.rule.times.is_some_and(|times| line.fired >= times);
            if steps.is_none() && begun && !spent {
                line.fired += 1;
                steps = Some(line.rule.steps.clone());
            }
        }
        steps
    }

    fn rules(&self) -> MutexGuard<'_, Vec<Line>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a rule can look at.
pub(super) struct Asked<'a> {
    pub(super) route: Route,
    pub(super) site: Site,
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) connection: u64,
}

impl Match {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        self.route.is_none_or(|route| route == asked.route)
            && self.site.is_none_or(|site| site == asked.site)
            && self.connection.is_none_or(|connection| connection == asked.connection)
            && self.method.as_deref().is_none_or(|method| method == asked.method)
            && self.path.as_deref().is_none_or(|path| asked.target.contains(path))
    }
}

/// A rule in the making.
pub struct Draft<'a> {
    script: &'a Script,
    rule: Rule,
}

impl Draft<'_> {
    /// Only requests whose path and query contain this.
    #[must_use = "a rule begins with run"]
    pub fn path(mut self, part: &str) -> Self {
        self.rule.on.path = Some(part.to_owned());
        self
    }

    /// Only requests to this host.
    #[must_use = "a rule begins with run"]
    pub fn site(mut self, site: Site) -> Self {
        self.rule.on.site = Some(site);
        self
    }

    /// Only requests of this method.
    #[must_use = "a rule begins with run"]
    pub fn method(mut self, method: &str) -> Self {
        self.rule.on.method = Some(method.to_owned());
        self
    }

    /// Only requests on the n-th connection of their site.
    #[must_use = "a rule begins with run"]
    pub fn connection(mut self, number: u64) -> Self {
        self.rule.on.connection = Some(number);
        self
    }

    /// Begins with the n-th matching request, counted from 1.
    #[must_use = "a rule begins with run"]
    pub fn nth(mut self, n: u64) -> Self {
        self.rule.nth = n;
        self
    }

    /// Acts on so many requests.
    #[must_use = "a rule begins with run"]
    pub fn times(mut self, times: u64) -> Self {
        self.rule.times = Some(times);
        self
    }

    /// Acts on every request from there on.
    #[must_use = "a rule begins with run"]
    pub fn always(mut self) -> Self {
        self.rule.times = None;
        self
    }

    /// Puts the rule into the table.
    pub fn run(mut self, steps: impl Into<Vec<Step>>) -> RuleId {
        self.rule.steps = steps.into();
        self.script.add(self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(route: Route, target: &str) -> Asked<'_> {
        Asked { route, site: Site::Data, method: "GET", target, connection: 1 }
    }

    #[test]
    fn rules_act_on_the_requests_they_name() {
        type Draw = fn(Draft<'_>) -> RuleId;
        let cases: &[(&str, Draw, [bool; 4])] = &[
            ("the next one", |rule| rule.run([reset()]), [true, false, false, false]),
            ("the second", |rule| rule.nth(2).run([reset()]), [false, true, false, false]),
            ("two of them", |rule| rule.times(2).run([reset()]), [true, true, false, false]),
            ("from the third", |rule| rule.nth(3).always().run([reset()]), [false, false, true, true]),
            ("another connection", |rule| rule.connection(2).always().run([reset()]), [false; 4]),
            ("another method", |rule| rule.method("HEAD").always().run([reset()]), [false; 4]),
            ("another path", |rule| rule.path("/b").always().run([reset()]), [false; 4]),
        ];
        for (what, draw, expected) in cases {
            let script = Script::default();
            draw(script.on(Route::XorbData));
            let acted = expected.map(|_| {
                assert_eq!(script.steps(&asked(Route::PlainData, "/a")), None);
                script.steps(&asked(Route::XorbData, "/a")).is_some()
            });
            assert_eq!(acted, *expected, "{what}");
        }
    }

    #[test]
    fn the_earliest_rule_acts_and_the_others_count() {
        let script = Script::default();
        let first = script.on(Route::XorbData).run([status(500)]);
        let second = script.on("/a").nth(2).run([status(503)]);
        assert_eq!(script.steps(&asked(Route::XorbData, "/a")), Some(vec![status(500)]));
        assert_eq!(script.steps(&asked(Route::XorbData, "/a")), Some(vec![status(503)]));
        assert_eq!((script.fired(first), script.fired(second)), (1, 1));
        script.clear();
        assert_eq!(script.steps(&asked(Route::XorbData, "/a")), None);
    }

    #[test]
    fn a_rule_in_json_may_leave_out_what_is_usual() {
        let rule: Rule = serde_json::from_str(
            r#"{"on": {"route": "xorb_data"}, "nth": 3, "times": null, "steps": [{"serve": 40960}, "reset"]}"#,
        )
        .unwrap();
        assert_eq!(rule.times, None);
        assert_eq!(rule.steps, [serve(40.kib()), reset()]);
        let rule: Rule = serde_json::from_str(r#"{"steps": ["stall"]}"#).unwrap();
        assert_eq!((rule.nth, rule.times), (1, Some(1)));
    }
}
