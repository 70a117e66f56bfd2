//! `config`: shows and changes the settings, through the engine, so that they take effect at once.

use crate::args::{ConfigArgs, ConfigVerb};
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::{paths, processes};
use serde_json::{Map, Value};
use std::time::Duration;
use weightless_control::settings::{GetSettings, SetSettings, Settings, SettingsReply};
use weightless_control::{ClientError, Fault, Method};

/// Settings are in memory; a change writes a small file.
const ANSWER_MS_MAX: u64 = 10_000;

pub(crate) fn run(args: &ConfigArgs) -> Outcome {
    let format = Format::of(args.json);
    match &args.what {
        None => show(&ask(&GetSettings {})?, format),
        Some(ConfigVerb::Get { name }) => return get(&ask(&GetSettings {})?, name, format),
        Some(ConfigVerb::Set { pairs }) => {
            let reply = ask(&SetSettings { changes: changes(pairs)? })?;
            tell_overridden(&reply, pairs.iter().step_by(2));
        }
        Some(ConfigVerb::Unset { names }) => {
            ask(&SetSettings { changes: names.iter().map(|name| (name.clone(), Value::Null)).collect() })?;
        }
        Some(ConfigVerb::Path) => output::exact(paths::settings_file()?.display()),
    }
    Ok(())
}

fn ask<M: Method>(request: &M) -> Outcome<M::Reply> {
    processes::engine(Duration::from_millis(ANSWER_MS_MAX))?.call(request).map_err(ClientError::into_fault)
}

fn changes(pairs: &[String]) -> Outcome<Map<String, Value>> {
    if !pairs.len().is_multiple_of(2) {
        return Err(Fault::new("usage", "a name without a value").advise("weightless config set NAME VALUE"));
    }
    Ok(pairs.chunks_exact(2).map(|pair| (pair[0].clone(), value(&pair[1]))).collect())
}

/// A number is a number; everything else is text.
fn value(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| Value::from(text), Value::from)
}

fn tell_overridden<'a>(reply: &SettingsReply, names: impl Iterator<Item = &'a String>) {
    for name in names.filter(|name| reply.overridden.contains(name)) {
        output::note(format_args!("{name}: the environment of the engine decides this one, so the file has no effect"));
    }
}

fn get(reply: &SettingsReply, name: &str, format: Format) -> Outcome {
    let (now, default) = (values(&reply.settings), values(&reply.defaults));
    let known = names();
    if !known.contains(name) {
        return Err(Fault::new("usage", format!("there is no setting {name}"))
            .advise(format!("There are: {}.", known.into_iter().collect::<Vec<_>>().join(", "))));
    }
    let value = now.get(name).or(default.get(name)).cloned().unwrap_or_default();
    match format {
        Format::Json => output::json(&value),
        Format::Text => output::exact(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
    }
    Ok(())
}

fn show(reply: &SettingsReply, format: Format) {
    if format == Format::Json {
        return output::json(reply);
    }
    let (now, default) = (values(&reply.settings), values(&reply.defaults));
    let mut rows = vec![["SETTING", "VALUE", ""].map(String::from).to_vec()];
    for name in names() {
        let (set, default) = (now.get(&name), default.get(&name));
        let origin = match set {
            _ if reply.overridden.contains(&name) => "from the environment".to_owned(),
            Some(_) => default.map_or_else(String::new, |default| format!("default {}", plain(default))),
            None => "default".to_owned(),
        };
        let value = set.or(default).map(plain).unwrap_or_else(|| "none".to_owned());
        rows.push(vec![name, value, origin]);
    }
    output::table(&rows, &[]).iter().for_each(output::line);
    output::note(format_args!("\n{}", reply.path));
    for problem in &reply.problems {
        output::note(format_args!("{}: {}", problem.setting, problem.sentence));
    }
}

/// What is set, by name.
fn values(settings: &Settings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The names of all settings, as the type knows them.
fn names() -> std::collections::BTreeSet<String> {
    let all = Settings {
        read_ahead_mb: Some(0),
        bandwidth_cap_kb: Some(0),
        stall_timeout_ms: Some(0),
        event_loops: Some(0),
        refresh_s: Some(0),
        endpoint: Some(String::new()),
        proxy: Some(String::new()),
        ca_file: Some(String::new()),
        mount_folder: Some(String::new()),
        log_level: Some(String::new()),
        store_max_gb: Some(0),
        store_keep_free_gb: Some(0),
        metrics_port: Some(0),
    };
    values(&all).into_iter().map(|(name, _)| name).collect()
}

fn plain(value: &Value) -> String {
    output::plain(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}
