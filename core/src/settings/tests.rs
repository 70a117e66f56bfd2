use super::*;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

const GIB: u64 = 1 << 30;

/// A folder with a settings file in it.
struct World {
    dir: TempDir,
}

impl World {
    fn new() -> Self {
        World { dir: tempfile::tempdir().unwrap() }
    }

    fn with(content: &str) -> Self {
        let world = World::new();
        world.write(content);
        world
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("settings.toml")
    }

    fn write(&self, content: &str) {
        fs::write(self.path(), content).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn load(&self) -> SettingsFile {
        self.load_with(&[])
    }

    fn load_with(&self, env: &[(&str, &str)]) -> SettingsFile {
        SettingsFile::load(self.path(), &table(env), machine()).unwrap()
    }
}

fn table<'a>(rows: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |name| rows.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
}

fn machine() -> Machine {
    Machine { ram_bytes: Some(GIB), cores: 8, home: Some(home()) }
}

fn home() -> PathBuf {
    std::env::temp_dir().join("home")
}

fn changes(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn problems(list: &[Problem]) -> Vec<String> {
    list.iter().map(|problem| format!("{}: {}", problem.setting, problem.sentence)).collect()
}

#[test]
fn every_setting_of_the_protocol_has_its_rule_in_order() {
    let all = Settings {
        read_ahead_mb: Some(4),
        bandwidth_cap_kb: Some(512),
        stall_timeout_ms: Some(1),
        event_loops: Some(1),
        refresh_s: Some(0),
        endpoint: Some(String::new()),
        proxy: Some(String::new()),
        ca_file: Some(String::new()),
        mount_folder: Some(String::new()),
        log_level: Some(String::new()),
        store_max_gb: Some(1),
        store_keep_free_gb: Some(1),
        metrics_port: Some(1),
    };
    let Value::Object(all) = serde_json::to_value(all).unwrap() else { panic!("a table") };
    let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        all.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    );
}

#[test]
fn without_a_file_everything_has_its_default() {
    let world = World::new();
    let file = world.load();
    assert_eq!(
        *file.resolved(),
        Resolved {
            budget_bytes: GIB / 4,
            bandwidth_cap_bytes_per_s: None,
            stall_ms: 30_000,
            event_loops: 4,
            refresh_s: 600,
            endpoint: None,
            proxy: None,
            ca_file: None,
            mount_folder: home().join("Weightless"),
            log_level: "info".into(),
            store: StoreLimits { max_bytes: 50 * GIB, keep_free_bytes: 10 * GIB },
            metrics_port: None,
        }
    );
    let reply = file.reply();
    assert_eq!(reply.settings, Settings::default());
    assert_eq!((reply.defaults.read_ahead_mb, reply.defaults.stall_timeout_ms), (Some(256), Some(30_000)));
    assert_eq!(reply.defaults.endpoint.as_deref(), Some("https://huggingface.co"));
    assert_eq!((reply.ram_bytes, reply.problems.len(), reply.overridden.len()), (GIB, 0, 0));
    assert!(!world.path().exists());
}

#[test]
fn the_default_budget_is_a_quarter_of_the_memory_within_bounds() {
    for (ram, expected_mb) in [
        (None, 512),
        (Some(0), 16),
        (Some(48 << 20), 16),
        (Some(2 * GIB), 512),
        (Some(4 * GIB), 1024),
        (Some(256 * GIB), 1024),
    ] {
        assert_eq!(budget_bytes(ram), expected_mb << 20, "{ram:?}");
    }
    for (cores, expected) in [(1, 2), (2, 2), (3, 3), (64, 4)] {
        assert_eq!(defaults::event_loops(cores), expected, "{cores}");
    }
    assert_eq!(defaults::mount_folder(None), Path::new("/").join("Weightless"));
}

#[test]
fn a_value_is_accepted_or_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &str| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let pem = put("ca.pem", PEM);
    let words = put("words", "hello");
    let absent = dir.path().join("absent").display().to_string();
    let absolute = home().display().to_string();
    #[track_caller]
    fn check(name: &str, value: Value, refusal: Option<&str>) {
        let found = Rule::named(name).unwrap().check(&value, &machine());
        match (found, refusal) {
            (Ok(()), None) => {}
            (Err(sentence), Some(part)) => {
                assert!(sentence.contains(part), "{name} = {value}: {sentence}");
                assert!(!sentence.ends_with('.') && !sentence.contains("secret"), "{name} = {value}: {sentence}");
            }
            (found, _) => panic!("{name} = {value}: {found:?}"),
        }
    }
    for (name, least, most) in [
        ("read_ahead_mb", 4, 1_048_576),
        ("bandwidth_cap_kb", 512, 4_294_967_295_i64),
        ("stall_timeout_ms", 1, 4_294_967_295_i64),
        ("event_loops", 1, 64),
        ("refresh_s", 0, 604_800),
        ("store_max_gb", 0, 1_048_576),
        ("store_keep_free_gb", 0, 1_048_576),
        ("metrics_port", 1024, 65_535),
    ] {
        check(name, json!(least), None);
        check(name, json!(most), None);
        let bounds = format!("a whole number from {least} to {most}");
        for wrong in [json!(least - 1), json!(most + 1), json!(-5), json!(4.5), json!("64"), json!(true), json!([64])] {
            check(name, wrong, Some(&bounds));
        }
    }
    check("endpoint", json!("https://hub.test/path"), None);
    check("endpoint", json!("mirror.test"), None);
    check("endpoint", json!("ftp://hub.test"), Some("http or https"));
    check("endpoint", json!("https://me:secret@hub.test"), Some("cannot carry a user or a password"));
    check("endpoint", json!(""), Some("https://host"));
    check("endpoint", json!(1), Some("must be a text in quotes, and is a number"));
    check("proxy", json!("http://me:secret@proxy:3128"), None);
    check("proxy", json!("socks5://proxy"), None);
    check("proxy", json!("ftp://me:secret@proxy"), Some("begins with http://"));
    check("proxy", json!("http://me:secret/1@proxy"), Some("%2F"));
    check("proxy", json!({"secret": 1}), Some("is a table"));
    check("ca_file", json!(pem), None);
    check("ca_file", json!(words), Some("PEM file with certificates"));
    check("ca_file", json!(absent), Some("cannot be read"));
    check("ca_file", json!("ca.pem"), Some("must be an absolute path, and is \"ca.pem\""));
    check("mount_folder", json!(absolute), None);
    check("mount_folder", json!("~/models"), None);
    check("mount_folder", json!("~"), None);
    check("mount_folder", json!("~other/models"), Some("absolute"));
    check("mount_folder", json!("models"), Some("absolute"));
    check("mount_folder", json!("/a\u{0}b"), Some("control characters"));
    for right in
        ["error", "warn", "info", "DEBUG", "trace", "off", "warn,weightless=debug", "weightless_core::reader=trace"]
    {
        check("log_level", json!(right), None);
    }
    for wrong in ["", "inof", "warn,", "weightless", "weightless=loud", "=debug", "a b=debug"] {
        check("log_level", json!(wrong), Some("error, warn, info, debug or trace"));
    }
}

#[test]
fn the_budget_holds_at_least_the_largest_read_and_a_block() {
    let limits = weightless_plan::Limits::default();
    let refused = (0..).take_while(|mb| Rule::named("read_ahead_mb").unwrap().check(&json!(mb), &machine()).is_err());
    let least = refused.count() as u64;
    assert!(least << 20 >= limits.budget_bytes_min());
}

#[test]
fn what_the_file_says_holds_and_what_it_cannot_mean_is_a_problem() {
    let world = World::with(
        "read_ahead_mb = 64\nstall_timeout_ms = 0\nevent_loop = 3\nendpoint = \"hub.test\"\n\
         mount_folder = \"~/models\"\nmetrics_port = 80\nlog_level = true\n[colours]\nblue = 1\n",
    );
    let file = world.load();
    let resolved = file.resolved();
    assert_eq!((resolved.budget_bytes, resolved.stall_ms, resolved.event_loops), (64 << 20, 30_000, 4));
    assert_eq!((resolved.endpoint.as_deref(), resolved.metrics_port), (Some("hub.test"), None));
    assert_eq!(resolved.mount_folder, home().join("models"));
    assert_eq!(
        problems(&file.reply().problems),
        [
            "stall_timeout_ms: must be a whole number from 1 to 4294967295 (ms), and is 0; the default holds",
            "event_loop: no setting has this name; did you mean event_loops?; kept as it is",
            "metrics_port: must be a whole number from 1024 to 65535, and is 80; the default holds",
            "log_level: must be a text in quotes, and is true; the default holds",
            "colours: no setting has this name; kept as it is",
        ]
    );
}

#[test]
fn the_environment_overrides_the_file_where_it_makes_sense() {
    let world = World::with("read_ahead_mb = 64\nevent_loops = 3\n");
    let file = world.load_with(&[
        ("WEIGHTLESS_READ_AHEAD_MB", " 128 "),
        ("WEIGHTLESS_EVENT_LOOPS", "many"),
        ("WEIGHTLESS_STALL_TIMEOUT_MS", ""),
        ("WEIGHTLESS_ENDPOINT", "hub.test"),
        ("WEIGHTLESS_LOG", "debug"),
        ("HF_ENDPOINT", "https://mirror.test/"),
    ]);
    let resolved = file.resolved();
    assert_eq!((resolved.budget_bytes, resolved.event_loops, resolved.stall_ms), (128 << 20, 3, 30_000));
    assert_eq!((resolved.endpoint.as_deref(), &*resolved.log_level), (Some("hub.test"), "debug"));
    let reply = file.reply();
    assert_eq!(reply.overridden, ["endpoint", "log_level", "read_ahead_mb"]);
    assert_eq!(reply.defaults.endpoint.as_deref(), Some("https://mirror.test"));
    assert_eq!(
        problems(&reply.problems),
        ["event_loops: WEIGHTLESS_EVENT_LOOPS must be a whole number from 1 to 64, and is \"many\"; it has no effect"]
    );
    let file = world.load_with(&[("HF_ENDPOINT", "ftp://x")]);
    assert_eq!(file.reply().defaults.endpoint.as_deref(), Some("https://huggingface.co"));
    assert_eq!(file.reply().problems.len(), 1);
}

#[test]
fn changes_are_made_together_or_not_at_all() {
    let world = World::with("# mine\nread_ahead_mb = 64 # laptop\n\n# theirs\ncolour = \"blue\"\n");
    let before = world.text();
    let mut file = world.load();
    let wrong = json!({"read_ahead_mb": 128, "event_loops": 0, "read-ahead-MB": 1, "x": null, "metrics_port": 80});
    assert_eq!(
        problems(&file.set(&changes(wrong)).unwrap_err()),
        [
            "event_loops: must be a whole number from 1 to 64, and is 0",
            "metrics_port: must be a whole number from 1024 to 65535, and is 80",
            "read-ahead-MB: no setting has this name; did you mean read_ahead_mb?",
            "x: no setting has this name",
        ]
    );
    assert_eq!((world.text(), file.resolved().budget_bytes), (before, 64 << 20));

    file.set(&changes(json!({"read_ahead_mb": 128, "event_loops": 2}))).unwrap();
    let after = "# mine\nread_ahead_mb = 128 # laptop\n\n# theirs\ncolour = \"blue\"\nversion = 1\nevent_loops = 2\n";
    assert_eq!(world.text(), after);
    assert_eq!((file.resolved().budget_bytes, file.resolved().event_loops), (128 << 20, 2));
    assert!(!file.reload().unwrap());

    file.set(&changes(json!({"event_loops": null, "log_level": null}))).unwrap();
    assert_eq!(world.text(), after.replace("event_loops = 2\n", ""));
    assert_eq!(world.load().reply(), file.reply());
}

#[test]
fn the_first_change_makes_the_file_and_no_change_does_not() {
    let world = World::new();
    let mut file = world.load();
    file.set(&Map::new()).unwrap();
    assert!(!world.path().exists());
    file.set(&changes(json!({"log_level": "debug"}))).unwrap();
    assert!(world.text().ends_with("\nversion = 1\nlog_level = \"debug\"\n"), "{}", world.text());
    let time = fs::metadata(world.path()).unwrap().modified().unwrap();
    file.set(&changes(json!({"log_level": "debug"}))).unwrap();
    assert_eq!(fs::metadata(world.path()).unwrap().modified().unwrap(), time);
}

#[test]
fn what_a_person_saves_meanwhile_is_taken_in() {
    let world = World::with("read_ahead_mb = 64\n");
    let mut file = world.load();
    assert!(!file.reload().unwrap());
    // Same length, same moment.
    world.write("read_ahead_mb = 65\n");
    assert!(file.reload().unwrap());
    assert_eq!(file.resolved().budget_bytes, 65 << 20);
    world.write("read_ahead_mb = 66\n");
    file.set(&changes(json!({"event_loops": 2}))).unwrap();
    assert_eq!(world.text(), "read_ahead_mb = 66\nversion = 1\nevent_loops = 2\n");
    fs::remove_file(world.path()).unwrap();
    assert!(file.reload().unwrap());
    assert_eq!(file.effective(), &Settings::default());
}

#[test]
fn a_file_that_is_not_toml_is_refused_by_line_and_never_overwritten() {
    let world = World::with("read_ahead_mb = 64\nproxy = http://me:secret@proxy\n");
    let error = SettingsFile::load(world.path(), &|_| None, machine()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("settings.toml, line 2: this is not TOML: "), "{error}");
    assert!(!format!("{error} {error:?}").contains("secret"));
    let missing = world.dir.path().join("plain");
    fs::write(&missing, "").unwrap();
    assert!(SettingsFile::load(world.dir.path().into(), &|_| None, machine()).is_err());
    assert!(SettingsFile::load(missing, &|_| None, machine()).is_ok());

    // While running: said once, what held before holds, nothing is written.
    world.write("read_ahead_mb = 64\n");
    let mut file = world.load();
    world.write("read_ahead_mb = 65\nevent_loops\n");
    assert!(file.reload().is_err());
    assert!(!file.reload().unwrap());
    let told = problems(&file.reply().problems).remove(0);
    assert!(told.starts_with("settings.toml: ") && told.contains("line 2") && told.ends_with("holds"), "{told}");
    assert_eq!(problems(&file.set(&changes(json!({"event_loops": 2}))).unwrap_err()), [told]);
    assert_eq!(file.resolved().budget_bytes, 64 << 20);
    assert_eq!(world.text(), "read_ahead_mb = 65\nevent_loops\n");
    world.write("read_ahead_mb = 64\n");
    assert!(file.reload().unwrap(), "that it can be read again is news");
    assert!(file.reply().problems.is_empty());
    assert!(!file.reload().unwrap());
    fs::remove_file(world.path()).unwrap();
    fs::create_dir(world.path()).unwrap();
    assert!(file.reload().is_err());
    assert!(!file.reload().unwrap(), "said once");
    assert_eq!(file.resolved().budget_bytes, 64 << 20);
}

#[test]
fn a_file_that_nobody_touches_is_not_read_again() {
    let world = World::with("read_ahead_mb = 64\n");
    let mut file = world.load();
    let mut looks = || (file.looks_changed(), file.looks_changed(), file.looks_changed());
    assert_eq!(looks(), (true, true, false), "once more after a change");
    assert_eq!(looks(), (false, false, false));
    world.write("read_ahead_mb = 128\n");
    assert_eq!(looks(), (true, true, false));
    fs::remove_file(world.path()).unwrap();
    assert_eq!(looks(), (true, true, false));
    assert_eq!(looks(), (false, false, false));
}

#[test]
fn a_file_of_a_newer_version_is_read_and_not_written() {
    let text = "version = 7\nread_ahead_mb = 64\nshape = \"round\"\n";
    let world = World::with(text);
    let mut file = world.load();
    assert_eq!(file.resolved().budget_bytes, 64 << 20);
    let told = problems(&file.reply().problems);
    assert!(
        told[0].starts_with("version: this file is of a newer Weightless (version 7, this one knows 1)"),
        "{told:?}"
    );
    let refused = file.set(&changes(json!({"read_ahead_mb": 128}))).unwrap_err();
    assert_eq!(problems(&refused), told[..1]);
    assert_eq!(world.text(), text);
}

#[test]
fn a_proxys_password_is_used_and_never_shown() {
    let world = World::with("proxy = \"http://me:secret@proxy:3128\"\n");
    let mut file = world.load();
    let resolved = file.resolved();
    assert_eq!(resolved.proxy.as_deref(), Some("http://me:secret@proxy:3128"));
    assert_eq!(file.effective().proxy.as_deref(), Some("http://me:***@proxy:3128"));
    let net = resolved.net(&|_| None).unwrap();
    for text in [format!("{file:?} {resolved:?} {net:?}"), serde_json::to_string(&file.reply()).unwrap()] {
        assert!(!text.contains("secret"), "{text}");
    }

    // A client that sends back what it got changes nothing; one that changes the host must know the password.
    let before = world.text();
    file.set(&changes(json!({"proxy": "http://me:***@proxy:3128"}))).unwrap();
    assert_eq!(world.text(), before);
    let refused = file.set(&changes(json!({"proxy": "http://me:***@other:3128"}))).unwrap_err();
    assert_eq!(problems(&refused), ["proxy: needs its password again: the one shown is hidden"]);
    file.set(&changes(json!({"proxy": "http://me:secret2@other:3128"}))).unwrap();
    assert_eq!(file.resolved().proxy.as_deref(), Some("http://me:secret2@other:3128"));

    let file = world.load_with(&[("WEIGHTLESS_PROXY", "socks5://you:secret3@third")]);
    assert_eq!(file.effective().proxy.as_deref(), Some("socks5://you:***@third"));
    let file = world.load_with(&[("WEIGHTLESS_PROXY", "ftp://you:secret3@third")]);
    assert!(!format!("{:?}", file.reply()).contains("secret"));
}

#[test]
fn the_network_is_built_from_the_settings() {
    let world = World::new();
    let path = world.dir.path().join("ca.pem");
    fs::write(&path, PEM).unwrap();
    let mut file = world.load();
    file.set(&changes(json!({"endpoint": "hub.test", "ca_file": path.display().to_string()}))).unwrap();
    let resolved = file.resolved();
    assert_eq!(resolved.net(&|_| None).unwrap().base(), "https://hub.test");
    fs::remove_file(&path).unwrap();
    assert!(resolved.net(&|_| None).unwrap_err().to_string().contains("ca.pem: the file cannot be read"));
}

#[test]
fn a_bare_level_is_for_our_own_lines() {
    for (level, filter) in [
        ("info", "warn,weightless=info"),
        ("DEBUG", "warn,weightless=debug"),
        ("error", "error"),
        ("off", "off"),
        ("warn,hyper=trace", "warn,hyper=trace"),
    ] {
        let world = World::with(&format!("log_level = \"{level}\"\n"));
        assert_eq!(world.load().resolved().log_filter(), filter);
    }
}

#[cfg(unix)]
#[test]
fn a_linked_file_is_followed_and_stays_its_owners_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new();
    let real = world.dir.path().join("dotfiles.toml");
    fs::write(&real, "read_ahead_mb = 64\n").unwrap();
    symlink("dotfiles.toml", world.path()).unwrap();
    let mut file = world.load();
    file.set(&changes(json!({"read_ahead_mb": 128}))).unwrap();
    assert!(fs::symlink_metadata(world.path()).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "read_ahead_mb = 128\nversion = 1\n");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_cannot_be_written_is_a_problem_and_changes_nothing() {
    let world = World::new();
    let blocked = world.dir.path().join("plain/settings.toml");
    let mut file = SettingsFile::load(blocked.clone(), &|_| None, machine()).unwrap();
    fs::write(world.dir.path().join("plain"), "").unwrap();
    let refused = problems(&file.set(&changes(json!({"event_loops": 2}))).unwrap_err());
    assert!(refused[0].starts_with("settings.toml: "), "{refused:?}");
    assert_eq!(file.resolved().event_loops, 4);
}

/// A certificate that says nothing and expires never: `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes`.
const PEM: &str = include_str!("ca.pem");
