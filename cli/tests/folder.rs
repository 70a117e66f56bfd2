//! The Hub folder as a user of the command meets it: real binary, real kernel mount, a Hub on loopback.

mod common;

use common::{MODEL_BYTES, World, said};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use weightless_control::SetMount;

fn on(world: &World) -> String {
    let said = world.say("folder on").ok();
    assert_eq!(said.out, format!("{}\n", world.path("Weightless").display()));
    said.out.trim_end().to_owned()
}

fn folder(world: &World) -> Value {
    world.say("folder --json").ok().json()["folder"].clone()
}

fn requests(world: &World) -> u64 {
    let counters = world.hub.network().counters();
    let count = counters.snapshot().requests_in_all();
    counters.reset();
    count
}

fn listed(world: &World, path: &str) -> Vec<String> {
    let entries = fs::read_dir(world.path(path)).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn with_the_folder_on_every_repo_is_there_and_what_is_used_is_a_mount_like_any_other() {
    let world = World::new();
    assert!(world.say("folder").ok().err.contains("off"));
    on(&world);
    assert_eq!(requests(&world), 0, "turning it on asks nobody");
    assert_eq!(listed(&world, "Weightless"), ["datasets", "spaces"]);

    assert_eq!(fs::read(world.path("Weightless/org/model/model.safetensors")).unwrap().len() as u64, MODEL_BYTES);
    assert!(!world.path("Weightless/org/model@v1/new.txt").exists());
    assert!(world.path("Weightless/org/model@v1/config.json").exists());
    let mounts = world.status();
    assert_eq!(mounts.len(), 2, "{mounts:#?}");
    let dir = world.path("Weightless/org/model");
    assert_eq!((&mounts[0]["repo"], &mounts[0]["in_folder"]), (&"org/model".into(), &true.into()));
    assert_eq!((&mounts[0]["dir"], &mounts[0]["state"]), (&dir.to_str().unwrap().into(), &"ready".into()));
    assert_eq!(mounts[0]["bytes_delivered"], MODEL_BYTES);
    assert_eq!((&mounts[1]["repo"], &mounts[1]["revision"]), (&"org/model".into(), &"v1".into()));
    assert_eq!(folder(&world)["recent"], serde_json::json!(["org/model@v1", "org/model"]));
    let text = world.say("status").ok().out;
    assert!(text.contains("org/model@main") && text.contains("Hub folder: "), "{text}");

    // Its settings are those of a mount.
    world.say("pause org/model@main").ok();
    assert!(fs::read(world.path("Weightless/org/model/onnx/model.onnx")).is_err());
    assert_eq!(world.status()[0]["is_paused"], true);
    world.say("resume org/model@main").ok();
    assert!(fs::read(world.path("Weightless/org/model/onnx/model.onnx")).is_ok());
    let set = SetMount { dir: dir.to_str().unwrap().into(), weight: Some(3), ..SetMount::default() };
    assert_eq!(world.client().call(&set).unwrap().weight, 3);

    let gone = world.say("folder off").ok();
    assert!(gone.err.contains("off"), "{gone:?}");
    assert!(world.mounted().is_empty() && world.status().is_empty() && !world.path("Weightless").exists());
}

#[test]
fn what_may_not_be_read_says_so_in_status() {
    let world = World::new();
    on(&world);
    let error = fs::read(world.path("Weightless/org/gated/config.json")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    fs::read(world.path("Weightless/org/private/config.json")).unwrap_err();
    let problems = folder(&world)["problems"].clone();
    assert_eq!(
        (&problems[0]["path"], &problems[0]["fault"]["code"]),
        (&"org/private".into(), &"repo_not_found".into())
    );
    assert_eq!((&problems[1]["path"], &problems[1]["fault"]["code"]), (&"org/gated".into(), &"gated".into()));
    for verb in ["status", "folder"] {
        let said = world.say(verb).ok();
        let text = said.out + &said.err;
        assert!(text.contains("org/gated: ") && text.contains("licence"), "{text}");
    }
    // With a token that may.
    let token = world.token_file(world.hub.owner_token());
    world.run(["folder", "on", "--token-file", &token]).ok();
    assert!(fs::read(world.path("Weightless/org/private/config.json")).is_ok());
    assert!(fs::read(world.path("Weightless/org/gated/config.json")).is_ok());
    assert_eq!(folder(&world)["problems"], serde_json::json!([]));
}

#[test]
fn it_comes_back_after_the_death_of_the_engine_and_after_its_end() {
    let world = World::new();
    on(&world);
    fs::read(world.path("Weightless/org/model/config.json")).unwrap();
    world.kill_engine();
    assert!(fs::read_dir(world.path("Weightless")).is_err(), "dead until the next command");
    world.say("status").ok();
    world.until(|world| folder(world)["state"] == "ready");
    requests(&world);
    assert_eq!(listed(&world, "Weightless/org"), ["model"]);
    assert_eq!(requests(&world), 0);
    assert!(fs::read(world.path("Weightless/org/model/config.json")).is_ok());

    world.say("engine stop").ok();
    assert!(world.mounted().is_empty());
    // The first command of a session starts the engine, and finds the folder on its way.
    let mounted = world.say("mount org/model@v1").ok();
    assert!(mounted.err.contains("Hub folder"), "{}", mounted.err);
    assert_eq!(folder(&world)["state"], "ready");
    assert_eq!(listed(&world, "Weightless/org"), ["model", "model@v1"]);
    world.say("engine stop").ok();
    world.until(|world| folder(world)["state"] == "ready");
    assert_eq!(listed(&world, "Weightless/org"), ["model", "model@v1"]);
    world.say("folder off").ok();
    world.say("engine stop").ok();
    assert_eq!(folder(&world), Value::Null, "it is forgotten");
    assert!(world.mounted().is_empty());
}

#[test]
fn mount_without_a_folder_means_the_one_that_is_there() {
    let world = World::new();
    on(&world);
    // Also what is used already: it is kept from then on.
    fs::read(world.path("Weightless/datasets/org/data/train.csv")).unwrap();
    for (repo, place) in [
        ("org/model", "Weightless/org/model"),
        ("org/model@v1", "Weightless/org/model@v1"),
        ("datasets/org/data", "Weightless/datasets/org/data"),
    ] {
        let said = world.run(["mount", repo]).ok();
        assert_eq!(said.out.trim_end(), world.path(place).to_str().unwrap());
        assert!(said.err.contains("Hub folder"), "{}", said.err);
    }
    assert_eq!(world.mounted().len(), 1, "nothing else is mounted");
    let part = world.say("mount org/model --subfolder onnx").ok();
    assert_eq!(fs::read_dir(part.out.trim_end()).unwrap().count(), 1);
    assert_eq!(listed(&world, "Weightless/org"), ["model", "model:onnx", "model@v1"]);
    assert!(world.say("mount org/model").ok().err.contains("already"));
    let mut command = world.command(["mount", "org/private"]);
    said(command.env("HF_TOKEN", world.hub.owner_token())).ok();
    assert!(fs::read(world.path("Weightless/org/private/config.json")).is_ok(), "as whoever mounted it");

    let elsewhere = world.run(["mount", "org/model", world.path("Weightless/org/other").to_str().unwrap()]);
    assert_eq!(elsewhere.code, 6, "{elsewhere:?}");
    assert!(elsewhere.err.contains("Weightless/org/model"), "{}", elsewhere.err);
    assert_eq!(world.say("mount org/absent").code, 3);
    // Outside of it a mount is a mount.
    world.say("mount org/model m").ok();
    assert_eq!(world.mounted().len(), 2);
    world.say("unmount m").ok();

    // They come back with an engine that died, in the folder.
    world.kill_engine();
    world.say("status").ok();
    world.until(|world| world.status().iter().filter(|mount| mount["state"] == "ready").count() >= 4);
    let ready: Vec<_> = world.status().into_iter().filter(|mount| mount["state"] == "ready").collect();
    assert!(ready.iter().all(|mount| mount["in_folder"] == true), "{ready:#?}");
    assert_eq!(world.mounted().len(), 1);
}

#[test]
fn unmounting_a_repo_in_the_folder_lets_go_of_it() {
    let world = World::new();
    on(&world);
    let mut file = File::open(world.path("Weightless/org/model/model.safetensors")).unwrap();
    let busy = world.say("unmount org/model --json");
    assert_eq!(busy.code, 6, "{busy:?}");
    assert_eq!(busy.json()["error"]["holders"][0]["pid"], std::process::id());
    world.say("unmount org/model --lazy").ok();
    assert!(world.status().is_empty());
    assert_eq!(listed(&world, "Weightless"), ["datasets", "spaces"]);
    let mut content = Vec::new();
    file.read_to_end(&mut content).unwrap();
    assert_eq!(content.len() as u64, MODEL_BYTES, "who has it open reads on");
    drop(file);
    // Its name still leads there.
    assert!(fs::read(world.path("Weightless/org/model/config.json")).is_ok());
    world.run(["unmount", world.path("Weightless/org/model").to_str().unwrap()]).ok();
    assert!(world.status().is_empty() && world.mounted().len() == 1);
}

#[test]
fn a_busy_folder_names_who_holds_it() {
    let world = World::new();
    on(&world);
    let mut file = File::open(world.path("Weightless/org/model/model.safetensors")).unwrap();
    let busy = world.say("folder off --json");
    assert_eq!(busy.code, 6, "{busy:?}");
    assert_eq!(busy.json()["error"]["holders"][0]["pid"], std::process::id());
    assert_eq!(folder(&world)["state"], "ready");
    world.say("folder off --force").ok();
    assert!(file.read_to_end(&mut Vec::new()).is_err());
    drop(file);
    assert!(world.mounted().is_empty() && world.status().is_empty());

    on(&world);
    let at = world.path("Weightless");
    world.run(["unmount", at.to_str().unwrap()]).ok();
    assert_eq!(folder(&world), Value::Null, "unmounting it turns it off");
    on(&world);
    let status = std::process::Command::new("fusermount3").arg("-u").arg(&at).status().unwrap();
    assert!(status.success());
    world.until(|world| folder(world) == Value::Null);
}

#[test]
fn it_can_be_elsewhere_and_not_over_what_is_there() {
    let world = World::new();
    world.say("mount org/model").ok();
    let refused = world.say("folder on");
    assert_eq!(refused.code, 6, "{refused:?}");
    assert!(refused.err.contains("org/model@main"), "{}", refused.err);
    let said = world.say("folder hub").ok();
    assert_eq!(said.out.trim_end(), world.path("hub").to_str().unwrap());
    assert!(world.path("hub/datasets/org/data/train.csv").exists());
    world.say("unmount org/model").ok();
    assert_eq!(world.say("folder on").ok().out, said.out, "it is on already");
    world.say("folder Weightless").ok();
    assert!(!world.path("hub").exists(), "it has moved");
    assert!(world.path("Weightless/datasets/org/data/train.csv").exists());
    assert_eq!(folder(&world)["recent"], serde_json::json!(["datasets/org/data"]));
    fs::create_dir(world.path("full")).unwrap();
    fs::write(world.path("full/mine"), "x").unwrap();
    assert_eq!(world.say("folder full").code, 6);
    assert!(world.path("full/mine").exists());
}
