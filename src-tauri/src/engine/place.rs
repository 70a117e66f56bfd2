//! Where the engine's program and its socket are. Starts nothing.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{Stream, connect, shut};

use crate::texts;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use weightless_control::Fault;

/// Names a program for developers and for packages that put it elsewhere.
const PROGRAM_VARIABLE: &str = "WEIGHTLESS_BIN";

/// The program of the engine.
pub(crate) fn program() -> Result<PathBuf, Fault> {
    let beside = env::current_exe().ok();
    let beside = beside.as_deref().and_then(Path::parent);
    let named = env::var_os(PROGRAM_VARIABLE);
    let path = env::var_os("PATH");
    choose(beside, named.as_deref(), path.as_deref(), &|file| file.is_file())
        .ok_or_else(|| Fault::new("engine_missing", texts::ENGINE_MISSING).advise(texts::ENGINE_MISSING_ADVICE))
}

/// Beside the app first: a package carries the engine that it was built with.
fn choose(
    beside: Option<&Path>,
    named: Option<&OsStr>,
    path: Option<&OsStr>,
    is_file: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let name = format!("weightless{}", env::consts::EXE_SUFFIX);
    let beside = beside.map(|dir| dir.join(&name));
    let named = named.filter(|named| !named.is_empty()).map(PathBuf::from);
    let on_path = path.into_iter().flat_map(env::split_paths).map(|dir| dir.join(&name));
    beside.into_iter().chain(named).chain(on_path).find(|file| file.is_absolute() && is_file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_program_is_looked_for_beside_the_app_then_where_it_is_named_then_on_the_path() {
        #[track_caller]
        fn check(there: &[&str], named: Option<&str>, expected: Option<&str>) {
            let is_file = |file: &Path| there.iter().any(|it| Path::new(it) == file);
            let found = choose(Some(Path::new("/app")), named.map(OsStr::new), Some(OsStr::new("rel:/a:/b")), &is_file);
            assert_eq!(found.as_deref(), expected.map(Path::new), "{there:?} {named:?}");
        }
        let everywhere = ["/app/weightless", "/named", "/a/weightless", "/b/weightless", "rel/weightless"];
        check(&everywhere, Some("/named"), Some("/app/weightless"));
        check(&everywhere[1..], Some("/named"), Some("/named"));
        check(&everywhere[1..], None, Some("/a/weightless"));
        check(&everywhere[1..], Some(""), Some("/a/weightless"));
        check(&everywhere[3..], Some("/gone"), Some("/b/weightless"));
        check(&everywhere[4..], None, None);
    }
}
