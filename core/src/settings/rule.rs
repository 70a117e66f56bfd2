//! What each setting may be. One row a setting; never reads the file or the environment.

use super::{Machine, words};
use crate::net::{NetConfig, ProxyUrl};
use serde_json::Value;
use std::path::{Path, PathBuf};
use weightless_plan::Limits;

/// How alike two names are before one is offered for the other; clap's measure and number.
const LIKENESS_MIN: f64 = 0.7;
/// Characters of a wrong value that are repeated to its author.
const QUOTED_MAX: usize = 40;

/// A setting.
pub(super) struct Rule {
    /// In the file and in the protocol.
    pub(super) name: &'static str,
    /// The environment variable that overrides it; the command line's, where it has one.
    pub(super) variable: &'static str,
    check: Check,
}

enum Check {
    /// A whole number in these bounds, in this unit.
    Number { least: fn() -> u64, most: u64, unit: &'static str },
    /// A text that this accepts. What it answers otherwise follows "must be" or "cannot be used: …".
    Text(fn(&str, &Machine) -> Result<(), String>),
}

/// All settings.
pub(super) const RULES: &[Rule] = &[
    // 1 TiB: nobody has more, and in bytes it is far from overflow.
    Rule::number("read_ahead_mb", "WEIGHTLESS_READ_AHEAD_MB", read_ahead_mb_min, 1 << 20, " (MiB)"),
    // The least read-ahead in flight is 8 MiB: at less than this it would take longer than the stall timeout.
    Rule::number(
        "bandwidth_cap_kb",
        "WEIGHTLESS_BANDWIDTH_CAP_KB",
        bandwidth_cap_kb_min,
        u32::MAX as u64,
        " (KiB a second)",
    ),
    Rule::number("stall_timeout_ms", "WEIGHTLESS_STALL_TIMEOUT_MS", one, u32::MAX as u64, " (ms)"),
    Rule::number("event_loops", "WEIGHTLESS_EVENT_LOOPS", one, 64, ""),
    // A week: who wants it less often wants it never.
    Rule::number("refresh_s", "WEIGHTLESS_REFRESH_S", zero, 604_800, " (s; 0 is never)"),
    Rule::text("endpoint", "WEIGHTLESS_ENDPOINT", endpoint),
    Rule::text("proxy", "WEIGHTLESS_PROXY", proxy),
    Rule::text("ca_file", "WEIGHTLESS_CA_FILE", ca_file),
    Rule::text("mount_folder", "WEIGHTLESS_MOUNT_FOLDER", mount_folder),
    Rule::text("log_level", "WEIGHTLESS_LOG", log_level),
    // 1 PiB: in bytes it is far from overflow.
    Rule::number("store_max_gb", "WEIGHTLESS_STORE_MAX_GB", zero, 1 << 20, " (GiB)"),
    Rule::number("store_keep_free_gb", "WEIGHTLESS_STORE_KEEP_FREE_GB", zero, 1 << 20, " (GiB)"),
    // Lower ports are root's, and we are nobody's root.
    Rule::number("metrics_port", "WEIGHTLESS_METRICS_PORT", first_free_port, u16::MAX as u64, ""),
];

impl Rule {
    const fn number(
        name: &'static str,
        variable: &'static str,
        least: fn() -> u64,
        most: u64,
        unit: &'static str,
    ) -> Self {
        Rule { name, variable, check: Check::Number { least, most, unit } }
    }

    const fn text(name: &'static str, variable: &'static str, check: fn(&str, &Machine) -> Result<(), String>) -> Self {
        Rule { name, variable, check: Check::Text(check) }
    }

    /// The setting of this name.
    pub(super) fn named(name: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.name == name)
    }

    /// The text of an environment variable as a value of the type that the setting has, if it can be one.
    pub(super) fn value(&self, text: &str) -> Value {
        match self.check {
            Check::Number { .. } => text.parse::<u64>().map_or_else(|_| Value::from(text), Value::from),
            Check::Text(_) => Value::from(text),
        }
    }

    /// What is wrong with a value; reads as what follows the setting's name, without a full stop.
    pub(super) fn check(&self, value: &Value, machine: &Machine) -> Result<(), String> {
        match self.check {
            Check::Number { least, most, unit } => match value.as_u64() {
                Some(number) if (least()..=most).contains(&number) => Ok(()),
                _ => Err(format!("must be a whole number from {} to {most}{unit}, and is {}", least(), quote(value))),
            },
            Check::Text(check) => match value.as_str() {
                Some(text) if text.chars().any(char::is_control) => Err("has control characters in it".to_owned()),
                Some(text) => check(text, machine),
                // Not repeated: what stands for a proxy may hold its password.
                None => Err(format!("must be a text in quotes, and is {}", kind(value))),
            },
        }
    }
}

/// The known name that an unknown one was meant to be.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let likeness = |rule: &Rule| strsim::jaro(&name, rule.name);
    let best = RULES.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(best) > LIKENESS_MIN).then_some(best.name)
}

/// A path with `~/` at its beginning replaced by the home folder.
pub(super) fn expand(text: &str, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_path_buf(),
        (Some(rest), Some(home)) if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => home.join(&rest[1..]),
        _ => PathBuf::from(text),
    }
}

/// What holds the largest read of the kernel and one block, and in any case 4 MiB: below it no stream has room.
fn read_ahead_mb_min() -> u64 {
    Limits::default().budget_bytes_min().div_ceil(1 << 20).max(4)
}

fn bandwidth_cap_kb_min() -> u64 {
    512
}

fn zero() -> u64 {
    0
}

fn one() -> u64 {
    1
}

fn first_free_port() -> u64 {
    1024
}

fn endpoint(text: &str, _: &Machine) -> Result<(), String> {
    NetConfig::new(Some(text), &|_| None)
        .map(drop)
        .map_err(|error| format!("is no address of a Hub: {}", words(&error)))
}

fn proxy(text: &str, _: &Machine) -> Result<(), String> {
    ProxyUrl::parse(text).map(drop).map_err(|error| format!("cannot be used: {}", error.sentence()))
}

fn ca_file(text: &str, machine: &Machine) -> Result<(), String> {
    let path = absolute(text, machine)?;
    let pem = std::fs::read(&path).map_err(|error| format!("cannot be read: {}: {error}", path.display()))?;
    let any = NetConfig::new(Some("localhost"), &|_| None).and_then(|net| net.with_extra_ca(&pem));
    any.map(drop).map_err(|_| format!("must be a PEM file with certificates, and {} is none", path.display()))
}

fn mount_folder(text: &str, machine: &Machine) -> Result<(), String> {
    absolute(text, machine).map(drop)
}

fn absolute(text: &str, machine: &Machine) -> Result<PathBuf, String> {
    let path = expand(text, machine.home.as_deref());
    if path.is_absolute() { Ok(path) } else { Err(format!("must be an absolute path, and is {}", quote(&text.into()))) }
}

/// A level, or levels by target, as `tracing_subscriber::filter::Targets` reads them. A bare word that is no level would be
/// taken for a target with everything on (`inof`), so it is refused.
fn log_level(text: &str, _: &Machine) -> Result<(), String> {
    let is_level = |word: &str| {
        ["off", "error", "warn", "info", "debug", "trace"].iter().any(|level| word.eq_ignore_ascii_case(level))
    };
    let is_target = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-'))
    };
    let is_directive = |word: &str| match word.split_once('=') {
        Some((target, level)) => is_target(target) && is_level(level),
        None => is_level(word),
    };
    if text.split(',').all(|word| is_directive(word.trim())) {
        Ok(())
    } else {
        Err(format!(
            "must be error, warn, info, debug or trace, or such as warn,weightless=debug, and is {}",
            quote(&text.into())
        ))
    }
}

/// A value as it is repeated to its author.
fn quote(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() <= QUOTED_MAX => format!("{text:?}"),
        Value::String(text) => format!("{:?}…", text.chars().take(QUOTED_MAX).collect::<String>()),
        other => kind(other).to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}
