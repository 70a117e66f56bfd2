//! `host`: the background process behind `mount`. Reports through its standard output once, then writes to its log only.

use crate::args::HostArgs;
use crate::exit::{self, Outcome, io_fault};
use crate::host::ready::{self, Report, Started};
use crate::host::{self, Order};
use crate::verbs::mount::order;
use std::io;
use std::process::ExitCode;

pub(crate) fn run(args: &HostArgs) -> ExitCode {
    // A session of its own: neither Ctrl-C nor the end of the terminal is meant for it.
    if let Err(error) = nix::unistd::setsid() {
        tracing::warn!(%error, "no session of its own");
    }
    match order(&args.mount).and_then(host) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            tracing::error!(code = fault.code, "{fault}");
            let code = exit::code(&fault);
            // The parent is waiting for this, or gone.
            let _ = ready::send(&Report::Failed(fault), io::stdout().lock());
            code.into()
        }
    }
}

fn host(order: Order) -> Outcome {
    host::run(order, |started: Started| {
        ready::send(&Report::Ready(Box::new(started)), io::stdout().lock())
            .and_then(|()| Ok(nix::unistd::dup2_stdout(io::stderr())?))
            .map_err(|error| io_fault("nobody waits for this mount", &error))
    })
}
