//! The engine as its clients meet it: what it promises to several of them, to careless ones, to hostile ones, and after its own
//! death. Real processes, a real socket, real mounts.

mod common;

use common::{MODEL_BYTES, Watch, World, said};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use weightless_control::message::RpcError;
use weightless_control::settings::{GetSettings, SetSettings};
use weightless_control::stats::GetStats;
use weightless_control::upkeep::{Doctor, HopState, Pause};
use weightless_control::{
    AddMount, ClientError, Event, MESSAGE_BYTES_MAX, MountState, Reply, SetMount, Status, Subscribe, Unmount,
    UnmountManner,
};
use weightless_hub_sim::net::{Route, serve_rest};
use weightless_hub_sim::{Content, RepoKind};

#[test]
fn two_clients_see_the_same_and_one_sees_what_the_other_does() {
    let world = World::new();
    world.say("engine stop").ok();
    world.say("mount org/model m").ok();
    let mut script = world.client();
    script.call(&Subscribe { stats_ms: None }).unwrap();
    let mounts = script.call(&Status {}).unwrap().mounts;
    assert_eq!(serde_json::to_value(&mounts).unwrap(), serde_json::to_value(world.status()).unwrap());

    world.say("mount datasets/org/data d").ok();
    world.say("unmount m").ok();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        match script.next_event().unwrap().event {
            Event::Mount { mount } => seen.push((mount.repo, Some(mount.state))),
            Event::MountGone { dir } => seen.push((dir.rsplit('/').next().unwrap().to_owned(), None)),
            _ => {}
        }
    }
    let data = "datasets/org/data".to_owned();
    assert_eq!(
        seen,
        [(data.clone(), Some(MountState::Starting)), (data, Some(MountState::Ready)), ("m".to_owned(), None)]
    );
}

#[test]
fn an_engine_without_mounts_and_clients_ends_and_the_next_command_starts_one() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let first = world.engine_pid();
    world.say("unmount m").ok();
    Watch::on(&world.socket()).until_gone();
    assert!(world.left("json").is_empty() && world.left("sock").is_empty());
    world.say("mount org/model m").ok();
    assert_ne!(world.engine_pid(), first);
}

#[test]
fn a_client_that_is_killed_in_the_middle_loses_nothing() {
    let world = World::new();
    let mut client = UnixStream::connect({
        world.say("mount datasets/org/data d").ok();
        world.socket()
    })
    .unwrap();
    let hello =
        r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"client":"t","protocol_oldest":1,"protocol_newest":1}}"#;
    let dir = world.path("m");
    let mount = serde_json::json!({
        "jsonrpc": "2.0", "id": 2, "method": "mounts.add",
        "params": { "repo": "org/model", "dir": dir, "endpoint": world.hub.endpoint() },
    });
    writeln!(client, "{hello}\n{mount}").unwrap();
    drop(client);
    world.until(|world| world.mounted().len() == 2);
    assert!(fs::read(world.path("m/config.json")).is_ok());
}

#[test]
fn after_the_death_of_the_engine_reads_fail_and_do_not_hang() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let mut file = File::open(world.path("m/model.safetensors")).unwrap();
    // A page that is touched only after the death: nothing of it is in memory.
    let mut mapper = Command::new("/usr/bin/python3")
        .args(["-c", MAPPER, world.path("m/model.safetensors").to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 6];
    mapper.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    world.kill_engine();
    let error = file.read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotConnected, "{error}");
    mapper.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(mapper.wait().unwrap().signal(), Some(7), "a mapping gives SIGBUS");
    drop(file);
    assert_eq!(world.status()[0]["dir"], world.path("m").to_str().unwrap());
    world.until(|world| world.status()[0]["state"] == "ready");
    assert_eq!(fs::read(world.path("m/model.safetensors")).unwrap().len() as u64, MODEL_BYTES);
}

const MAPPER: &str = "
import mmap, sys
with open(sys.argv[1], 'rb') as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
print('ready', flush=True)
sys.stdin.readline()
m[2 << 20]
";

#[test]
fn an_engine_that_dies_again_and_again_lists_its_mounts_and_touches_none() {
    let world = World::new();
    world.say("mount org/model m").ok();
    for _ in 0..3 {
        world.kill_engine();
        world.say("status").ok();
    }
    let mounts = world.status();
    assert_eq!(mounts[0]["state"], "failed", "{mounts:#?}");
    assert!(mounts[0]["fault"]["sentence"].as_str().unwrap().contains("three times"));
    // Asked for, it mounts.
    world.say("mount org/model m").ok();
    assert_eq!(world.status()[0]["state"], "ready");
}

#[test]
fn what_is_wanted_at_login_is_mounted_by_the_next_engine() {
    let world = World::new();
    world.say("mount org/model m --at-login").ok();
    world.say("mount datasets/org/data d").ok();
    world.say("engine stop").ok();
    assert!(world.mounted().is_empty());
    world.say("config").ok();
    world.until(|world| world.mounted().len() == 1);
    assert_eq!(world.mounted(), [world.path("m")]);
    world.say("unmount m").ok();
    world.say("engine stop").ok();
    world.say("config").ok();
    assert!(world.status().is_empty(), "unmounting forgets that it was wanted");
}

#[test]
fn a_restart_keeps_the_mounts_and_is_refused_while_files_are_open() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let first = world.engine_pid();
    let file = File::open(world.path("m/config.json")).unwrap();
    let refused = world.say("engine restart");
    assert_eq!(refused.code, 6, "{refused:#?}");
    drop(file);
    world.until(|world| world.status()[0]["open_files"] == 0);
    world.say("engine restart").ok();
    assert_ne!(world.engine_pid(), first);
    world.until(|world| world.status()[0]["state"] == "ready");
    assert!(fs::read(world.path("m/config.json")).is_ok());
}

#[test]
fn another_user_cannot_connect() {
    let world = World::new();
    world.say("mount org/model m").ok();
    assert_eq!(fs::metadata(world.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(world.path("run/weightless")).unwrap().permissions().mode() & 0o777, 0o700);
    if !nix_is_root() {
        return;
    }
    // Even where the folders let everybody through.
    for dir in ["", "run", "run/weightless"] {
        fs::set_permissions(world.path(dir), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    let connect = |as_nobody: bool| {
        let mut command = Command::new("setpriv");
        if as_nobody {
            command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
        }
        said(command.args(["/usr/bin/python3", "-c", script]).arg(world.socket()))
    };
    assert_eq!(connect(false).code, 0, "{:#?}", connect(false));
    assert!(connect(true).err.contains("PermissionError"), "{:#?}", connect(true));
    fs::set_permissions(world.path("run/weightless"), fs::Permissions::from_mode(0o700)).unwrap();
}

fn nix_is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0
}

#[test]
fn what_cannot_be_read_gets_an_error_and_a_closed_connection() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let huge = vec![b'x'; MESSAGE_BYTES_MAX + 2];
    for message in [
        &b"hello\n"[..],
        b"\x00\xff\xfe\x80\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"client\":\"x\",\"protocol_oldest\":9,\"protocol_newest\":9}}\n",
        &huge,
    ] {
        let mut stream = UnixStream::connect(world.socket()).unwrap();
        // The engine may answer and close before it has taken all of a huge message.
        let _ = stream.write_all(message);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let reply = Reply::parse(answer.strip_suffix(b"\n").unwrap_or(&answer));
        // Closing with bytes unread resets the connection, which may take the reply along.
        if message.len() <= MESSAGE_BYTES_MAX {
            assert!(reply.unwrap().outcome.unwrap_err().is_fatal());
        }
    }
    let mut half = UnixStream::connect(world.socket()).unwrap();
    half.write_all(b"{\"jsonrpc\":").unwrap();
    half.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(half.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(world.client().call(&Status {}).unwrap().mounts.len(), 1);
}

#[test]
fn ten_thousand_random_messages_leave_the_engine_whole() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let methods = ["status", "mounts.remove", "settings.get", "stats", "mounts.set", "pause", "nothing", "subscribe"];
    let mut stream = None;
    for _ in 0..10_000 {
        let mut message = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"{}","params":{{"dir":"/absent","paused":false}}}}"#,
            next(9),
            methods[next(methods.len())]
        )
        .into_bytes();
        for _ in 0..next(3) {
            let at = next(message.len());
            message[at] = next(256) as u8;
        }
        message.push(b'\n');
        let to = stream.get_or_insert_with(|| greeted(&world));
        if to.write_all(&message).is_err() || next(50) == 0 {
            stream = None;
        }
        if let Some(stream) = &mut stream {
            // Takes what was answered so far, so that the engine goes on.
            let mut answers = [0; 64 << 10];
            stream.set_nonblocking(true).unwrap();
            let _ = stream.read(&mut answers);
            stream.set_nonblocking(false).unwrap();
        }
    }
    let status = world.client().call(&Status {}).unwrap();
    assert_eq!(status.mounts.len(), 1);
    assert!(fs::read(world.path("m/config.json")).is_ok());
}

fn greeted(world: &World) -> UnixStream {
    let mut stream = UnixStream::connect(world.socket()).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let hello =
        r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"client":"t","protocol_oldest":1,"protocol_newest":1}}"#;
    writeln!(stream, "{hello}").unwrap();
    stream
}

#[test]
fn an_unknown_method_or_wrong_parameters_do_not_end_the_connection() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let mut client = world.client();
    let wrong =
        client.call(&SetMount { dir: world.path("m").display().to_string(), weight: Some(0), ..SetMount::default() });
    assert!(matches!(wrong, Err(ClientError::Refused(RpcError { code: RpcError::FAULT, .. }))), "{wrong:?}");
    assert!(client.call(&Status {}).is_ok());
    let absent = Unmount { dir: "/absent".into(), manner: UnmountManner::Refuse };
    assert_eq!(client.call(&absent).unwrap_err().into_fault().code, "not_mounted");
    let relative = AddMount { repo: "org/model".into(), dir: Some("m".into()), ..AddMount::default() };
    assert_eq!(client.call(&relative).unwrap_err().into_fault().code, "mount_point_invalid");
}

#[test]
fn fifty_listeners_of_which_one_sleeps_hold_up_nobody() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let mut sleeping = world.client();
    sleeping.call(&Subscribe { stats_ms: Some(100) }).unwrap();
    let listeners: Vec<_> = (0..49)
        .map(|_| {
            let mut client = world.client();
            client.call(&Subscribe { stats_ms: Some(100) }).unwrap();
            client
        })
        .collect();
    // More events than a listener is kept for, none of which the sleeping one takes.
    let mut busy = world.client();
    for round in 0..600 {
        busy.call(&Pause { paused: round % 2 == 0 }).unwrap();
    }
    assert_eq!(fs::read(world.path("m/model.safetensors")).unwrap().len() as u64, MODEL_BYTES);
    let mut lost = 0;
    let mut listeners = listeners;
    for client in &mut listeners {
        client.set_limit(Duration::from_secs(20));
        lost += client.next_event().unwrap().lost;
    }
    // Whoever slept gets what there is and is told how much is missing.
    sleeping.set_limit(Duration::from_secs(20));
    let mut pauses = 0;
    while pauses + lost < 600 {
        let message = sleeping.next_event().unwrap();
        lost += message.lost;
        pauses += u64::from(matches!(message.event, Event::Paused { .. }));
    }
}

#[test]
fn settings_change_at_once_and_are_refused_whole() {
    let world = World::new();
    world.say("mount org/model m").ok();
    world.say("config set read_ahead_mb 64 stall_timeout_ms 5000").ok();
    assert_eq!(world.client().call(&Status {}).unwrap().engine.budget_bytes, 64 << 20);
    assert_eq!(world.say("config get read_ahead_mb").ok().out, "64\n");

    let refused = world.say("config set read_ahead_mb 1 event_loops 0 no_such 3");
    assert_eq!(refused.code, 2, "{refused:#?}");
    for name in ["read_ahead_mb", "event_loops", "no_such"] {
        assert!(refused.err.contains(name), "{}", refused.err);
    }
    let reply = world.client().call(&GetSettings {}).unwrap();
    assert_eq!((reply.settings.read_ahead_mb, reply.settings.event_loops), (Some(64), None));

    // By hand, with a comment that stays.
    let path = world.say("config path").ok().out;
    let text = fs::read_to_string(path.trim_end()).unwrap();
    fs::write(path.trim_end(), format!("# mine\n{}", text.replace("64", "128"))).unwrap();
    world.until(|world| world.client().call(&Status {}).unwrap().engine.budget_bytes == 128 << 20);
    world.say("config unset read_ahead_mb").ok();
    assert!(fs::read_to_string(path.trim_end()).unwrap().starts_with("# mine\n"));

    let mut changes = serde_json::Map::new();
    changes.insert("log_level".into(), "debug".into());
    world.client().call(&SetSettings { changes }).unwrap();
}

#[test]
fn a_paused_mount_fails_reads_at_once_and_goes_on_later() {
    let world = World::new();
    world.say("mount org/model m").ok();
    world.say("pause m").ok();
    assert_eq!(world.status()[0]["is_paused"], true);
    assert!(world.say("status").ok().out.contains("paused"));
    assert!(fs::read(world.path("m/model.safetensors")).is_err());
    assert_eq!(fs::read_dir(world.path("m")).unwrap().count(), 4);
    world.say("resume m").ok();
    assert_eq!(fs::read(world.path("m/model.safetensors")).unwrap().len() as u64, MODEL_BYTES);
}

#[test]
fn a_newer_commit_of_a_branch_is_told_while_the_mount_is_used_and_nobody_is_asked_while_it_is_not() {
    let world = World::new();
    let script = world.hub.network().script();
    let asked = |part: &str| script.on(Route::Revision).path(part).always().run([serve_rest()]);
    let (of_main, of_idle) = (asked("org/model/revision/main"), asked("org/data"));
    world.say("config set refresh_s 1").ok();
    world.say("mount org/model m").ok();
    world.say("mount org/model@v1 tag").ok();
    world.say("mount datasets/org/data idle").ok();
    let shown = world.status()[0]["commit"].as_str().unwrap().to_owned();
    let of_fixed = asked(&shown);
    world.say(&format!("mount org/model@{shown} fixed")).ok();
    let _files = ["tag", "fixed"].map(|at| File::open(world.path(at).join("config.json")).unwrap());
    let mut listener = world.client();
    listener.set_limit(Duration::from_secs(60));
    listener.call(&Subscribe { stats_ms: None }).unwrap();
    let push = world.hub.push(RepoKind::Model, "org/model", "main");
    let newest = push.file("added.txt", Content::text("newest\n")).commit("more").unwrap();
    // An open file is a use.
    let file = File::open(world.path("m/config.json")).unwrap();
    let told = loop {
        if let Event::Mount { mount } = listener.next_event().unwrap().event
            && mount.update.is_some()
        {
            break mount;
        }
    };
    assert_eq!((told.update.as_deref(), told.dir), (Some(&*newest), world.path("m").display().to_string()));
    let lines = world.say("status").ok().out;
    assert!(lines.contains(&format!("org/model@main has a newer commit, {}", &newest[..8])), "{lines}");
    assert!(world.status().iter().filter(|mount| mount["update"].is_string()).count() == 1, "the tag has not moved");
    // What is shown is what was shown.
    assert!(!world.path("m/added.txt").exists());
    assert_eq!(world.status()[0]["commit"], *shown);
    world.until(|_| script.fired(of_main) >= 4);
    drop(file);
    assert_eq!(script.fired(of_idle), 1, "nobody uses it");
    assert_eq!(script.fired(of_fixed), 1, "a commit stays what it is");
}

#[test]
fn a_mount_that_follows_shows_each_newer_commit_by_itself_also_after_a_crash() {
    let world = World::new();
    world.say("config set refresh_s 1").ok();
    world.say("mount org/model m --follow").ok();
    assert_eq!(world.status()[0]["follow"], true);
    let file = File::open(world.path("m/config.json")).unwrap();
    let push = |name: &str| {
        let push = world.hub.push(RepoKind::Model, "org/model", "main");
        push.file(name, Content::text("x")).commit(name).unwrap()
    };
    let newest = push("first.txt");
    // An open file is a use.
    world.until(|world| world.status()[0]["commit"] == *newest);
    assert!(world.path("m/first.txt").exists() && world.status()[0]["update"].is_null());
    drop(file);

    world.kill_engine();
    world.say("mount datasets/org/data d").ok();
    world.until(|world| world.status().iter().all(|mount| mount["state"] == "ready"));
    let file = File::open(world.path("m/config.json")).unwrap();
    let newest = push("second.txt");
    let of_m = |world: &World| world.status().into_iter().find(|mount| mount["repo"] == "org/model").unwrap();
    world.until(|world| of_m(world)["commit"] == *newest);
    drop(file);

    let dir = world.path("m").display().to_string();
    world.client().call(&SetMount { dir, follow: Some(false), ..SetMount::default() }).unwrap();
    let file = File::open(world.path("m/config.json")).unwrap();
    let newer = push("third.txt");
    world.until(|world| of_m(world)["update"] == *newer);
    assert!(!world.path("m/third.txt").exists());
    drop(file);
}

#[test]
fn an_update_shows_the_newer_commit_whole_and_open_files_keep_their_content() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let path = |name: &str| world.path("m").join(name);
    let before = world.status()[0]["commit"].as_str().unwrap().to_owned();
    let nothing_newer = world.say("update m").ok();
    assert!(nothing_newer.err.contains("newest commit"), "{}", nothing_newer.err);

    // The system knows names, listings and what is not there; somebody works in a folder; files are open, one of them unread.
    let old = fs::read(path("model.safetensors")).unwrap();
    let mut open = File::open(path("model.safetensors")).unwrap();
    let mut unread = File::open(path("onnx/model.onnx")).unwrap();
    assert_eq!(fs::read_dir(path("")).unwrap().count(), 4);
    assert!(!path("added.txt").exists() && !path("onnx/added.txt").exists());
    let ino = |name: &str| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path(name)).unwrap());
    let (root, changed) = (ino(""), ino("model.safetensors"));
    let mut working = Command::new("sh")
        .args(["-c", "read go; ls; cat model.onnx | wc -c"])
        .current_dir(path("onnx"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();

    let push = world.hub.push(RepoKind::Model, "org/model", "main");
    let newest = push
        .file("model.safetensors", Content::random(77, MODEL_BYTES))
        .file("added.txt", Content::text("added\n"))
        .file("onnx/added.txt", Content::text("also\n"))
        .file("onnx/model.onnx", Content::random(78, 60_000))
        .remove("new.txt")
        .commit("newer")
        .unwrap();
    assert_eq!(fs::read(path("model.safetensors")).unwrap(), old, "it does not move by itself");
    let said = world.say("update m").ok();
    assert!(said.err.contains(&newest[..8]), "{}", said.err);

    let status = world.status();
    assert_eq!((&status[0]["commit"], &status[0]["update"]), (&newest.as_str().into(), &serde_json::Value::Null));
    let new = fs::read(path("model.safetensors")).unwrap();
    assert!(new.len() == old.len() && new != old, "same size, other bytes");
    assert_eq!(fs::read_to_string(path("added.txt")).unwrap(), "added\n");
    assert_eq!(fs::read_to_string(path("onnx/added.txt")).unwrap(), "also\n");
    assert!(!path("new.txt").exists());
    let mut names: Vec<_> = fs::read_dir(path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["added.txt", "config.json", "model.safetensors", "onnx"]);
    assert_eq!(ino(""), root);
    assert_ne!(ino("model.safetensors"), changed);

    let mut kept = Vec::new();
    open.read_to_end(&mut kept).unwrap();
    assert!(kept == old, "an open file keeps its content");
    kept.clear();
    unread.read_to_end(&mut kept).unwrap();
    assert_eq!(kept.len(), 70_000, "also what was not read yet");
    working.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let output = working.wait_with_output().unwrap();
    let seen = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        seen.split_whitespace().collect::<Vec<_>>(),
        ["added.txt", "model.onnx", "60000"],
        "who works in a folder"
    );
    drop((open, unread));

    // Back to where it was, by a push; and an update of all that is known to be behind.
    world
        .hub
        .push(RepoKind::Model, "org/model", "main")
        .file("new.txt", Content::text("again\n"))
        .commit("again")
        .unwrap();
    assert!(world.say("update org/model --json").ok().json()["mounts"][0]["commit"] != *before);
    assert_eq!(fs::read_to_string(path("new.txt")).unwrap(), "again\n");
    assert!(world.say("update").ok().err.contains("No mount is known"));
    world.say("unmount m").ok();
}

#[test]
fn while_all_network_is_paused_the_engine_asks_no_hub_for_anything() {
    let world = World::new();
    world.say("mount org/model m").ok();
    world.say("pause").ok();
    let status = world.say("status").ok();
    assert!(status.err.contains("All network is paused"), "{status:#?}");
    assert_eq!(world.say("status --json").ok().json()["engine"]["is_paused"], true);
    let before = world.hub.network().counters().snapshot().requests_in_all();
    assert_eq!(fs::read_dir(world.path("m")).unwrap().count(), 4);
    assert!(fs::read(world.path("m/model.safetensors")).is_err());
    let refused = world.say("mount datasets/org/data d");
    assert!(refused.code == 5 && refused.err.contains("weightless resume"), "{refused:#?}");
    assert_eq!(world.say("doctor").code, 5);

    // The next engine knows of it, whatever became of this one.
    world.kill_engine();
    let mounts = world.status();
    world.until(|world| world.status()[0]["state"] == "failed");
    assert_eq!(world.status()[0]["fault"]["code"], "paused", "{mounts:#?}");
    assert_eq!(world.hub.network().counters().snapshot().requests_in_all(), before);
    world.say("resume").ok();
    world.until(|world| world.status()[0]["state"] == "ready");
    assert_eq!(fs::read_dir(world.path("m/onnx")).unwrap().count(), 1);
    assert!(!world.say("status").ok().err.contains("paused"));
}

#[test]
fn an_engine_that_is_paused_stays_to_remember_it() {
    let world = World::new();
    world.say("pause").ok();
    let first = world.engine_pid();
    assert_eq!(world.say("mount org/model m").code, 5);
    assert_eq!(world.engine_pid(), first);
    world.say("resume").ok();
    Watch::on(&world.socket()).until_gone();
    assert!(world.say("resume").ok().err.contains("nothing is paused"));
}

#[test]
fn a_settings_file_that_breaks_while_the_engine_runs_is_said_and_changes_nothing() {
    let world = World::new();
    world.say("mount org/model m").ok();
    world.say("config set read_ahead_mb 64").ok();
    let path = world.say("config path").ok().out;
    let mut listener = world.client();
    listener.set_limit(Duration::from_secs(60));
    listener.call(&Subscribe { stats_ms: None }).unwrap();
    fs::write(path.trim_end(), "read_ahead_mb = 128\nevent_loops\n").unwrap();
    let told = loop {
        if let Event::Notice { dir: None, fault } = listener.next_event().unwrap().event {
            break fault;
        }
    };
    assert_eq!(told.code, "settings_invalid");
    assert!(told.sentence.contains("line 2: this is not TOML"), "{told:?}");
    let status = world.say("status").ok();
    assert!(status.err.contains("this is not TOML"), "{status:#?}");
    assert_eq!(world.client().call(&Status {}).unwrap().engine.budget_bytes, 64 << 20);
    fs::write(path.trim_end(), "read_ahead_mb = 128\n").unwrap();
    world.until(|world| world.client().call(&Status {}).unwrap().engine.budget_bytes == 128 << 20);
    assert!(world.client().call(&Status {}).unwrap().engine.faults.is_empty());
}

#[test]
fn a_low_limit_of_open_files_is_raised_as_far_as_it_may_be_and_said_where_that_is_little() {
    let world = World::new();
    let mount = |limit: &str| {
        let mut command = world.command(["mount", "org/model", "m"]);
        let words: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
        let program = command.get_program().to_owned();
        let envs: Vec<_> =
            command.get_envs().map(|(key, value)| (key.to_owned(), value.map(ToOwned::to_owned))).collect();
        command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit {limit} && exec \"$@\"")).arg("sh").arg(program).args(words);
        command.env_clear().current_dir(world.path("")).stdin(Stdio::null());
        command.envs(envs.into_iter().filter_map(|(key, value)| Some((key, value?))));
        said(&mut command)
    };
    let soft = mount("-S -n 64").ok();
    assert!(!soft.err.contains("files at once"), "{soft:#?}");
    let limits = fs::read_to_string(format!("/proc/{}/limits", world.engine_pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert!(line.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap() > 64, "{line}");
    world.say("engine stop").ok();
    let hard = mount("-n 64");
    assert!(hard.err.contains("open 64 files at once"), "{hard:#?}");
}

#[test]
fn figures_name_the_file_and_who_reads_it() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let mut file = File::open(world.path("m/model.safetensors")).unwrap();
    file.read_exact(&mut [0; 1000]).unwrap();
    let stats = world.client().call(&GetStats {}).unwrap();
    let file = stats.files.iter().find(|file| file.path == "model.safetensors").expect("the open file");
    assert_eq!((file.pid, file.size), (Some(std::process::id()), MODEL_BYTES));
    assert!(file.program.is_some() && file.traffic.delivered_bytes >= 1000);
    assert!(stats.memory.budget_bytes > 0 && stats.memory.used_bytes <= stats.memory.budget_bytes);
    assert!(stats.network.requests > 0 && stats.total.fetched_bytes > 0);
}

#[test]
fn figures_are_served_where_a_port_is_named_and_nowhere_else() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ask = || -> Option<String> {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    };
    assert_eq!(ask(), None);
    world.run(["config", "set", "metrics_port", &port.to_string()]).ok();
    world.until(|_| ask().is_some_and(|text| text.contains("weightless_memory_budget_bytes ")));
    world.say("config unset metrics_port").ok();
    world.until(|_| ask().is_none());
}

#[test]
fn the_doctor_tests_hop_by_hop_and_says_which_one_fails() {
    let world = World::new();
    let good = world.say("doctor").ok();
    assert!(good.out.contains("the Hub's answer") && !good.out.contains("FAILED"), "{}", good.out);
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let bad = world.run(["doctor", "--endpoint", &closed]);
    assert_eq!(bad.code, 5, "the code of what failed: {bad:#?}");
    let mut client = world.client();
    let hops = client.call(&Doctor { endpoint: Some(closed), ..Doctor::default() }).unwrap().hops;
    let failed: Vec<_> = hops.iter().filter(|hop| hop.state == HopState::Failed).map(|hop| &*hop.name).collect();
    assert_eq!(failed, ["the Hub's answer"]);
    assert!(hops.iter().any(|hop| hop.state == HopState::Skipped));
}

#[test]
fn the_doctor_tests_the_hub_that_a_mount_would_ask_and_says_where_its_address_is_from() {
    let world = World::new();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    world.run(["config", "set", "endpoint", &closed]).ok();
    let here = world.say("doctor").ok();
    assert!(here.out.contains(&format!("{}, from HF_ENDPOINT\n", world.hub.endpoint())), "{}", here.out);
    world.say("mount org/model m").ok();

    let without = |words: &[&str]| said(world.command(words).env_remove("HF_ENDPOINT"));
    let set = without(&["doctor"]);
    assert_eq!(set.code, 5, "{set:#?}");
    assert!(set.out.contains(&format!("{closed}, from the settings\n")), "{}", set.out);
    assert_eq!(without(&["mount", "org/model", "n"]).code, 5);
    let named = without(&["doctor", "--endpoint", world.hub.endpoint()]).ok();
    assert!(named.out.contains("from --endpoint\n"), "{}", named.out);
}

#[test]
fn watching_shows_pictures_until_nobody_looks() {
    let world = World::new();
    world.say("mount org/model m").ok();
    let mut watch = world.command(["status", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = watch.stdout.take().unwrap();
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("org/model@main") {
        let count = out.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&piece[..count]);
    }
    drop(out);
    assert!(watch.wait().unwrap().success());
}

#[test]
fn searching_and_history_need_no_mount() {
    let world = World::new();
    let found = world.say("search model --json").ok().json();
    assert!(found.as_array().unwrap().iter().any(|repo| repo["repo"] == "org/model"), "{found}");
    assert!(world.say("search model").ok().out.contains("org/model"));
    let log = world.say("log org/model --json").ok().json();
    assert!(!log.as_array().unwrap().is_empty() && log[0]["commit"].as_str().unwrap().len() == 40);
}

#[test]
fn shells_and_man_learn_every_verb() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = world.run(["completions", shell]).ok().out;
        assert!(text.contains("unmount") && text.contains("completions"), "{shell}");
    }
    fs::create_dir(world.path("man")).unwrap();
    world.say("man man").ok();
    let pages: Vec<_> = fs::read_dir(world.path("man")).unwrap().map(|page| page.unwrap().file_name()).collect();
    assert!(pages.iter().any(|page| page == "weightless-mount.1"), "{pages:?}");
}

#[test]
fn a_hundred_mounts_cost_little_and_nothing_once_they_are_gone() {
    let world = World::new();
    world.say("mount org/model m0").ok();
    let mut client = world.client();
    let pid = world.engine_pid();
    let (memory, threads) = (resident_bytes(pid), thread_count(pid));
    let dirs: Vec<_> = (1..=100).map(|index| world.path(&format!("m{index}")).display().to_string()).collect();
    for dir in &dirs {
        client.set_limit(Duration::from_secs(60));
        let request = AddMount { repo: "org/model".into(), dir: Some(dir.clone()), ..AddMount::default() };
        client.call(&AddMount { endpoint: Some(world.hub.endpoint().to_owned()), ..request }).unwrap();
    }
    let each = resident_bytes(pid).saturating_sub(memory) / 100;
    assert!(each <= 1 << 20, "{each} bytes a mount");
    // One thread for each event loop and one that waits for them.
    let loops = std::thread::available_parallelism().unwrap().get().clamp(2, 4);
    assert!(thread_count(pid) - threads <= 100 * (loops + 1) + 16, "{} threads", thread_count(pid));
    for dir in &dirs {
        assert!(fs::read(format!("{dir}/config.json")).is_ok());
    }
    for dir in dirs {
        client.set_limit(Duration::from_secs(60));
        client.call(&Unmount { dir, manner: UnmountManner::Refuse }).unwrap();
    }
    world.until(|_| thread_count(pid) <= threads + 16);
    let left = resident_bytes(pid).saturating_sub(memory);
    assert!(left <= 32 << 20, "{left} bytes stay");
}

fn resident_bytes(pid: u64) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() << 10
}

fn thread_count(pid: u64) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).unwrap().count()
}
