//! Verbs that mount nothing, and what is said to whoever types something else.

mod common;

use common::World;

#[test]
fn what_cannot_be_meant_is_refused_with_usage() {
    let world = World::new();
    for (words, hint) in [
        ("mount", "REPO"),
        ("mont org/model", "mount"),
        ("mount org/model m --stall-timeout-ms 0", "stall-timeout-ms"),
        ("mount org/model m --event-loops 0", "event-loops"),
        ("unmount", "--all"),
        ("mount not a repo", "--each"),
        ("mount http://elsewhere.test/org/model m", "not one of the Hub"),
        ("mount org/model@v1 m --revision main", "two revisions"),
        ("ls org", "org"),
    ] {
        let said = world.say(words);
        let expected = if words == "ls org" { 3 } else { 2 };
        assert_eq!(said.code, expected, "{words}: {said:#?}");
        assert!(said.err.contains(hint), "{words}: {}", said.err);
        assert!(said.out.is_empty());
    }
}

#[test]
fn what_is_wrong_is_called_what_it_is() {
    let world = World::new();
    let absent = world.path("absent").display().to_string();
    std::fs::write(world.path("empty"), "two words").unwrap();
    let empty = world.path("empty").display().to_string();
    for (words, sentence) in [
        (
            vec!["mount", "org/model", "m", "--token-file", &absent],
            "absent: the token file cannot be read: No such file",
        ),
        (vec!["mount", "org/model", "m", "--token-file", &empty], "empty: this is no token"),
        (vec!["ls", "org/model", "--token-file", &absent], "absent: the token file cannot be read: No such file"),
        (vec!["ls", "org/model", "--endpoint", "ftp://x"], "endpoint: this is no address of a Hub"),
        (vec!["mount", "org/model", "m", "--endpoint", "ftp://x"], "endpoint: this is no address of a Hub"),
    ] {
        let said = world.run(words.clone());
        assert_eq!(said.code, 2, "{words:?}: {said:#?}");
        assert!(said.sentence().contains(sentence), "{words:?}: {}", said.err);
        assert!(!said.err.contains("not a repo"), "{words:?}: {}", said.err);
    }
    world.say("mount org/model m").ok();
    let file = std::fs::File::open(world.path("m/config.json")).unwrap();
    let busy = world.say("engine stop");
    assert!(busy.err.contains("1 file is open"), "{}", busy.err);
    drop(file);
}

#[test]
fn a_proxy_is_taken_from_the_environment_and_no_proxy_names_hosts_that_need_none() {
    let world = World::new();
    // Nobody listens there: bound, and closed again.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for (variable, spared, is_reached) in [
        ("http_proxy", "", false),
        ("HTTP_PROXY", "", false),
        ("all_proxy", "", false),
        ("WEIGHTLESS_PROXY", "", false),
        ("http_proxy", "127.0.0.1", true),
        ("http_proxy", "127.0.0.0/8", true),
        ("WEIGHTLESS_PROXY", "elsewhere.test,127.0.0.1", true),
        ("http_proxy", "elsewhere.test", false),
        ("https_proxy", "", true),
    ] {
        let mut command = world.command(["ls", "org/model"]);
        let said = common::said(command.env(variable, &proxy).env("NO_PROXY", spared));
        assert_eq!(said.code == 0, is_reached, "{variable}, but {spared:?}: {said:#?}");
        assert!(is_reached || said.err.contains("the Hub cannot be reached"), "{variable}: {}", said.err);
    }
}

#[test]
fn commands_without_the_engine_take_the_way_of_the_settings() {
    let world = World::new();
    world.say("config set endpoint http://127.0.0.1:9").ok();
    world.say("ls org/model").ok();
    let mut command = world.command(["ls", "org/model"]);
    let said = common::said(command.env_remove("HF_ENDPOINT"));
    assert!(said.err.contains("the Hub cannot be reached"), "the shell's Hub comes first, then this: {said:#?}");
    world.say("config unset endpoint").ok();
    world.say("config set proxy http://127.0.0.1:9").ok();
    for words in ["ls org/model", "search model", "info org/model", "log org/model"] {
        assert!(world.say(words).err.contains("the Hub cannot be reached"), "{words}");
    }
}

#[test]
fn a_runtime_folder_that_is_too_long_for_sockets_is_said_to_be() {
    let world = World::new();
    let long = world.path(&"x".repeat(100));
    std::fs::create_dir(&long).unwrap();
    let said = common::said(world.command(["status"]).env("XDG_RUNTIME_DIR", &long));
    assert_eq!(said.code, 1, "{said:#?}");
    assert!(said.err.contains("too long for control sockets") && said.err.contains("at most"), "{}", said.err);
}

#[test]
fn help_shows_every_verb_and_examples() {
    let world = World::new();
    let help = world.say("--help").ok().out;
    for part in ["mount", "unmount", "status", "search", "ls", "config", "doctor", "Examples:", "Exit codes:"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    assert_eq!(help.contains("demo"), cfg!(feature = "demo"));
    assert!(world.say("--version").ok().out.starts_with("weightless "));
}

#[test]
fn nothing_mounted_is_said_and_is_no_error() {
    let world = World::new();
    assert_eq!(world.say("status").ok().out, "");
    assert_eq!(world.say("status --json").ok().json()["mounts"], serde_json::json!([]));
    world.say("unmount --all").ok();
    let said = world.say("unmount org/model --json");
    assert_eq!(said.code, 3);
    assert_eq!(said.json()["error"]["code"], "not_mounted");
}

#[test]
fn ls_lists_folders_files_and_everything_below() {
    let world = World::new();
    let names = |words: &str| -> Vec<String> {
        let listed = world.say(words).ok().json();
        listed.as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
    };
    let mut root = names("ls org/model --json");
    root.sort();
    assert_eq!(root, ["config.json", "model.safetensors", "new.txt", "onnx"]);
    assert_eq!(names("ls org/model/onnx --json"), ["onnx/model.onnx"]);
    assert_eq!(names("ls org/model/onnx/model.onnx --json"), ["onnx/model.onnx"]);
    assert!(names("ls org/model@v1 --json --recursive").contains(&"onnx/model.onnx".to_owned()));
    assert!(!names("ls org/model --revision v1 --json").contains(&"new.txt".to_owned()));

    let text = world.say("ls org/model").ok().out;
    assert!(text.contains("3.15 MB  model.safetensors\n") && text.contains("  onnx/\n"), "{text}");
    assert_eq!(world.say("ls org/model/absent").code, 3);
    assert_eq!(world.say("ls org/absent").code, 3);
}

#[test]
fn info_tells_commit_size_and_files() {
    let world = World::new();
    let info = world.say("info org/model --json").ok().json();
    assert_eq!(info["files"], 4);
    assert_eq!(info["commit"].as_str().unwrap().len(), 40);
    assert_eq!(info["tags"], serde_json::json!(["v1"]));
    assert!(world.say("info org/model").ok().out.contains("in 4 files"));
}
