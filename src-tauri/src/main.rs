//! The tray app. Shows what the engine does; owns no mount, no token and no network.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

fn main() {}
