//! The log: on stderr, which a background process has tied to its file. `WEIGHTLESS_LOG` chooses what is in it.

use tracing_subscriber::EnvFilter;

/// What is logged where nobody asked for more: a mount's process keeps its own story, a command only what goes wrong.
const HOST_FILTER: &str = "warn,weightless=info";
const COMMAND_FILTER: &str = "error";

/// Starts logging; the log of a host has times and no colours.
pub(crate) fn start(is_host: bool) {
    let default = if is_host { HOST_FILTER } else { COMMAND_FILTER };
    let filter = EnvFilter::try_from_env("WEIGHTLESS_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    // It can fail only if a log was started before.
    let _ = if is_host { log.try_init() } else { log.without_time().try_init() };
}
