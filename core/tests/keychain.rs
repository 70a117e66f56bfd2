//! The keychain of the system, for real: a GNOME Keyring in a D-Bus session of its own. Skipped, with the reason printed,
//! where its programs are not installed.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use weightless_control::accounts::TokenSource;
use weightless_core::ErrorKind;
use weightless_core::accounts::{AccountBook, AccountKey, Keychain, OsKeychain};
use weightless_core::hub::people;
use weightless_core::token::Token;

const HUB: &str = "https://huggingface.co";
/// Where the inner test keeps its book.
const STATE: &str = "WEIGHTLESS_TEST_STATE";
/// Starts a keyring that is unlocked with a password from stdin, then the inner test.
const UNLOCKED: &str = "printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec \"$@\"";

/// Runs one of the inner tests below under `launcher`, with a home folder of its own.
#[track_caller]
fn run(inner: &str, launcher: &[&str], home: &Path) {
    let exe = std::env::current_exe().unwrap();
    let mut words = launcher.iter().map(std::ffi::OsString::from).collect::<Vec<_>>();
    words.push(exe.into());
    let output = Command::new(&words[0])
        .args(&words[1..])
        .args(["--exact", inner, "--ignored", "--nocapture", "--test-threads=1"])
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home)
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env(STATE, home.join("accounts.json"))
        .env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", home.join("no-bus").display()))
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("HF_TOKEN")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Whether all of these are installed; says so if not.
fn has(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<_> = programs.iter().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        eprintln!("SKIPPED: not installed: {missing:?}");
    }
    missing.is_empty()
}

#[test]
fn a_token_is_kept_in_the_keyring_of_the_session() {
    if has(&["dbus-run-session", "gnome-keyring-daemon", "dbus-send"]) {
        let home = tempfile::tempdir().unwrap();
        run("inner::kept", &["dbus-run-session", "--", "sh", "-c", UNLOCKED, "sh"], home.path());
    }
}

#[test]
fn without_a_session_the_keychain_is_missing_in_words() {
    let home = tempfile::tempdir().unwrap();
    run("inner::missing", &["env"], home.path());
}

/// Each needs an environment that only [`run`] gives it, and a process of its own: the keychain is found once a process.
mod inner {
    use super::*;

    fn book() -> AccountBook {
        AccountBook::open(
            std::env::var_os(STATE).expect("started by the outer test").into(),
            Arc::new(OsKeychain::new()),
        )
        .unwrap()
    }

    fn who(name: &str) -> people::Account {
        people::Account { name: name.into(), full_name: None, orgs: vec![], role: Some("read".into()), expires: None }
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "started by a_token_is_kept_in_the_keyring_of_the_session"]
    async fn kept() {
        let token = |text: &str| Token::new(text).unwrap();
        let mut first = book();
        assert_eq!(first.list(&nothing).await.no_keychain, None);
        first.add(who("me"), HUB, token("hf_one")).await.unwrap();
        first.add(who("me"), HUB, token("hf_two")).await.unwrap();
        first.add(who("us"), HUB, token("hf_us")).await.unwrap();

        let mut second = book();
        assert_eq!(second.list(&nothing).await.accounts[0].source, TokenSource::Keychain);
        assert_eq!(second.token(None, HUB, &nothing).await.unwrap(), Some(token("hf_two")));
        assert_eq!(second.token(Some("us"), HUB, &nothing).await.unwrap(), Some(token("hf_us")));
        second.remove("us").await.unwrap();
        let key = |name: &str| AccountKey { name: name.into(), endpoint: HUB.into() };
        let left =
            tokio::task::spawn_blocking(move || (OsKeychain::new().get(&key("us")), OsKeychain::new().get(&key("me"))))
                .await
                .unwrap();
        assert_eq!((left.0.unwrap(), left.1.unwrap()), (None, Some(token("hf_two"))));

        // Locked, with nobody there to type the password: answers in words, within the bound.
        let lock = Command::new("dbus-send")
            .args(["--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets"])
            .args(["org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/collection/login"])
            .output()
            .unwrap();
        assert!(lock.status.success(), "{lock:?}");
        let started = tokio::time::Instant::now();
        let error = second.token(None, HUB, &nothing).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeychainLocked, "{error:?}");
        assert!(started.elapsed().as_secs() < 8, "{:?}", started.elapsed());
        assert!(second.add(who("us"), HUB, token("hf_us")).await.is_err());
        eprintln!("locked: {error:?} after {:?}", started.elapsed());
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "started by without_a_session_the_keychain_is_missing_in_words"]
    async fn missing() {
        let mut book = book();
        let said = book.list(&nothing).await.no_keychain.unwrap();
        assert!(said.starts_with("no keychain answers here. Give the token in HF_TOKEN"), "{said}");
        let error = book.add(who("me"), HUB, Token::new("hf_one").unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeychainMissing, "{error:?}");
        assert_eq!(book.token(None, HUB, &nothing).await.unwrap(), None);
    }
}
