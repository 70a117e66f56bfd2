use super::*;
use crate::hub::people::Org;
use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex};
use tempfile::TempDir;

const HUB: &str = "https://huggingface.co";
const OTHER: &str = "http://127.0.0.1:8080";

fn who(name: &str) -> people::Account {
    people::Account {
        name: name.into(),
        full_name: Some(format!("{name} the First")),
        orgs: vec![Org { name: "us".into() }],
        role: Some("read".into()),
        expires: None,
    }
}

fn token(text: &str) -> Token {
    Token::new(text).unwrap()
}

fn table(rows: &[(&str, String)]) -> impl Fn(&str) -> Option<String> + use<> {
    let rows: Vec<_> = rows.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    move |name| rows.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
}

/// `name endpoint source default`, a line an account.
fn lines(accounts: &Accounts) -> Vec<String> {
    let line = |account: &Account| {
        let default = if account.is_default { " default" } else { "" };
        format!("{} {} {:?}{default}", account.name, account.endpoint, account.source)
    };
    accounts.accounts.iter().map(line).collect()
}

struct World {
    dir: TempDir,
    keychain: Arc<MemoryKeychain>,
}

impl World {
    fn new() -> Self {
        World { dir: tempfile::tempdir().unwrap(), keychain: Arc::default() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("state/accounts.json")
    }

    fn open(&self) -> AccountBook {
        self.open_with(self.keychain.clone())
    }

    fn open_with(&self, keychain: Arc<dyn Keychain>) -> AccountBook {
        AccountBook::open(self.path(), keychain).unwrap()
    }

    /// Two accounts of the Hub and one of another; the first is the default.
    async fn three(&self) -> AccountBook {
        let mut book = self.open();
        for (name, endpoint) in [("one", HUB), ("two", "huggingface.co/"), ("one", OTHER)] {
            book.add(who(name), endpoint, token(&format!("hf_{name}_{}", endpoint.len()))).await.unwrap();
        }
        book
    }
}

fn nothing(_: &str) -> Option<String> {
    None
}

#[tokio::test]
async fn the_first_account_becomes_the_default_and_all_survive_a_restart() {
    let world = World::new();
    let mut book = world.open();
    assert_eq!(book.list(&nothing).await, Accounts { accounts: vec![], no_keychain: None });
    let added = book.add(who("one"), HUB, token("hf_first")).await.unwrap();
    assert_eq!(
        added,
        Account {
            name: "one".into(),
            full_name: Some("one the First".into()),
            orgs: vec!["us".into()],
            role: Some("read".into()),
            endpoint: HUB.into(),
            source: TokenSource::Keychain,
            is_default: true,
        }
    );
    assert!(!book.add(who("two"), HUB, token("hf_second")).await.unwrap().is_default);
    // The same account again: a new token, what else is known of it, the same place.
    let again = people::Account { role: Some("write".into()), ..who("one") };
    assert!(book.add(again, HUB, token("hf_third")).await.unwrap().is_default);
    for book in [book, world.open()] {
        let list = book.list(&nothing).await;
        assert_eq!(lines(&list), [format!("one {HUB} Keychain default"), format!("two {HUB} Keychain")]);
        assert_eq!(list.accounts[0].role.as_deref(), Some("write"));
        assert_eq!(book.token(None, HUB, &nothing).await.unwrap(), Some(token("hf_third")));
    }
}

#[tokio::test]
async fn no_token_is_in_the_file_and_the_file_is_its_owners_alone() {
    let world = World::new();
    let book = world.three().await;
    let text = fs::read_to_string(world.path()).unwrap();
    assert!(!text.contains("hf_") && text.contains("\"two\""), "{text}");
    assert!(!format!("{book:?}").contains("hf_"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&world.path()), mode(world.path().parent().unwrap())), (0o600, 0o700));
    }
}

#[tokio::test]
async fn each_token_goes_to_its_own_hub_alone() {
    let world = World::new();
    let book = world.three().await;
    let env = table(&[("HF_TOKEN", "hf_env".into())]);
    let rows: [(Option<&str>, &str, Option<&str>); 12] = [
        (None, HUB, Some("hf_one_22")),
        (None, "huggingface.co", Some("hf_one_22")),
        // The default account is of another Hub.
        (None, OTHER, Some("hf_env")),
        (Some("two"), HUB, Some("hf_two_15")),
        (Some("TWO"), HUB, Some("hf_two_15")),
        (Some("two"), OTHER, None),
        (Some("one"), HUB, None),
        (Some("one@huggingface.co"), HUB, Some("hf_one_22")),
        (Some("one@127.0.0.1:8080"), OTHER, Some("hf_one_21")),
        (Some("one@127.0.0.1:8080"), HUB, None),
        (Some("HF_TOKEN"), OTHER, Some("hf_env")),
        (Some("three"), HUB, None),
    ];
    for (name, endpoint, expected) in rows {
        let found = book.token(name, endpoint, &env).await.ok().flatten();
        assert_eq!(found, expected.map(token), "{name:?} {endpoint}");
    }
    for (name, sentence) in [
        ("two", "two: this account is of https://huggingface.co, not of http://127.0.0.1:8080"),
        ("one", "one: two accounts have this name"),
        ("three", "three: no account has this name"),
    ] {
        assert_eq!(book.token(Some(name), OTHER, &env).await.unwrap_err().to_string(), sentence);
    }
}

#[tokio::test]
async fn what_the_environment_and_the_hubs_own_tools_offer_comes_last() {
    let world = World::new();
    let put = |name: &str, content: &str| {
        let path = world.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let login = put("home/.cache/huggingface/token", "hf_login");
    let named = put("named", "hf_named\n");
    let (empty, wrong) = (put("empty", ""), put("wrong", "not a token"));
    let home = world.dir.path().join("home").display().to_string();
    let empty_book = world.open();
    let variable = ("HF_TOKEN", "hf_env".to_owned());
    let home = ("HOME", home);
    let rows = [
        (
            vec![variable.clone(), home.clone()],
            vec![format!("HF_TOKEN {HUB} Environment default"), format!("{login} {HUB} File")],
        ),
        (vec![home.clone()], vec![format!("{login} {HUB} File default")]),
        (vec![("HF_TOKEN_PATH", named.clone()), home.clone()], vec![format!("{named} {HUB} File default")]),
        (vec![("HF_TOKEN_PATH", empty), home.clone()], vec![]),
        (vec![("HF_TOKEN_PATH", wrong), home.clone()], vec![]),
        (
            vec![variable.clone(), ("HF_ENDPOINT", format!("{OTHER}/"))],
            vec![format!("HF_TOKEN {OTHER} Environment default")],
        ),
        (vec![], vec![]),
    ];
    for (env, expected) in rows {
        assert_eq!(lines(&empty_book.list(&table(&env)).await), expected, "{env:?}");
    }

    let book = world.three().await;
    let env = table(&[variable, home]);
    assert_eq!(
        lines(&book.list(&env).await),
        [
            format!("one {HUB} Keychain default"),
            format!("two {HUB} Keychain"),
            format!("one {OTHER} Keychain"),
            format!("HF_TOKEN {HUB} Environment"),
            format!("{login} {HUB} File"),
        ]
    );
    assert_eq!(book.token(Some(&login), HUB, &env).await.unwrap(), Some(token("hf_login")));
    // They are not ours to remove.
    let mut book = book;
    assert!(book.remove("HF_TOKEN").await.unwrap_err().to_string().contains("the environment's"));
    assert!(book.remove(&login).await.unwrap_err().to_string().contains("a file's"));
}

#[tokio::test]
async fn the_default_moves_when_asked_and_to_the_oldest_when_removed() {
    let world = World::new();
    let mut book = world.three().await;
    book.use_default("two").await.unwrap();
    assert_eq!(book.token(None, HUB, &nothing).await.unwrap(), Some(token("hf_two_15")));
    assert!(book.use_default("three").await.is_err());
    assert!(book.use_default("one").await.is_err());
    book.remove("two").await.unwrap();
    for book in [&book, &world.open()] {
        let expected = [format!("one {HUB} Keychain default"), format!("one {OTHER} Keychain")];
        assert_eq!(lines(&book.list(&nothing).await), expected);
    }
    let key = AccountKey { name: "two".into(), endpoint: HUB.into() };
    assert_eq!(world.keychain.get(&key).unwrap(), None);
    book.remove("one@127.0.0.1:8080").await.unwrap();
    book.remove("one").await.unwrap();
    assert_eq!(book.remove("one").await.unwrap_err().to_string(), "one: no account has this name");
    assert_eq!(book.token(None, HUB, &nothing).await.unwrap(), None);
}

#[tokio::test]
async fn a_token_that_was_deleted_in_the_keychain_is_missed_aloud() {
    let world = World::new();
    let book = world.three().await;
    world.keychain.remove(&AccountKey { name: "one".into(), endpoint: HUB.into() }).unwrap();
    for name in [None, Some("one@huggingface.co")] {
        let error = book.token(name, HUB, &nothing).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotLoggedIn);
        assert_eq!(error.to_string(), "one: the keychain no longer has this account's token");
    }
    let env = table(&[("HF_TOKEN", "hf_env".into())]);
    assert_eq!(book.token(None, HUB, &env).await.unwrap(), Some(token("hf_env")));
    assert!(book.token(Some("one@huggingface.co"), HUB, &env).await.is_err());
}

/// A server's.
struct NoKeychain;

impl NoKeychain {
    fn missing<T>(&self) -> Result<T> {
        Err(Error::new(ErrorKind::KeychainMissing, "").because("no secret service provider or dbus session found"))
    }
}

impl Keychain for NoKeychain {
    fn ready(&self) -> Result<()> {
        self.missing()
    }

    fn get(&self, _: &AccountKey) -> Result<Option<Token>> {
        self.missing()
    }

    fn set(&self, _: &AccountKey, _: &Token) -> Result<()> {
        self.missing()
    }

    fn remove(&self, _: &AccountKey) -> Result<()> {
        self.missing()
    }
}

#[tokio::test]
async fn where_no_keychain_runs_it_is_said_and_the_environments_token_works() {
    let world = World::new();
    let before = world.three().await;
    let text = fs::read_to_string(world.path()).unwrap();
    drop(before);
    let mut book = world.open_with(Arc::new(NoKeychain));
    let env = table(&[("HF_TOKEN", "hf_env".into())]);
    assert_eq!(
        book.list(&env).await.no_keychain.as_deref(),
        Some(
            "no keychain answers here. Give the token in HF_TOKEN, or log in with `hf auth login`: neither needs a \
             keychain"
        )
    );
    for error in [
        book.token(None, HUB, &nothing).await.map(drop),
        book.token(Some("two"), HUB, &env).await.map(drop),
        book.add(who("four"), HUB, token("hf_four")).await.map(drop),
        book.remove("two").await,
    ] {
        assert_eq!(error.unwrap_err().kind(), ErrorKind::KeychainMissing);
    }
    assert_eq!(book.token(None, HUB, &env).await.unwrap(), Some(token("hf_env")));
    assert_eq!(book.token(None, OTHER, &nothing).await.unwrap(), None);
    assert_eq!(fs::read_to_string(world.path()).unwrap(), text);
}

/// Waits for its owner, who comes when the test says so.
#[derive(Default)]
struct LockedKeychain {
    inside: MemoryKeychain,
    open: Mutex<bool>,
    opened: Condvar,
    done: Mutex<Option<mpsc::Sender<()>>>,
}

impl LockedKeychain {
    fn wait(&self) {
        drop(self.opened.wait_while(self.open.lock().unwrap(), |open| !*open).unwrap());
    }

    fn unlock(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

impl Keychain for LockedKeychain {
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn get(&self, account: &AccountKey) -> Result<Option<Token>> {
        self.wait();
        self.inside.get(account)
    }

    fn set(&self, account: &AccountKey, token: &Token) -> Result<()> {
        self.wait();
        self.inside.set(account, token)
    }

    fn remove(&self, account: &AccountKey) -> Result<()> {
        self.inside.remove(account)?;
        if let Some(done) = &*self.done.lock().unwrap() {
            done.send(()).unwrap();
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_locked_keychain_is_waited_for_within_bounds_and_by_one_thread() {
    let world = World::new();
    let keychain = Arc::new(LockedKeychain::default());
    let (done, when_done) = mpsc::channel();
    *keychain.done.lock().unwrap() = Some(done);
    let mut book = world.open_with(keychain.clone());
    let before = tokio::time::Instant::now();
    for _ in 0..2 {
        let error = book.add(who("one"), HUB, token("hf_one")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeychainLocked);
        assert_eq!(error.to_string(), "the keychain waits for you to unlock it");
        assert_eq!(error.advice(), "Unlock it, then try again.");
    }
    assert_eq!(before.elapsed().as_secs(), 10);
    // The list does not queue behind the prompt.
    let list = book.list(&nothing).await;
    assert_eq!(before.elapsed().as_secs(), 10);
    assert_eq!(list.no_keychain.as_deref(), Some("the keychain waits for you to unlock it. Unlock it, then try again"));
    assert!(list.accounts.is_empty() && !world.path().exists());

    // What the keychain took in too late, it gives back: nobody was told that it is stored.
    keychain.unlock();
    tokio::task::spawn_blocking(move || when_done.recv().unwrap()).await.unwrap();
    let key = AccountKey { name: "one".into(), endpoint: HUB.into() };
    assert_eq!(keychain.inside.get(&key).unwrap(), None);
}

#[tokio::test]
async fn a_book_that_cannot_be_written_leaves_no_token_behind() {
    let world = World::new();
    fs::write(world.dir.path().join("state"), "in the way").unwrap();
    let mut book = AccountBook { path: world.path(), book: Book::default(), desk: Desk::new(world.keychain.clone()) };
    let error = book.add(who("one"), HUB, token("hf_one")).await.unwrap_err();
    assert!(error.to_string().contains("the list of accounts cannot be written"), "{error}");
    assert_eq!(world.keychain.get(&AccountKey { name: "one".into(), endpoint: HUB.into() }).unwrap(), None);
    assert!(book.list(&nothing).await.accounts.is_empty());
}

#[tokio::test]
async fn a_book_that_is_none_or_of_a_newer_program_is_left_alone() {
    let world = World::new();
    fs::create_dir(world.dir.path().join("state")).unwrap();
    let put = |text: &str| fs::write(world.path(), text).unwrap();
    for wrong in ["", "[]", "{\"version\": 1}", "not json"] {
        put(wrong);
        let error = AccountBook::open(world.path(), world.keychain.clone()).unwrap_err();
        assert!(error.to_string().contains("accounts.json: this is no list of accounts"), "{error}");
        assert_eq!(fs::read_to_string(world.path()).unwrap(), wrong);
    }
    let newer =
        r#"{"version": 2, "accounts": [{"name": "one", "endpoint": "https://huggingface.co", "is_default": true}]}"#;
    put(newer);
    let mut book = world.open();
    assert_eq!(lines(&book.list(&nothing).await), [format!("one {HUB} Keychain default")]);
    assert!(book.remove("one").await.unwrap_err().to_string().contains("newer Weightless"));
    assert_eq!(fs::read_to_string(world.path()).unwrap(), newer);
    // What a later program of the same version added stays, and two defaults are one.
    put(r#"{"version": 1, "hue": "red", "accounts": [
            {"name": "one", "endpoint": "https://huggingface.co", "is_default": true, "shape": "round"},
            {"name": "two", "endpoint": "https://huggingface.co", "is_default": true}]}"#);
    let mut book = world.open();
    assert_eq!(
        lines(&book.list(&nothing).await),
        [format!("one {HUB} Keychain default"), format!("two {HUB} Keychain")]
    );
    book.use_default("two").await.unwrap();
    let text = fs::read_to_string(world.path()).unwrap();
    assert!(text.contains("\"hue\": \"red\"") && text.contains("\"shape\": \"round\""), "{text}");
}

#[tokio::test]
async fn a_hub_that_names_nobody_is_not_believed() {
    let mut book = World::new().open();
    for name in ["", "two words", "line\nline", &"x".repeat(97)] {
        let error = book.add(who(name), HUB, token("hf_x")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{name:?}");
    }
}

/// The engine asks from tasks that may move between threads.
#[test]
fn questions_may_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let mut book = World::new().open();
    is_send(&book.list(&nothing));
    is_send(&book.token(None, HUB, &nothing));
    is_send(&book.add(who("one"), HUB, token("hf_one")));
    is_send(&book.remove("one"));
    is_send(&book.use_default("one"));
}

#[tokio::test]
async fn a_hub_without_tls_shares_no_entry_with_the_one_that_has_it() {
    let key = |endpoint: &str| AccountKey { name: "me".into(), endpoint: endpoint.into() };
    assert_eq!(key("https://hub.test").user(), "me@hub.test");
    assert_eq!(key("http://hub.test").user(), "me@http://hub.test");

    let world = World::new();
    let mut book = world.open();
    for (endpoint, text) in [("https://hub.test", "hf_tls"), ("http://hub.test", "hf_plain")] {
        book.add(who("me"), endpoint, token(text)).await.unwrap();
    }
    let found = async |book: &AccountBook, name: &str, endpoint: &str| {
        book.token(Some(name), endpoint, &nothing).await.unwrap()
    };
    assert_eq!(found(&book, "me@http://hub.test", "http://hub.test").await, Some(token("hf_plain")));
    assert!(book.token(Some("me"), "http://hub.test", &nothing).await.is_err(), "it is the name of two");
    book.remove("me@hub.test").await.unwrap();
    assert_eq!(found(&book, "me", "http://hub.test").await, Some(token("hf_plain")), "the other one stays");
}

#[tokio::test]
async fn a_token_from_before_there_were_two_entries_is_found_and_moves() {
    let world = World::new();
    let mut book = world.open();
    book.add(who("me"), "http://hub.test", token("hf_new")).await.unwrap();
    let key = |endpoint: &str| AccountKey { name: "me".into(), endpoint: endpoint.into() };
    let (own, shared) = (key("http://hub.test"), key("https://hub.test"));
    world.keychain.remove(&own).unwrap();
    world.keychain.set(&shared, &token("hf_old")).unwrap();
    assert_eq!(book.token(Some("me"), "http://hub.test", &nothing).await.unwrap(), Some(token("hf_old")));
    assert_eq!(world.keychain.get(&own).unwrap(), Some(token("hf_old")));
    assert_eq!(world.keychain.get(&shared).unwrap(), None);

    // What may be the other Hub's is left to it.
    world.keychain.remove(&own).unwrap();
    book.add(who("me"), "https://hub.test", token("hf_tls")).await.unwrap();
    assert!(book.token(Some("me@http://hub.test"), "http://hub.test", &nothing).await.is_err());
    assert_eq!(world.keychain.get(&shared).unwrap(), Some(token("hf_tls")));
}
