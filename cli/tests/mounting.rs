//! The life of mounts as a user of the command sees it: real binary, real kernel mounts, a Hub on loopback.

mod common;

use common::{MODEL_BYTES, Staying, Watch, World, send};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

#[test]
fn mount_prints_the_absolute_path_and_the_files_are_there() {
    let world = World::new();
    let said = world.say("mount org/model m").ok();
    assert_eq!(said.out, format!("{}\n", world.path("m").display()));
    assert!(said.err.contains("org/model@main"), "{}", said.err);

    let model = fs::read(world.path("m/model.safetensors")).unwrap();
    assert_eq!(model.len() as u64, MODEL_BYTES);
    assert_eq!(fs::read_to_string(world.path("m/new.txt")).unwrap(), "later\n");

    let mounts = world.status();
    assert_eq!(mounts.len(), 1);
    assert_eq!(mounts[0]["repo"], "org/model");
    assert_eq!(mounts[0]["revision"], "main");
    assert_eq!(mounts[0]["state"], "ready");
    assert_eq!(mounts[0]["dir"], world.path("m").to_str().unwrap());
    assert_eq!(mounts[0]["commit"].as_str().unwrap().len(), 40);
    assert!(mounts[0]["bytes_delivered"].as_u64().unwrap() >= MODEL_BYTES);

    world.say("unmount m").ok();
    assert!(world.mounted().is_empty());
    assert!(!world.path("m").exists(), "a folder that was made is taken away");
    assert!(world.status().is_empty());
}

#[test]
fn without_a_folder_a_mount_has_its_place_in_the_home() {
    let world = World::new();
    for (repo, place) in [
        ("org/model", "Weightless/org/model"),
        ("org/model@v1", "Weightless/org/model@v1"),
        ("datasets/org/data", "Weightless/datasets/org/data"),
    ] {
        assert_eq!(world.run(["mount", repo]).ok().out.trim_end(), world.path(place).to_str().unwrap());
    }
    assert!(!world.path("Weightless/org/model@v1/new.txt").exists());
    assert_eq!(world.status().len(), 3);
    world.say("unmount org/model@v1").ok();
    world.say("unmount datasets/org/data").ok();
    let left: Vec<_> = world.status();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["revision"], "main");
    world.say("unmount --all").ok();
    assert!(!world.path("Weightless").exists());
}

#[test]
fn a_subfolder_and_a_revision_are_what_is_shown() {
    let world = World::new();
    world.say("mount org/model m --revision v1 --subfolder onnx").ok();
    let names: Vec<_> = fs::read_dir(world.path("m")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["model.onnx"]);
    assert_eq!(world.status()[0]["subfolder"], "onnx");
}

#[test]
fn the_same_mount_again_is_no_error_and_another_there_is() {
    let world = World::new();
    let first = world.say("mount org/model m").ok();
    let again = world.say("mount org/model m").ok();
    assert_eq!(again.out, first.out);
    assert_eq!(world.mounted().len(), 1);
    let other = world.say("mount datasets/org/data m");
    assert_eq!(other.code, 6, "{other:?}");
    assert!(other.err.contains("in use") && other.err.contains("org/model@main"), "{}", other.err);
}

#[test]
fn a_folder_with_files_is_not_covered() {
    let world = World::new();
    fs::create_dir(world.path("m")).unwrap();
    fs::write(world.path("m/mine"), "x").unwrap();
    assert_eq!(world.say("mount org/model m").code, 6);
    assert!(world.mounted().is_empty());
    assert!(world.path("m/mine").exists());
}

#[test]
fn each_reason_has_its_sentence_and_leaves_nothing_mounted() {
    let world = World::new();
    let reader = world.token_file(world.hub.reader_token());
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("--endpoint=http://{}", listener.local_addr().unwrap())
    };
    let bad = world.path("bad-token").to_str().unwrap().to_owned();
    fs::write(&bad, "hf_secretsecretsecret").unwrap();
    let mut sentences = HashSet::new();
    for (words, code, exit) in [
        (vec!["mount", "org/absent", "m"], "repo_not_found", 3),
        (vec!["mount", "org/private", "m", "--token-file", &reader], "repo_not_found", 3),
        (vec!["mount", "org/gated", "m", "--token-file", &reader], "gated", 4),
        (vec!["mount", "org/model@absent", "m"], "revision_not_found", 3),
        (vec!["mount", "org/model", "m", "--token-file", &bad], "token_rejected", 4),
        (vec!["mount", "org/model", "m", &closed], "offline", 5),
    ] {
        let said = world.run(words.iter().copied().chain(["--json"]));
        assert_eq!(said.code, exit, "{words:?} {said:#?}");
        assert_eq!(said.json()["error"]["code"], code, "{words:?}");
        assert!(said.sentence().starts_with("weightless: "), "{}", said.err);
        assert!(!said.err.contains("secret") && !said.out.contains("secret"));
        sentences.insert(said.sentence().split(": ").last().unwrap().to_owned());
        assert!(world.mounted().is_empty());
        assert!(!world.path("m").exists());

        let foreground = world.run(words.into_iter().chain(["--foreground"]));
        assert_eq!(foreground.code, exit, "{foreground:#?}");
        assert_eq!(foreground.sentence(), said.sentence());
        assert!(world.mounted().is_empty());
    }
    assert_eq!(sentences.len(), 5, "{sentences:#?}");
    assert!(world.status().is_empty());
}

#[test]
fn no_token_is_in_arguments_or_logs() {
    let world = World::new();
    let token = world.hub.owner_token();
    let file = world.token_file(token);
    world.run(["mount", "org/private", "m", "--token-file", &file]).ok();
    fs::read(world.path("m/model.safetensors")).unwrap();
    let pid = world.status()[0]["pid"].as_u64().unwrap();
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let logs = fs::read_dir(world.path(".local/state/weightless/log")).unwrap();
    let logs: Vec<u8> = logs.flat_map(|log| fs::read(log.unwrap().path()).unwrap()).collect();
    assert!(!logs.is_empty());
    for place in [arguments, environment, logs] {
        assert!(!place.windows(token.len()).any(|window| window == token.as_bytes()));
    }
}

#[test]
fn a_killed_process_leaves_a_dead_mount_that_the_next_one_clears_and_says_so() {
    let world = World::new();
    world.say("mount org/model m").ok();
    world.say("mount datasets/org/data d").ok();
    for mount in world.status() {
        let socket = world.path(&format!("run/weightless/{}.sock", mount["pid"]));
        let watch = Watch::on(&socket);
        send(mount["pid"].as_u64().unwrap(), "KILL");
        watch.until_gone();
    }
    let dead = world.status();
    assert!(dead.len() == 2 && dead.iter().all(|mount| mount["state"] == "dead"), "{dead:?}");
    assert!(world.left("sock").is_empty(), "sockets that nobody listens on are removed");

    let said = world.say("mount org/model m").ok();
    for name in ["m", "d"] {
        let sentence = format!("cleared a dead mount at {}", world.path(name).display());
        assert!(said.err.contains(&sentence), "{}", said.err);
    }
    assert_eq!(world.mounted(), [world.path("m")]);
    assert_eq!(fs::read_to_string(world.path("m/new.txt")).unwrap(), "later\n");
}

#[test]
fn unmount_names_who_holds_a_busy_mount_and_lazily_lets_them_finish() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let mut file = File::open(world.path("m/model.safetensors")).unwrap();

    let busy = world.say("unmount m --json");
    assert_eq!(busy.code, 6, "{busy:#?}");
    let holders = busy.json()["error"]["holders"].clone();
    assert_eq!(holders[0]["pid"], std::process::id(), "{holders}");
    assert!(busy.err.contains("model.safetensors"), "{}", busy.err);
    assert_eq!(world.status()[0]["state"], "ready");

    let watch = Watch::on(&world.path(&format!("run/weightless/{}.sock", world.status()[0]["pid"])));
    world.say("unmount m --lazy").ok();
    assert!(world.mounted().is_empty());
    let mut content = Vec::new();
    file.read_to_end(&mut content).unwrap();
    assert_eq!(content.len() as u64, MODEL_BYTES);
    drop(file);
    watch.until_gone();
    assert!(world.status().is_empty());
}

#[test]
fn a_stopped_process_is_shown_as_silent_and_its_folder_can_be_taken_away() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let pid = world.status()[0]["pid"].as_u64().unwrap();
    let watch = Watch::on(&world.path(&format!("run/weightless/{pid}.sock")));
    send(pid, "STOP");
    let silent = world.status();
    assert_eq!((&silent[0]["state"], &silent[0]["pid"]), (&"silent".into(), &pid.into()));
    let refused = world.say("unmount m");
    assert!(refused.code == 1 && refused.err.contains("--lazy"), "{refused:#?}");
    world.say("unmount m --lazy").ok();
    assert!(world.mounted().is_empty());
    send(pid, "CONT");
    watch.until_gone();
}

#[test]
fn a_start_that_nobody_waits_for_is_undone() {
    let world = World::new();
    let dir = world.path("m");
    let mut command = world.command(["host", "org/model", dir.to_str().unwrap()]);
    let mut host = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(host.stdout.take());
    let mut log = String::new();
    host.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(host.wait().unwrap().code(), Some(1), "{log}");
    assert!(log.contains("nobody waits for this mount"), "{log}");
    assert!(world.mounted().is_empty() && !dir.exists() && world.left("json").is_empty());
}

#[test]
fn mounts_side_by_side_are_each_listed_with_their_process() {
    let world = World::new();
    let names = ["a", "b", "c", "d"];
    for name in names {
        world.run(["mount", "org/model", name]).ok();
    }
    let mounts = world.status();
    let dirs: HashSet<_> = mounts.iter().map(|mount| mount["dir"].as_str().unwrap().to_owned()).collect();
    let pids: HashSet<_> = mounts.iter().map(|mount| mount["pid"].as_u64().unwrap()).collect();
    assert_eq!(dirs, names.map(|name| world.path(name).to_str().unwrap().to_owned()).into());
    assert_eq!(pids.len(), names.len());
    let table = world.say("status").ok().out;
    assert_eq!(table.lines().filter(|line| line.contains("org/model@main")).count(), names.len(), "{table}");
    world.say("unmount org/model").ok();
    assert!(world.mounted().is_empty());
}

#[test]
fn signals_unmount() {
    let world = World::new();
    for signal in ["INT", "TERM", "HUP"] {
        let host = Staying::start(&mut world.command(["mount", "org/model", "m", "--foreground"]));
        assert_eq!(Path::new(&host.first_line), world.path("m"));
        assert!(world.path("m/config.json").exists());
        let (code, err) = host.end_by(signal);
        assert_eq!(code, Some(0), "{err}");
        assert!(world.mounted().is_empty() && !world.path("m").exists());
        assert!(world.left("sock").is_empty() && world.left("json").is_empty());
    }
    world.say("mount org/model m").ok();
    let pid = world.status()[0]["pid"].as_u64().unwrap();
    let watch = Watch::on(&world.path(&format!("run/weightless/{pid}.sock")));
    send(pid, "TERM");
    watch.until_gone();
    assert!(world.mounted().is_empty());
}

#[test]
fn a_signal_takes_a_busy_mount_away_and_names_who_held_it() {
    let world = World::new();
    let host = Staying::start(&mut world.command(["mount", "org/model", "m", "--foreground"]));
    let _file = File::open(world.path("m/config.json")).unwrap();
    let (code, err) = host.end_by("TERM");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(&format!("pid {}", std::process::id())), "{err}");
    assert!(world.mounted().is_empty());
}

#[test]
fn unmounting_from_outside_ends_the_process() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let watch = Watch::on(&world.path(&format!("run/weightless/{}.sock", world.status()[0]["pid"])));
    let status = std::process::Command::new("fusermount3").arg("-u").arg(world.path("m")).status().unwrap();
    assert!(status.success());
    watch.until_gone();
    assert!(world.status().is_empty());
}
