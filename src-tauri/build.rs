//! Generates Tauri's context: the window's content, the configuration and the capabilities.

fn main() {
    tauri_build::build();
}
