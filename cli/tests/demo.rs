//! `weightless demo`: one command, nothing needed.

#![cfg(feature = "demo")]

mod common;

use common::{Staying, World};
use std::fs;

#[test]
fn the_demo_mounts_a_model_says_what_to_try_and_leaves_nothing() {
    let world = World::new();
    let model = world.path("sample");
    fs::create_dir(&model).unwrap();
    fs::write(model.join("config.json"), "{}").unwrap();
    fs::write(model.join("model.safetensors"), vec![7; 100_000]).unwrap();
    let mut command = world.command(["demo", "there"]);
    // The user's own token is nothing for the demo's Hub.
    command.env("WEIGHTLESS_DEMO_MODEL", &model).env("HF_TOKEN", "hf_mineminemineminemine");
    let demo = Staying::start(&mut command);
    assert_eq!(demo.first_line, world.path("there").to_str().unwrap());
    assert_eq!(fs::read(world.path("there/model.safetensors")).unwrap(), vec![7; 100_000]);
    let (code, err) = demo.end_by("INT");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("sha256sum") && err.contains("weightless status"), "{err}");
    assert!(world.mounted().is_empty() && !world.path("there").exists());
}

#[test]
fn without_a_model_the_demo_makes_one_up() {
    let world = World::new();
    let demo = Staying::start(&mut world.command(["demo"]));
    let dir = demo.first_line.clone();
    assert!(fs::metadata(format!("{dir}/model.safetensors")).unwrap().len() > 0);
    let (code, err) = demo.end_by("TERM");
    assert_eq!(code, Some(0), "{err}");
    assert!(!std::path::Path::new(&dir).exists());
}
