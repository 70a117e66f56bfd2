//! Where things are: the runtime folder with the control sockets, the state folder with logs, the default place of mounts.
//! Creates the folders that it names, for this user alone.

use crate::exit::{Outcome, fault_of, io_fault};
use directories::{ProjectDirs, UserDirs};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use weightless_control::Fault;
use weightless_core::ErrorKind;
use weightless_core::folder;
use weightless_core::repo::RepoSpec;

/// The folder of the control sockets: `$XDG_RUNTIME_DIR/weightless`, or `/tmp/weightless-UID` where there is none (a
/// container, `su`). Whoever could write there could play a mount's process, so it must be ours and closed to others.
pub(crate) fn runtime_dir() -> Outcome<PathBuf> {
    let uid = nix::unistd::geteuid().as_raw();
    let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|base| {
        // `sudo` and `su` may leave the variable of another user behind.
        base.is_absolute() && fs::metadata(base).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid)
    });
    let dir = match base {
        Some(base) => base.join("weightless"),
        None => PathBuf::from(format!("/tmp/weightless-{uid}")),
    };
    fits(&dir)?;
    private_dir(&dir, uid)?;
    Ok(dir)
}

/// Bytes of a socket's path at most, the ending zero apart (unix(7); macOS takes four less).
const SOCKET_PATH_BYTES_MAX: usize = if cfg!(target_os = "macos") { 103 } else { 107 };
/// The longest name of a socket of ours: the engine's, or a process id with `.sock` behind it.
const SOCKET_NAME_BYTES_MAX: usize = "4294967295.sock".len();

/// A path that is too long for a socket is refused by the system in words that help nobody.
fn fits(dir: &Path) -> Outcome {
    let dir_bytes_max = SOCKET_PATH_BYTES_MAX - SOCKET_NAME_BYTES_MAX - 1;
    if dir.as_os_str().len() <= dir_bytes_max {
        return Ok(());
    }
    let base_bytes_max = dir_bytes_max - "/weightless".len();
    let sentence = format!("{}: this path is too long for control sockets", dir.display());
    Err(Fault::new("io", sentence).advise(format!(
        "Set XDG_RUNTIME_DIR to a folder of yours with mode 0700 and at most {base_bytes_max} characters."
    )))
}

fn private_dir(dir: &Path, uid: u32) -> Outcome {
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(io_fault(dir.display(), &error)),
    }
    // Not `metadata`: a link planted in /tmp must not lead elsewhere.
    let meta = fs::symlink_metadata(dir).map_err(|error| io_fault(dir.display(), &error))?;
    if meta.is_dir() && meta.uid() == uid && meta.mode() & 0o077 == 0 {
        return Ok(());
    }
    let sentence = format!("{}: this folder is not yours alone, so it is not used for control sockets", dir.display());
    Err(Fault::new("io", sentence).advise("Remove it, or set XDG_RUNTIME_DIR to a folder of yours with mode 0700."))
}

/// The name of the engine's socket in [`runtime_dir`].
pub(crate) const ENGINE_SOCKET: &str = "engine.sock";

/// The name of what the engine leaves of its mounts, in [`runtime_dir`].
pub(crate) const ENGINE_RECORD: &str = "engine.json";

/// The folder of what must outlive a logout: mounts wanted at login, accounts without their tokens, the log.
pub(crate) fn state_dir() -> Outcome<PathBuf> {
    let project = project()?;
    let dir = project.state_dir().unwrap_or(project.data_local_dir()).to_owned();
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(|error| io_fault(dir.display(), &error))?;
    Ok(dir)
}

/// The settings file; it need not be there.
pub(crate) fn settings_file() -> Outcome<PathBuf> {
    Ok(project()?.config_dir().join("settings.toml"))
}

/// What stays of the Hub folder while no engine runs.
pub(crate) fn folder_file() -> Outcome<PathBuf> {
    Ok(state_dir()?.join("folder.json"))
}

/// The folder of what can be had again: `WEIGHTLESS_CACHE`, else the place of the system. Made when something is put there.
pub(crate) fn cache_dir() -> Outcome<PathBuf> {
    match std::env::var_os("WEIGHTLESS_CACHE").filter(|dir| !dir.is_empty()).map(PathBuf::from) {
        Some(dir) => absolute(&dir),
        None => Ok(project()?.cache_dir().to_owned()),
    }
}

/// The engine's log.
pub(crate) fn log_file() -> Outcome<PathBuf> {
    Ok(state_dir()?.join("engine.log"))
}

/// The user's home folder.
pub(crate) fn home() -> Outcome<PathBuf> {
    Ok(UserDirs::new().ok_or_else(no_home)?.home_dir().to_owned())
}

fn project() -> Outcome<ProjectDirs> {
    ProjectDirs::from("", "", "weightless").ok_or_else(no_home)
}

fn no_home() -> Fault {
    Fault::new("io", "this account has no home folder").advise("Name the folder: weightless mount REPO DIR.")
}

/// Where a mount lands in the mount folder: `org/name`, with `@revision` and the subfolder behind it where they are given, so
/// that what can be mounted side by side has its own place. The grammar of the Hub folder, so that a path stays the same when
/// that is turned on; a subfolder follows a colon.
pub(crate) fn place(spec: &RepoSpec) -> String {
    let mut name = folder::path(&spec.repo, spec.revision.as_deref());
    if let Some(path) = &spec.path {
        name += &format!(":{}", folder::encode(path));
    }
    name
}

/// `dir` as an absolute path without links, also where its last part does not exist or is a dead mount, which nothing but
/// the table of mounts may touch.
pub(crate) fn absolute(dir: &Path) -> Outcome<PathBuf> {
    let dir = std::path::absolute(dir).map_err(|error| io_fault(dir.display(), &error))?;
    // `..` behind a link means the link's target, which only the file system can say.
    let (mut known, mut rest) = (dir.clone(), Vec::new());
    let real = loop {
        match fs::canonicalize(&known) {
            Ok(real) => break real,
            Err(_) => match (known.parent(), known.components().next_back()) {
                (Some(parent), Some(last)) => {
                    rest.push(last.as_os_str().to_owned());
                    known = parent.to_owned();
                }
                _ => break known,
            },
        }
    };
    let mut absolute = real;
    for part in rest.into_iter().rev() {
        match part.to_str() {
            Some("..") => drop(absolute.pop()),
            _ => absolute.push(part),
        }
    }
    if absolute.to_str().is_none() {
        return Err(fault_of(ErrorKind::MountPointInvalid, absolute.to_string_lossy())
            .advise("The folder's name is not UTF-8: choose another."));
    }
    Ok(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use weightless_core::repo::{RepoId, RepoKind};

    #[test]
    fn every_repo_revision_and_subfolder_has_its_own_place() {
        #[track_caller]
        fn check(kind: RepoKind, name: &str, revision: Option<&str>, path: Option<&str>, expected: &str) {
            let repo = RepoId { kind, name: name.into() };
            let spec = RepoSpec { repo, revision: revision.map(Into::into), path: path.map(Into::into) };
            assert_eq!(place(&spec), expected);
        }
        check(RepoKind::Model, "a/b", None, None, "a/b");
        check(RepoKind::Model, "gpt2", None, None, "gpt2");
        check(RepoKind::Model, "a/b", Some("main"), None, "a/b");
        check(RepoKind::Dataset, "a/b", Some("v1"), None, "datasets/a/b@v1");
        check(RepoKind::Space, "a/b", Some("refs/pr/2"), None, "spaces/a/b@refs%2Fpr%2F2");
        check(RepoKind::Model, "a/b", Some("x%2Fy"), Some("c/d"), "a/b@x%252Fy:c%2Fd");
    }

    #[test]
    fn a_path_is_made_absolute_whether_it_exists_or_not() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        for (given, expected) in [
            ("real", "real"),
            ("link", "real"),
            ("link/new", "real/new"),
            ("link/new/deep", "real/new/deep"),
            ("real/new/../other", "real/other"),
            ("real/./", "real"),
        ] {
            assert_eq!(absolute(&root.join(given)).unwrap(), root.join(expected), "{given}");
        }
        assert!(absolute(Path::new("x")).unwrap().is_absolute());
    }

    #[test]
    fn a_folder_fits_if_the_longest_socket_in_it_can_be_bound() {
        let temp = tempfile::Builder::new().prefix("wl-").tempdir_in("/tmp").unwrap();
        for (bytes, is_good) in [(60, true), (SOCKET_PATH_BYTES_MAX - SOCKET_NAME_BYTES_MAX - 1, true), (92, false)] {
            let dir = temp.path().join("x".repeat(bytes - temp.path().as_os_str().len() - 1));
            fs::create_dir(&dir).unwrap();
            assert_eq!(fits(&dir).is_ok(), is_good, "{bytes}");
            let socket = dir.join("x".repeat(SOCKET_NAME_BYTES_MAX));
            assert_eq!(std::os::unix::net::UnixListener::bind(socket).is_ok(), is_good, "{bytes}");
        }
    }

    #[test]
    fn sockets_live_only_in_a_folder_that_is_ours_alone() {
        let temp = tempfile::tempdir().unwrap();
        let uid = nix::unistd::geteuid().as_raw();
        let ours = temp.path().join("ours");
        private_dir(&ours, uid).unwrap();
        private_dir(&ours, uid).unwrap();
        assert!(private_dir(&ours, uid + 1).is_err());

        let open = temp.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(private_dir(&open, uid).is_err());

        let link = temp.path().join("link");
        std::os::unix::fs::symlink(&ours, &link).unwrap();
        assert!(private_dir(&link, uid).is_err());
    }
}
