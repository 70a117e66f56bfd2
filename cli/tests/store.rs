//! The local store through the command: what it keeps, what it frees, and what is left of it after `kill -9`.
#![cfg(target_os = "linux")]

mod common;

use common::{MODEL_BYTES, World};
use std::fs;
use std::io::Read;
use weightless_hub_sim::{Content, RepoDef};

const MIB: u64 = 1 << 20;

/// With a store that does not care how full the disk of these tests is.
fn world(world: World) -> World {
    world.say("config set store_keep_free_gb 0").ok();
    world
}

#[test]
fn what_was_read_is_kept_until_it_is_freed() {
    let world = world(World::new());
    let mounted = |world: &World| world.say("mount org/model m").ok();
    let read = |world: &World| {
        world.hub.network().counters().reset();
        assert_eq!(fs::read(world.path("m/model.safetensors")).unwrap().len() as u64, MODEL_BYTES);
        world.hub.network().counters().snapshot().data_requests()
    };
    mounted(&world);
    assert!(read(&world) > 0);
    world.say("unmount m").ok();
    world.say("engine stop").ok();
    mounted(&world);
    assert_eq!(read(&world), 0, "another engine has it");
    let status = world.say("status --json").ok().json();
    assert_eq!(status["mounts"][0]["bytes_from_store"], MODEL_BYTES);
    assert_eq!(status["mounts"][0]["bytes_fetched"], 0);
    assert!(status["engine"]["store"]["used_bytes"].as_u64().unwrap() >= MODEL_BYTES);
    assert!(world.say("status").ok().err.contains("kept on this device"));

    let shown = world.say("free org/model --dry-run --json").ok().json();
    assert_eq!((shown["files"].as_u64(), &shown["first"][0]["path"]), (Some(1), &"model.safetensors".into()));
    assert_eq!(world.say("free org/data --json").ok().json()["bytes"], 0);
    assert_eq!(world.say("free org/model --json").ok().json(), shown, "what was shown was freed");
    assert_eq!(world.say("free --dry-run --json").ok().json()["files"], 0);
    world.say("unmount m").ok();
    mounted(&world);
    assert!(read(&world) > 0, "it comes from the network again");
}

#[test]
fn a_cap_of_nothing_and_no_store_keep_nothing() {
    let world = world(World::new());
    world.say("config set store_max_gb 0").ok();
    world.say("mount org/model m").ok();
    fs::read(world.path("m/model.safetensors")).unwrap();
    assert_eq!(world.say("free --dry-run --json").ok().json()["files"], 0);
    world.say("unmount m").ok();
    world.say("config unset store_max_gb").ok();
    let staying = common::Staying::start(&mut world.command(["mount", "org/model", "n", "--foreground", "--no-store"]));
    fs::read(world.path("n/model.safetensors")).unwrap();
    staying.end_by("INT");
    assert_eq!(world.say("free --dry-run --json").ok().json()["files"], 0);
}

#[test]
fn a_folder_that_cannot_be_written_fails_no_read() {
    let world = world(World::new());
    // A file is where the folder should be: nobody, not even root, writes below it.
    fs::write(world.path("taken"), "").unwrap();
    // The engine that comes next is this command's.
    world.say("engine stop").ok();
    let mount = ["mount", "org/model", "m"];
    common::said(world.command(mount).env("WEIGHTLESS_CACHE", world.path("taken/cache"))).ok();
    assert_eq!(fs::read(world.path("m/model.safetensors")).unwrap().len() as u64, MODEL_BYTES);
    world.until(|world| world.say("status --json").ok().json()["engine"]["store"]["fault"]["code"] == "store_unusable");
    assert!(world.say("status").ok().err.contains("cannot be written"));
}

/// The engine is killed while it writes what is read, again and again; every byte that is read afterwards is right.
#[test]
fn after_kill_minus_nine_in_the_middle_of_writing_every_byte_is_right() {
    let content = Content::random(21, 96 * MIB);
    let expected = content.to_bytes().unwrap();
    let world = world(World::serving(vec![RepoDef::model("org/large").file("w", content)]));
    let mut fetched = Vec::new();
    for round in 1..=6_u64 {
        world.say("mount org/large m").ok();
        world.hub.network().counters().reset();
        let mut file = fs::File::open(world.path("m/w")).unwrap();
        // A longer part each time, and in the last round all of it.
        let mut data = vec![0; (16 * round * MIB) as usize];
        file.read_exact(&mut data).unwrap();
        assert!(data == expected[..data.len()], "round {round}");
        drop(file);
        fetched.push(world.hub.network().counters().snapshot().data_bytes());
        world.kill_engine();
    }
    println!("fetched: {fetched:?}");
    world.say("mount org/large m").ok();
    assert!(fs::read(world.path("m/w")).unwrap() == expected);
    assert!(world.status()[0]["bytes_from_store"].as_u64().unwrap() > 16 * MIB);
}
