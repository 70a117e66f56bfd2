//! The Unix socket of this user's engine.

use std::io;
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

/// A connection.
pub(crate) type Stream = UnixStream;

/// An engine that takes nothing for this long is stuck: its socket's buffer alone holds hundreds of requests.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

/// Connects to the engine that listens.
pub(crate) fn connect() -> io::Result<Stream> {
    let stream = UnixStream::connect(socket()?)?;
    stream.set_write_timeout(Some(WRITE_LIMIT))?;
    Ok(stream)
}

/// Ends the connection for everybody who holds it, a reader that waits included.
pub(crate) fn shut(stream: &Stream) {
    // An error means that it has ended already.
    let _ = stream.shutdown(Shutdown::Both);
}

/// `engine.sock` in the folder that docs/control.md names, which must be this user's own: whoever could write there could
/// play the engine.
fn socket() -> io::Result<PathBuf> {
    let uid = nix::unistd::geteuid().as_raw();
    let base = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|base| {
        // `sudo` and `su` may leave the variable of another user behind.
        base.is_absolute() && fs::metadata(base).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid)
    });
    let dir = match base {
        Some(base) => base.join("weightless"),
        None => PathBuf::from(format!("/tmp/weightless-{uid}")),
    };
    let meta = fs::symlink_metadata(&dir)?;
    if meta.is_dir() && meta.uid() == uid && meta.mode() & 0o077 == 0 {
        Ok(dir.join("engine.sock"))
    } else {
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the folder of the control sockets is not this user's alone",
        ))
    }
}
