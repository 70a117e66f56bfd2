//! Generates Tauri's context: the window's content, the configuration, the capabilities and the commands that they name.

use std::path::Path;
use std::{env, fs};

/// What `capabilities/main.json` allows, and nothing else can be called.
const COMMANDS: &[&str] =
    &["engine_call", "engine_watch", "app_info", "set_autostart", "open_folder", "open_page", "restart_engine"];

const CONTENT: &str = "../ui/dist";

fn main() {
    need_content();
    let manifest = tauri_build::AppManifest::new().commands(COMMANDS);
    if let Err(error) = tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest)) {
        println!("cargo::error={error:#}");
    }
}

/// The window's content is built by `./dev app` and `./dev test` before this. Who only compiles Rust needs none: a page says
/// so. What is released must have it.
fn need_content() {
    println!("cargo::rerun-if-changed={CONTENT}");
    let page = Path::new(CONTENT).join("index.html");
    if page.exists() {
        return;
    }
    if env::var("PROFILE").as_deref() == Ok("release") {
        println!("cargo::error=the window has no content (ui/dist): run `npm ci && npm run build` in ui/ first");
        return;
    }
    let text =
        "<!doctype html><title>Weightless</title><p>The window has no content yet: build it with ./dev app.</p>\n";
    if let Err(error) = fs::create_dir_all(CONTENT).and_then(|()| fs::write(&page, text)) {
        println!("cargo::error=ui/dist cannot be made: {error}");
    }
}
