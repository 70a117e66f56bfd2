//! The log: on stderr, which an engine in the background has tied to its file. `WEIGHTLESS_LOG` chooses what is in it, else the
//! settings, which may change while it runs.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::OnceLock;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, reload};

/// What a command logs where nobody asked for more: what goes wrong.
const COMMAND_FILTER: &str = "error";
/// An engine's log that is longer than this when it starts is put aside, and the one before it forgotten.
const LOG_BYTES_MAX: u64 = 4 << 20;

static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Starts logging; the log of an engine has times.
pub(crate) fn start(is_engine: bool) {
    let filter = EnvFilter::try_from_env("WEIGHTLESS_LOG").unwrap_or_else(|_| EnvFilter::new(COMMAND_FILTER));
    let (filter, handle) = reload::Layer::new(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let started = match is_engine {
        true => tracing_subscriber::registry().with(filter).with(layer).try_init(),
        false => tracing_subscriber::registry().with(filter).with(layer.without_time()).try_init(),
    };
    // It can fail only if a log was started before.
    if started.is_ok() && is_engine && std::env::var_os("WEIGHTLESS_LOG").is_none() {
        let _ = FILTER.set(handle);
    }
}

/// What an engine logs from now on, as directives of `tracing`. Without effect on a command, and where `WEIGHTLESS_LOG` decides.
pub(crate) fn set_filter(directives: &str) {
    let Some(handle) = FILTER.get() else { return };
    if let Ok(filter) = EnvFilter::try_new(directives) {
        let _ = handle.reload(filter);
    }
}

/// The last `bytes` of a log.
pub(crate) fn tail(log: &Path, bytes: u64) -> io::Result<String> {
    let mut file = fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
    let mut end = Vec::new();
    file.take(bytes).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

/// Puts a long log aside before an engine writes on.
pub(crate) fn turn(log: &Path) {
    if fs::metadata(log).is_ok_and(|meta| meta.len() > LOG_BYTES_MAX) {
        let _ = fs::rename(log, log.with_extension("log.old"));
    }
}
