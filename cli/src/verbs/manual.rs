//! `completions` and `man`: what shells and `man` know of the command, generated from its definition.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::{Outcome, io_fault};
use crate::output;
use clap::CommandFactory;
use std::io;

pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "weightless", &mut text);
    output::line(String::from_utf8_lossy(&text).trim_end());
    Ok(())
}

pub(crate) fn pages(args: &ManArgs) -> Outcome {
    clap_mangen::generate_to(Cli::command(), &args.dir)
        .map_err(|error: io::Error| io_fault(args.dir.display(), &error))?;
    output::note(format_args!("written to {}: man weightless", args.dir.display()));
    Ok(())
}
