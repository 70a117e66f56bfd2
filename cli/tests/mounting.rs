//! The life of mounts as a user of the command sees it: real binary, real kernel mounts, a Hub on loopback.

mod common;

use common::{MODEL_BYTES, Staying, Watch, World, said, send};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use weightless_hub_sim::net::{Route, rate_limited, stall};

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

/// Every file of a folder that is not a mount point, with its content.
fn files_below(world: &World, folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mounted = world.mounted();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() && !mounted.contains(&path) {
            files_below(world, &path, found);
        } else if kind.is_file() {
            let content = fs::read(&path).unwrap();
            found.push((path, content));
        }
    }
}

#[test]
fn no_token_is_anywhere_but_in_memory_and_in_its_file() {
    let world = World::new();
    let token = world.hub.owner_token();
    let file = world.token_file(token);
    // One by the environment of the command that starts the engine, the other by a file.
    let mut command = world.command(["mount", "org/private", "n"]);
    said(command.env("HF_TOKEN", token)).ok();
    world.run(["mount", "org/private", "m", "--token-file", &file]).ok();
    for at in ["m/model.safetensors", "n/model.safetensors"] {
        fs::read(world.path(at)).unwrap();
    }
    world.say("config set read_ahead_mb 64").ok();
    let failed = world.run(["mount", "org/absent", "x", "--token-file", &file]);
    assert_ne!(failed.code, 0);
    let pid = world.engine_pid();
    let of_process = |name: &str| (PathBuf::from(name), fs::read(format!("/proc/{pid}/{name}")).unwrap());
    let mut places = vec![of_process("cmdline"), of_process("environ")];
    for words in ["engine diagnostics", "engine log", "status --json", "doctor", "config"] {
        let said = world.say(words);
        places.push((words.into(), [said.out, said.err].concat().into_bytes()));
    }
    places.push(("its record".into(), fs::read(world.path("run/weightless/engine.json")).unwrap()));
    let limits = String::from_utf8(of_process("limits").1).unwrap();
    // What it keeps of what was read is whole once it has ended, and so is its log.
    world.say("engine stop").ok();
    files_below(&world, &world.path(""), &mut places);
    for kept in ["engine.log", "settings.toml"] {
        assert!(places.iter().any(|(path, content)| path.ends_with(kept) && !content.is_empty()), "{kept}");
    }
    assert!(places.iter().any(|(path, _)| path.starts_with(world.path(".cache/weightless"))));
    for (path, content) in places.iter().filter(|(path, _)| *path != Path::new(&file)) {
        assert!(!content.windows(token.len()).any(|window| window == token.as_bytes()), "{}", path.display());
    }
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"], "a crash writes no memory");
}

#[test]
fn after_a_killed_engine_the_next_command_says_what_it_cleared_and_brings_the_mounts_back() {
    let world = World::new();
    world.say("mount org/model m").ok();
    world.say("mount datasets/org/data d").ok();
    world.kill_engine();
    assert_eq!(world.mounted().len(), 2, "dead mounts stay in the kernel's table");

    let said = world.say("mount org/model m").ok();
    for name in ["m", "d"] {
        let sentence = format!("found a dead mount at {}", world.path(name).display());
        assert!(said.err.contains(&sentence), "{}", said.err);
    }
    assert_eq!(said.out.trim_end(), world.path("m").to_str().unwrap());
    assert_eq!(fs::read_to_string(world.path("m/new.txt")).unwrap(), "later\n");
    world.until(|world| world.status().iter().all(|mount| mount["state"] == "ready"));
    assert_eq!(fs::read_to_string(world.path("d/train.csv")).unwrap(), "a,b\n1,2\n");
}

#[test]
fn a_mount_of_a_killed_engine_that_is_unmounted_leaves_no_folder_behind() {
    let world = World::new();
    fs::create_dir(world.path("mine")).unwrap();
    world.say("mount org/model deep/down").ok();
    world.say("mount datasets/org/data mine").ok();
    world.kill_engine();
    let silent = world.hub.network().script().on(Route::Revision).always().run([stall()]);
    world.say("unmount deep/down").ok();
    assert!(!world.path("deep").exists(), "{:?}", world.mounted());
    world.hub.network().script().clear();
    world.hub.network().release();
    world.until(|world| world.status().iter().all(|mount| mount["state"] == "ready"));
    assert_eq!(world.hub.network().script().fired(silent), 0);
    world.say("unmount mine").ok();
    assert!(world.path("mine").is_dir(), "a folder of the user's stays");

    let host = Staying::start(&mut world.command(["mount", "org/model", "other", "--foreground"]));
    let watch = Watch::on(&world.path(&format!("run/weightless/{}.sock", host.child.id())));
    send(host.child.id().into(), "KILL");
    watch.until_gone();
    world.say("unmount other --lazy").ok();
    assert!(!world.path("other").exists());
}

#[test]
fn a_restart_shows_nobody_an_empty_folder_in_the_place_of_a_repo() {
    let world = World::new();
    fs::create_dir(world.path("m")).unwrap();
    world.say("mount org/model m").ok();
    world.say("mount org/model made").ok();
    for end in ["restart", "death"] {
        world.hub.network().script().on(Route::Revision).always().run([stall()]);
        match end {
            "restart" => drop(world.say("engine restart").ok()),
            _ => world.kill_engine(),
        }
        assert!(world.status().iter().all(|mount| mount["state"] == "starting"), "{:#?}", world.status());
        for name in ["m", "made"] {
            assert!(fs::read_dir(world.path(name)).is_err(), "{end}: {name}");
        }
        world.hub.network().script().clear();
        world.hub.network().release();
        world.until(|world| world.status().iter().all(|mount| mount["state"] == "ready"));
        for name in ["m", "made"] {
            assert_eq!(fs::read_dir(world.path(name)).unwrap().count(), 4, "{end}: {name}");
        }
    }
    world.say("unmount --all").ok();
    assert!(world.path("m").is_dir() && !world.path("made").exists());
}

#[test]
fn an_engine_that_is_stuck_is_said_with_its_process_and_its_log_and_ends_by_force() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let pid = world.engine_pid();
    send(pid, "STOP");
    for words in ["engine stop", "engine restart", "mount datasets/org/data d"] {
        let said = world.say(words);
        assert_eq!(said.code, 1, "{words}: {said:#?}");
        for part in [&format!("process {pid}"), "engine.log", "--force"] {
            assert!(said.err.contains(part), "{words}: {part}: {}", said.err);
        }
    }
    world.say("engine restart --force").ok();
    assert_ne!(world.engine_pid(), pid);
    world.until(|world| world.status()[0]["state"] == "ready");
    assert!(fs::read(world.path("m/config.json")).is_ok());

    send(world.engine_pid(), "STOP");
    let said = world.say("engine stop --force").ok();
    assert!(said.err.contains("has ended"), "{}", said.err);
    assert!(world.mounted().is_empty() && !world.path("m").exists());
    assert!(world.left("json").is_empty() && world.left("sock").is_empty());
    assert!(world.status().is_empty());
}

#[test]
fn a_mount_that_nobody_waits_for_is_called_off() {
    let world = World::new();
    world.hub.network().script().on(Route::Revision).always().run([stall()]);
    for (words, signal) in [("mount org/model m", "INT"), ("mount org/model@v1", "TERM")] {
        let mut mount = world.command(words.split(' ')).stderr(Stdio::piped()).spawn().unwrap();
        world.until(|world| world.status().first().is_some_and(|mount| mount["state"] == "starting"));
        send(mount.id().into(), signal);
        let mut err = String::new();
        mount.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(mount.wait().unwrap().code(), Some(1), "{err}");
        assert!(err.contains("called off"), "{err}");
        assert!(world.status().is_empty());
    }
    assert!(world.mounted().is_empty() && !world.path("m").exists() && !world.path("Weightless").exists());
}

#[test]
fn a_hub_that_asks_to_slow_down_is_waited_for_and_a_long_wait_is_told_with_its_end() {
    let world = World::new();
    let script = world.hub.network().script();
    script.on(Route::Revision).run([rate_limited(1)]);
    let said = world.say("mount org/model m").ok();
    assert!(said.err.contains("rate limited until "), "{}", said.err);
    script.on(Route::Revision).run([rate_limited(1)]);
    let said = world.say("info org/model").ok();
    assert!(said.err.contains("rate limited until ") && said.err.contains("; waiting"), "{}", said.err);

    script.clear();
    let limit = script.on(Route::Revision).always().run([rate_limited(600)]);
    for words in ["mount org/model n", "ls org/model"] {
        let said = world.say(words);
        assert_eq!(said.code, 5, "{said:#?}");
        let (_, time) = said.sentence().split_once("rate limited until ").unwrap();
        assert!(time.len() == 5 && time.as_bytes()[2] == b':', "{said:#?}");
    }
    // What the engine was told once it asks no more.
    let asked = script.fired(limit);
    assert_eq!(world.say("mount org/model n").code, 5);
    assert_eq!(script.fired(limit), asked);
}

#[test]
fn a_command_that_is_started_in_a_mount_is_not_what_keeps_it_busy() {
    let world = World::new();
    world.say("mount org/model m").ok();
    said(world.command(["unmount", "."]).current_dir(world.path("m"))).ok();
    assert!(world.mounted().is_empty());
}

#[test]
fn names_that_could_drive_a_terminal_are_shown_without_that_and_given_to_programs_as_they_are() {
    let world = World::new();
    let name = "m\x1b[31m\u{9b}1m";
    let said = world.run(["mount", "org/model", name]).ok();
    assert_eq!(said.out.trim_end(), world.path(name).to_str().unwrap(), "a script gets the path");
    let has_control = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    let busy = {
        let _file = File::open(world.path(name).join("config.json")).unwrap();
        world.run(["unmount", name])
    };
    let status = world.say("status").ok();
    let absent = world.run(["ls", "org/model/\x1b[31m"]);
    let repo = world.run(["mount", "org/\x1b[31m"]);
    for said in [&busy, &status, &absent, &repo] {
        assert!(!has_control(&said.out) && !has_control(&said.err), "{said:?}");
    }
    assert_eq!(world.status()[0]["dir"], world.path(name).to_str().unwrap());
    let gone = world.run(["unmount", name]).ok();
    assert!(gone.err.contains("m?[31m?1m") && !has_control(&gone.err), "{gone:?}");
}

#[test]
fn a_killed_terminal_leaves_a_dead_mount_that_is_listed_and_cleared() {
    let world = World::new();
    let host = Staying::start(&mut world.command(["mount", "org/model", "m", "--foreground"]));
    let socket = world.path(&format!("run/weightless/{}.sock", host.child.id()));
    let watch = Watch::on(&socket);
    send(host.child.id().into(), "KILL");
    watch.until_gone();
    let dead = world.status();
    assert!(dead.len() == 1 && dead[0]["state"] == "dead", "{dead:?}");
    assert!(!socket.exists(), "a socket that nobody listens on is removed");
    let said = world.say("mount org/model m").ok();
    assert!(said.err.contains("cleared a dead mount at"), "{}", said.err);
    assert_eq!(world.mounted(), [world.path("m")]);
    world.say("unmount m").ok();
    assert!(world.status().is_empty());
    assert_eq!(world.left("json").len(), 1, "only the engine's own record is left");
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

    world.say("unmount m --lazy").ok();
    assert!(world.mounted().is_empty());
    assert_eq!(world.status()[0]["state"], "stopping");
    let mut content = Vec::new();
    file.read_to_end(&mut content).unwrap();
    assert_eq!(content.len() as u64, MODEL_BYTES);
    drop(file);
    world.until(|world| world.status().is_empty());
}

#[test]
fn unmount_by_force_ends_what_reads() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let mut file = File::open(world.path("m/model.safetensors")).unwrap();
    world.say("unmount m --force").ok();
    assert!(world.mounted().is_empty());
    assert!(file.read_to_end(&mut Vec::new()).is_err());
    drop(file);
    world.until(|world| world.status().is_empty());
}

#[test]
fn a_stopped_process_is_shown_as_silent_and_its_folder_can_be_taken_away() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let pid = world.engine_pid();
    send(pid, "STOP");
    let silent = world.status();
    assert_eq!((&silent[0]["state"], &silent[0]["pid"]), (&"silent".into(), &pid.into()));
    let refused = world.say("unmount m");
    assert!(refused.code == 1 && refused.err.contains("--lazy"), "{refused:#?}");
    world.say("unmount m --lazy").ok();
    assert!(world.mounted().is_empty());
    send(pid, "CONT");
    world.until(|world| world.status().is_empty());
}

#[test]
fn the_token_of_one_shell_is_no_other_shells() {
    let world = World::new();
    let mut first = world.command(["mount", "org/private", "m"]);
    said(first.env("HF_TOKEN", world.hub.owner_token())).ok();
    let second = world.say("mount org/private n");
    assert_eq!(second.code, 3, "{second:#?}");
}

#[test]
fn an_engine_that_nobody_waits_for_ends() {
    let world = World::new();
    let mut command = world.command(["engine", "--background"]);
    let mut engine = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(engine.stdout.take());
    let mut log = String::new();
    engine.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(engine.wait().unwrap().code(), Some(1), "{log}");
    assert!(log.contains("nobody waits for this engine"), "{log}");
    assert!(!world.socket().exists());
}

#[test]
fn mounts_side_by_side_are_each_listed_and_share_an_engine() {
    let world = World::new();
    let names = ["a", "b", "c", "d"];
    // At the same time: one of them starts the engine.
    let started: Vec<_> = names
        .iter()
        .map(|name| world.command(["mount", "org/model", name]).stdout(Stdio::null()).spawn().unwrap())
        .collect();
    for mut mount in started {
        assert!(mount.wait().unwrap().success());
    }
    let mounts = world.status();
    let dirs: HashSet<_> = mounts.iter().map(|mount| mount["dir"].as_str().unwrap().to_owned()).collect();
    let pids: HashSet<_> = mounts.iter().map(|mount| mount["pid"].as_u64().unwrap()).collect();
    assert_eq!(dirs, names.map(|name| world.path(name).to_str().unwrap().to_owned()).into());
    assert_eq!(pids, HashSet::from([world.engine_pid()]));
    let table = world.say("status").ok().out;
    assert_eq!(table.lines().filter(|line| line.contains("org/model@main")).count(), names.len(), "{table}");
    world.say("unmount org/model").ok();
    assert!(world.mounted().is_empty());
}

#[test]
fn several_repos_are_mounted_at_once_and_one_that_fails_stops_no_other() {
    let world = World::new();
    let said = world.say("mount --each org/model org/absent datasets/org/data");
    assert_eq!(said.code, 3, "{said:#?}");
    assert!(said.err.contains("org/absent"), "{}", said.err);
    let expected =
        ["Weightless/org/model", "Weightless/datasets/org/data"].map(|at| world.path(at).display().to_string());
    assert_eq!(said.out.lines().collect::<Vec<_>>(), expected);
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
    let watch = Watch::on(&world.socket());
    send(world.engine_pid(), "TERM");
    watch.until_gone();
    assert!(world.mounted().is_empty() && world.left("json").is_empty() && world.left("sock").is_empty());
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
fn a_mount_that_somebody_else_unmounts_is_not_listed_any_more() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let status = std::process::Command::new("fusermount3").arg("-u").arg(world.path("m")).status().unwrap();
    assert!(status.success());
    world.until(|world| world.status().is_empty());
}
