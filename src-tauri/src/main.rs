//! The tray app: shows what the engine does and passes on what people click. Owns no mount, no token and no network.
//!
//! | module | subject |
//! | --- | --- |
//! | [`app`] | what the app is made of; from the engine's news to window, tray and notifications |
//! | [`engine`] | finding, starting and asking the engine |
//! | [`mirror`] | what the engine said last |
//! | [`commands`] | what the window may ask for |
//! | [`window`], [`tray`], [`quit`] | the window; the icon and its menu; the way out |
//! | [`notices`] | what is told by the desktop, once for each cause |
//! | [`links`] | `weightless://` addresses; which folders and pages may be opened |
//! | [`recent`] | repos mounted lately |
//! | [`updates`], [`autostart`] | newer versions; starting at login |
//! | [`system`] | what differs between desktops: the session looked at before it is used, clipboard, theme |
//! | [`texts`] | every sentence and unit that people read here |
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]
#![forbid(unsafe_code)]

mod app;
mod autostart;
mod commands;
mod engine;
mod links;
mod mirror;
mod notices;
mod quit;
mod recent;
mod system;
mod texts;
mod tray;
mod updates;
mod window;

use std::process::ExitCode;

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        .init();
    if let Err(words) = system::prepare() {
        eprintln!("{words}");
        return ExitCode::FAILURE;
    }
    match app::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", texts::CANNOT_START);
            ExitCode::FAILURE
        }
    }
}
