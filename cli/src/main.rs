//! The `weightless` command: mounts Hub repos as folders and tells about them. Knows no protocol of the Hub and no file
//! system interface; those are `weightless-core` and `weightless-platform`.
//!
//! | module | subject |
//! | --- | --- |
//! | [`args`] | what can be typed |
//! | [`wanted`] | from that to a repo of a Hub and an engine |
//! | [`verbs`] | one file a verb |
//! | [`host`] | the process that owns a mount: its life, its control socket |
//! | [`processes`], [`record`] | the client's view of all such processes; what a killed one leaves behind |
//! | [`paths`], [`ram`] | runtime, state and default folders; memory to count on |
//! | [`output`], [`exit`] | what is printed, how a command ends |
#![forbid(unsafe_code)]

mod args;
mod exit;
mod host;
mod log;
mod output;
mod paths;
mod processes;
mod ram;
mod record;
mod verbs;
mod wanted;

use args::{Cli, Verb};
use clap::Parser;
use output::Format;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log::start(matches!(cli.verb, Verb::Host(_)));
    let (outcome, format) = match cli.verb {
        Verb::Mount(args) => (verbs::mount::run(&args), Format::of(args.json)),
        Verb::Unmount(args) => (verbs::unmount::run(&args), Format::of(args.json)),
        Verb::Status(args) => (verbs::status::run(&args), Format::of(args.json)),
        Verb::Ls(args) => (verbs::ls::run(&args), Format::of(args.json)),
        Verb::Info(args) => (verbs::info::run(&args), Format::of(args.json)),
        #[cfg(feature = "demo")]
        Verb::Demo(args) => (verbs::demo::run(&args), Format::Text),
        Verb::Host(args) => return verbs::host::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            output::fault(&fault, format);
            exit::code(&fault).into()
        }
    }
}
