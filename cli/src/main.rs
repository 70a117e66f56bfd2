//! The `weightless` command: mounts Hub repos as folders and tells about them. Knows no protocol of the Hub and no file
//! system interface; those are `weightless-core` and `weightless-platform`.
//!
//! | module | subject |
//! | --- | --- |
//! | [`args`] | what can be typed |
//! | [`wanted`] | from that to a repo of a Hub |
//! | [`verbs`] | one file a verb |
//! | [`engine`] | the process that owns the mounts |
//! | [`processes`] | the client's view of all such processes; starting the user's own |
//! | [`paths`], [`ram`], [`log`] | where things are; memory to count on; what is logged |
//! | [`output`], [`exit`] | what is printed, how a command ends |
#![forbid(unsafe_code)]

mod args;
mod engine;
mod exit;
mod log;
mod output;
mod paths;
mod processes;
mod ram;
mod verbs;
mod wanted;

use args::{Cli, Verb};
use clap::Parser;
use output::Format;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log::start(cli.verb.is_engine());
    let (outcome, format) = match cli.verb {
        Verb::Mount(args) => (verbs::mount::run(&args), Format::of(args.json)),
        Verb::Unmount(args) => (verbs::unmount::run(&args), Format::of(args.json)),
        Verb::Update(args) => (verbs::update::run(&args), Format::of(args.json)),
        Verb::Status(args) => (verbs::status::run(&args), Format::of(args.json)),
        Verb::Folder(args) => (verbs::folder::run(&args), Format::of(args.json)),
        Verb::Open(args) => (verbs::open::run(&args), Format::Text),
        Verb::Search(args) => (verbs::search::run(&args), Format::of(args.json)),
        Verb::Ls(args) => (verbs::ls::run(&args), Format::of(args.json)),
        Verb::Info(args) => (verbs::info::run(&args), Format::of(args.json)),
        Verb::Log(args) => (verbs::log::run(&args), Format::of(args.json)),
        Verb::Free(args) => (verbs::free::run(&args), Format::of(args.json)),
        Verb::Pause(args) => (verbs::pause::run(&args, true), Format::Text),
        Verb::Resume(args) => (verbs::pause::run(&args, false), Format::Text),
        Verb::Login(args) => (verbs::accounts::login(&args), Format::Text),
        Verb::Logout(args) => (verbs::accounts::logout(&args), Format::Text),
        Verb::Accounts(args) => (verbs::accounts::run(&args), Format::of(args.json)),
        Verb::Config(args) => (verbs::config::run(&args), Format::of(args.json)),
        Verb::Doctor(args) => (verbs::doctor::run(&args), Format::of(args.json)),
        Verb::Engine(args) => (verbs::engine::run(&args), Format::Text),
        #[cfg(feature = "demo")]
        Verb::Demo(args) => (verbs::demo::run(&args), Format::Text),
        Verb::Completions(args) => (verbs::manual::completions(&args), Format::Text),
        Verb::Man(args) => (verbs::manual::pages(&args), Format::Text),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            output::fault(&fault, format);
            exit::code(&fault).into()
        }
    }
}

impl Verb {
    /// Whether this process keeps a log of what it does. A mount in a terminal tells what people want to know by itself.
    fn is_engine(&self) -> bool {
        matches!(self, Verb::Engine(args) if args.what.is_none())
    }
}

/// An environment variable, if it is set and text.
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
