//! The settings file: what people chose, checked, with the defaults of this machine and what the environment overrides.
//! Stored → checked → passed: the engine gets numbers and paths, and reads neither the file nor the environment. Never
//! overwrites a file that it does not understand, never shows a proxy's password.
//!
//! The file is TOML, `version = 1` in it; a name is that of [`Settings`]. What is not known, and what cannot be, is kept as it
//! is and listed as a problem.

mod defaults;
mod document;
mod rule;

pub use self::defaults::{budget_bytes, mount_folder};
use self::document::{Document, NotToml, Version};
use self::rule::{RULES, Rule};
use crate::net::{Env, NetConfig, ProxyUrl};
use crate::store::StoreLimits;
use crate::{Error, ErrorKind, Result, durable};
use serde_json::{Map, Value};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use weightless_control::settings::{Problem, Settings, SettingsReply};

/// A file longer than this is not ours: ten settings take a kilobyte.
const FILE_BYTES_MAX: usize = 1 << 20;

/// What the defaults depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Memory of the machine, or of the container if that is less; `None` where it is not known.
    pub ram_bytes: Option<u64>,
    /// Processors that this process may use.
    pub cores: usize,
    /// The user's home folder, absolute; `~/` in a path stands for it.
    pub home: Option<PathBuf>,
}

/// Every setting with its default applied, in the units that the engine uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Memory for file content (`read_ahead_mb`); at least what [`weightless_plan::Limits`] ask for.
    pub budget_bytes: u64,
    /// Most that content takes of the network, in bytes a second (`bandwidth_cap_kb`).
    pub bandwidth_cap_bytes_per_s: Option<u64>,
    /// Silence after which a connection is tried again (`stall_timeout_ms`).
    pub stall_ms: u64,
    /// Threads that answer the kernel for each mount.
    pub event_loops: usize,
    /// Seconds between two questions whether a mounted revision has a newer commit; 0 asks none.
    pub refresh_s: u64,
    /// Address of the Hub; `None` leaves it to [`NetConfig::new`]: `HF_ENDPOINT`, else the Hub.
    pub endpoint: Option<String>,
    /// Proxy for everything; `None` leaves it to the environment.
    pub proxy: Option<ProxyUrl>,
    /// A PEM file of further certificate authorities; absolute.
    pub ca_file: Option<PathBuf>,
    /// The folder in which mounts land that name none; absolute.
    pub mount_folder: PathBuf,
    /// A level (`info`), or directives as `tracing` reads them (`warn,weightless=debug`); see [`Resolved::log_filter`].
    pub log_level: String,
    /// How much the local store may take (`store_max_gb`) and what it leaves free (`store_keep_free_gb`).
    pub store: StoreLimits,
    /// A port of the loopback address that answers with figures for Prometheus.
    pub metrics_port: Option<u16>,
}

impl Resolved {
    /// The network as these settings want it; reads the CA file.
    ///
    /// # Errors
    /// The CA file cannot be read any more, or `HF_ENDPOINT` is no address.
    pub fn net(&self, env: Env<'_>) -> Result<NetConfig> {
        let mut net = NetConfig::new(self.endpoint.as_deref(), env)?;
        if let Some(proxy) = &self.proxy {
            net = net.with_proxy(proxy)?;
        }
        if let Some(path) = &self.ca_file {
            let pem = std::fs::read(path).map_err(|error| unreadable(path, &error).because(error))?;
            net = net.with_extra_ca(&pem)?;
        }
        Ok(net)
    }

    /// The log level as a filter of `tracing`: a bare level is ours alone, since the libraries below tell every byte at `debug`.
    pub fn log_filter(&self) -> String {
        match self.log_level.to_ascii_lowercase().as_str() {
            level @ ("off" | "error") => level.to_owned(),
            level @ ("warn" | "info" | "debug" | "trace") => format!("warn,weightless={level}"),
            _ => self.log_level.clone(),
        }
    }
}

/// The settings file, as it was read last, and what the environment overrides.
pub struct SettingsFile {
    path: PathBuf,
    machine: Machine,
    /// The file's bytes as they were read or written last; `None` while there is no file.
    content: Option<Vec<u8>>,
    /// The same, brought to this version. Comments, order and unknown keys are in here.
    document: Document,
    /// Checked values of environment variables, by setting.
    overrides: Map<String, Value>,
    /// Variables that cannot be.
    override_problems: Vec<Problem>,
    /// `HF_ENDPOINT`, else the Hub.
    hub_default: String,
    /// What the file looked like from outside at the last look, and whether it did at the one before.
    stamp: Option<Stamp>,
    is_settled: bool,
    /// What a person made of the file while we run that cannot be read, and what is wrong with it. The settings before hold.
    broken: Option<Problem>,
    /// File and overrides. Carries the proxy's password.
    real: Settings,
    /// The same without it.
    shown: Settings,
    /// The same with defaults applied.
    resolved: Arc<Resolved>,
    problems: Vec<Problem>,
}

/// A file as the system lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

impl Stamp {
    /// `None`: it is not there, or not to be seen.
    fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        Some(Stamp { modified: file.modified().ok(), bytes: file.len() })
    }
}

impl SettingsFile {
    /// Reads the file at `path`; one that is absent means defaults. Looks at the environment once: it does not change while a
    /// process runs.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput), naming file and line, for a file that is not TOML or cannot be read. It is
    /// not touched.
    pub fn load(path: PathBuf, env: Env<'_>, machine: Machine) -> Result<SettingsFile> {
        let content = read(&path)?;
        let document = parse(&path, content.as_deref())?;
        let (overrides, mut override_problems) = overrides(env, &machine);
        let hub_default = NetConfig::new(None, env).map_or_else(
            |error| {
                override_problems
                    .push(problem("endpoint", format!("HF_ENDPOINT is no address of a Hub: {}", words(&error))));
                crate::net::ENDPOINT_DEFAULT.to_owned()
            },
            |net| net.base().to_owned(),
        );
        let mut file = SettingsFile {
            path,
            content,
            document,
            overrides,
            override_problems,
            hub_default,
            stamp: None,
            is_settled: false,
            broken: None,
            resolved: Arc::new(resolved(&Settings::default(), &machine)),
            machine,
            real: Settings::default(),
            shown: Settings::default(),
            problems: Vec::new(),
        };
        file.derive();
        Ok(file)
    }

    /// File and environment, as they may be shown: without a proxy's password. What can be used is [`resolved`](Self::resolved).
    pub fn effective(&self) -> &Settings {
        &self.shown
    }

    /// Every value, defaults applied. The proxy has its password.
    pub fn resolved(&self) -> Arc<Resolved> {
        self.resolved.clone()
    }

    /// What in the file and the environment has no effect, and why.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The settings as clients see them.
    pub fn reply(&self) -> SettingsReply {
        SettingsReply {
            settings: self.shown.clone(),
            defaults: defaults::settings(&self.machine, &self.hub_default),
            overridden: self.overrides.keys().cloned().collect(),
            path: self.path.display().to_string(),
            ram_bytes: self.machine.ram_bytes.unwrap_or(0),
            problems: self.problems.clone(),
        }
    }

    /// Changes the file, all of `changes` or none; `null` goes back to the default. Takes in first what a person may have
    /// saved meanwhile. A proxy in the form in which [`effective`](Self::effective) shows it is no change, so that a client
    /// may send back what it got.
    ///
    /// # Errors
    /// Every problem; the file is then as it was.
    pub fn set(&mut self, changes: &Map<String, Value>) -> std::result::Result<(), Vec<Problem>> {
        let one = |setting: &str, sentence: String| Err(vec![problem(setting, sentence)]);
        if let Err(error) = self.reload() {
            return one(&self.file_name(), error.to_string());
        }
        if let Some(problem) = &self.broken {
            return Err(vec![problem.clone()]);
        }
        if let Version::Newer(version) = self.document.version() {
            return one("version", newer(version));
        }
        let mut wanted = Vec::new();
        let mut problems = Vec::new();
        for (name, value) in changes {
            match self.check(name, value) {
                Ok(true) => wanted.push((name.as_str(), value)),
                Ok(false) => {}
                Err(sentence) => problems.push(problem(name, sentence)),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut document = self.document.clone();
        for (name, value) in wanted {
            document.change(name, value);
        }
        if document != self.document {
            let text = document.text();
            if let Err(error) = durable::replace(&self.path, text.as_bytes()) {
                return one(&self.file_name(), format!("{} cannot be written: {error}", self.path.display()));
            }
            self.content = Some(text.into_bytes());
            self.document = document;
            self.derive();
        }
        Ok(())
    }

    /// Whether the file may have changed since the last look, by its time and length: to be asked often. After a change it is
    /// `true` once more, since two edits within one tick of the file system's clock look alike.
    pub fn looks_changed(&mut self) -> bool {
        let stamp = Stamp::of(&self.path);
        let is_same = stamp == self.stamp;
        self.stamp = stamp;
        !std::mem::replace(&mut self.is_settled, is_same) || !is_same
    }

    /// Reads the file again; `true` if what it says, or what is wrong with it, is not what it was.
    ///
    /// # Errors
    /// As [`load`](Self::load), once for each thing that is wrong: the settings before hold, and a problem says so, until the
    /// file can be read.
    pub fn reload(&mut self) -> Result<bool> {
        let read = read(&self.path).and_then(|content| Ok((parse(&self.path, content.as_deref())?, content)));
        match read {
            Ok((document, content)) => {
                let was_broken = self.broken.take().is_some();
                let is_new = content != self.content;
                if is_new || was_broken {
                    (self.content, self.document) = (content, document);
                    self.derive();
                }
                Ok(is_new || was_broken)
            }
            Err(error) => {
                let broken = problem(&self.file_name(), format!("{error}; what it said before holds"));
                if self.broken.as_ref() == Some(&broken) {
                    return Ok(false);
                }
                self.broken = Some(broken);
                self.derive();
                Err(error)
            }
        }
    }

    /// Whether `value` would change the setting `name`; what is wrong with it.
    fn check(&self, name: &str, value: &Value) -> std::result::Result<bool, String> {
        let Some(rule) = Rule::named(name) else { return Err(unknown(name)) };
        if value.is_null() {
            return Ok(true);
        }
        if name == "proxy" && value.as_str().is_some() {
            let in_file =
                self.document.values().find(|(key, _)| *key == name).and_then(|(_, value)| shown_proxy(&value));
            if value.as_str() == in_file.as_deref() || value.as_str() == self.shown.proxy.as_deref() {
                return Ok(false);
            }
            // The host of a shown address was changed, and the stars came along.
            if value.as_str().is_some_and(|text| text.contains(":***@")) {
                return Err("needs its password again: the one shown is hidden".to_owned());
            }
        }
        rule.check(value, &self.machine).map(|()| true)
    }

    /// Derives what is effective from document and overrides.
    fn derive(&mut self) {
        let mut values = Map::new();
        let mut problems = Vec::new();
        problems.extend(self.broken.clone());
        match self.document.version() {
            Version::Known => {}
            Version::Newer(version) => problems.push(problem("version", newer(version))),
            Version::Wrong => problems.push(problem("version", "must be a whole number; read as if it were absent")),
        }
        for (name, value) in self.document.values() {
            match Rule::named(name) {
                None => problems.push(problem(name, format!("{}; kept as it is", unknown(name)))),
                Some(rule) => match rule.check(&value, &self.machine) {
                    Ok(()) => drop(values.insert(name.to_owned(), value)),
                    Err(sentence) => problems.push(problem(name, format!("{sentence}; the default holds"))),
                },
            }
        }
        problems.extend(self.override_problems.iter().cloned());
        values.extend(self.overrides.iter().map(|(name, value)| (name.clone(), value.clone())));
        self.real = serde_json::from_value(Value::Object(values)).unwrap_or_else(|error| {
            debug_assert!(false, "a checked value has the type of its setting: {error}");
            Settings::default()
        });
        self.resolved = Arc::new(resolved(&self.real, &self.machine));
        self.shown = Settings {
            proxy: self.real.proxy.as_deref().and_then(|text| ProxyUrl::parse(text).ok()).map(|proxy| proxy.shown()),
            ..self.real.clone()
        };
        self.problems = problems;
    }

    /// What problems of the file as a whole are listed under.
    fn file_name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// Without a proxy's password.
impl fmt::Debug for SettingsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsFile").field("path", &self.path).field("settings", &self.shown).finish_non_exhaustive()
    }
}

/// Every value, defaults applied.
fn resolved(settings: &Settings, machine: &Machine) -> Resolved {
    let Settings {
        read_ahead_mb,
        bandwidth_cap_kb,
        stall_timeout_ms,
        event_loops,
        refresh_s,
        endpoint,
        proxy,
        ca_file,
        mount_folder,
        log_level,
        store_max_gb,
        store_keep_free_gb,
        metrics_port,
    } = settings;
    let home = machine.home.as_deref();
    Resolved {
        budget_bytes: read_ahead_mb.map_or_else(|| budget_bytes(machine.ram_bytes), |mb| u64::from(mb) << 20),
        bandwidth_cap_bytes_per_s: bandwidth_cap_kb.map(|kb| u64::from(kb) << 10),
        stall_ms: stall_timeout_ms.map_or_else(defaults::stall_ms, u64::from),
        event_loops: event_loops.map_or_else(|| defaults::event_loops(machine.cores), usize::from),
        refresh_s: refresh_s.map_or(defaults::REFRESH_S, u64::from),
        endpoint: endpoint.clone(),
        proxy: proxy.as_deref().and_then(|text| ProxyUrl::parse(text).ok()),
        ca_file: ca_file.as_deref().map(|text| rule::expand(text, home)),
        mount_folder: mount_folder
            .as_deref()
            .map_or_else(|| defaults::mount_folder(home), |text| rule::expand(text, home)),
        log_level: log_level.clone().unwrap_or_else(|| defaults::LOG_LEVEL.to_owned()),
        store: StoreLimits {
            max_bytes: u64::from(store_max_gb.unwrap_or(defaults::STORE_MAX_GB)) << 30,
            keep_free_bytes: u64::from(store_keep_free_gb.unwrap_or(defaults::STORE_KEEP_FREE_GB)) << 30,
        },
        metrics_port: *metrics_port,
    }
}

/// `None` for a file that is not there.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    // A device or another program's file may have no end.
    let bounded = || -> std::io::Result<Vec<u8>> {
        let mut content = Vec::new();
        std::fs::File::open(path)?.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut content)?;
        Ok(content)
    };
    match bounded() {
        Ok(content) if content.len() > FILE_BYTES_MAX => {
            Err(Error::new(ErrorKind::InvalidInput, path.display().to_string())
                .saying(format!("a settings file is shorter than {} KiB", FILE_BYTES_MAX >> 10))
                .advise("Is it another program's file?"))
        }
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error).because(error)),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::InvalidInput, path.display().to_string())
        .saying(format!("the file cannot be read: {error}"))
        .advise("")
}

fn parse(path: &Path, content: Option<&[u8]>) -> Result<Document> {
    Document::parse(content).map_err(|NotToml { line, reason }| {
        Error::new(ErrorKind::InvalidInput, format!("{}, line {line}", path.display()))
            .saying(format!("this is not TOML: {reason}"))
            .advise("Correct the line, or move the file away to start from the defaults.")
    })
}

/// What the environment says, checked. A variable that is empty is as good as absent.
fn overrides(env: Env<'_>, machine: &Machine) -> (Map<String, Value>, Vec<Problem>) {
    let mut values = Map::new();
    let mut problems = Vec::new();
    for rule in RULES {
        let Some(text) = env(rule.variable).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else {
            continue;
        };
        let value = rule.value(&text);
        match rule.check(&value, machine) {
            Ok(()) => drop(values.insert(rule.name.to_owned(), value)),
            Err(sentence) => {
                problems.push(problem(rule.name, format!("{} {sentence}; it has no effect", rule.variable)));
            }
        }
    }
    (values, problems)
}

fn shown_proxy(value: &Value) -> Option<String> {
    ProxyUrl::parse(value.as_str()?).ok().map(|proxy| proxy.shown())
}

fn problem(setting: &str, sentence: impl Into<String>) -> Problem {
    Problem { setting: setting.to_owned(), sentence: sentence.into() }
}

fn newer(version: i64) -> String {
    format!(
        "this file is of a newer Weightless (version {version}, this one knows {}); what is understood of it holds, and only \
         the newer one changes it",
        document::VERSION
    )
}

fn unknown(name: &str) -> String {
    match rule::nearest(name) {
        Some(nearest) => format!("no setting has this name; did you mean {nearest}?"),
        None => "no setting has this name".to_owned(),
    }
}

/// An error's advice as the end of a sentence: it says what form is right.
fn words(error: &Error) -> String {
    error.advice().trim_end_matches('.').to_owned()
}

/// A settings file, for `crate::fuzz`.
#[cfg(test)]
pub(crate) fn fuzz(data: &[u8]) {
    let mut document = match Document::parse(Some(data)) {
        Ok(document) => document,
        Err(NotToml { line, .. }) => {
            return assert!((1..=1 + data.iter().filter(|byte| **byte == b'\n').count()).contains(&line));
        }
    };
    let machine = Machine { ram_bytes: None, cores: 2, home: None };
    for (name, value) in document.values() {
        if let Some(rule) = Rule::named(name) {
            let _ = rule.check(&value, &machine);
        }
    }
    document.change("read_ahead_mb", &Value::from(64));
    let again = Document::parse(Some(document.text().as_bytes())).expect("what is written can be read");
    assert!(again.values().any(|(name, value)| name == "read_ahead_mb" && value == 64));
}

#[cfg(test)]
mod tests;
