//! Who keeps a mount busy: looks through `/proc` for working folders, open files and mappings below the mount point. Reads
//! links and text only, and never touches the mount itself, which may hang.

use super::super::Holder;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Enough to name in a sentence; a busy machine has thousands of processes.
const HOLDERS_MAX: usize = 64;

pub(in super::super) fn holders(at: &Path) -> Vec<Holder> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let mut pids: Vec<u32> = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids.into_iter().filter_map(|pid| holder(pid, at)).take(HOLDERS_MAX).collect()
}

fn holder(pid: u32, at: &Path) -> Option<Holder> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let path = open_file(&process, at).or_else(|| link(&process, at)).or_else(|| mapping(&process, at))?;
    let program = fs::read_to_string(process.join("comm")).unwrap_or_default();
    Some(Holder { pid, program: program.trim_end().to_owned(), path })
}

fn open_file(process: &Path, at: &Path) -> Option<PathBuf> {
    let descriptors = fs::read_dir(process.join("fd")).ok()?;
    descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).find(|target| target.starts_with(at))
}

fn link(process: &Path, at: &Path) -> Option<PathBuf> {
    ["cwd", "root", "exe"]
        .iter()
        .filter_map(|name| fs::read_link(process.join(name)).ok())
        .find(|target| target.starts_with(at))
}

fn mapping(process: &Path, at: &Path) -> Option<PathBuf> {
    let maps = BufReader::new(fs::File::open(process.join("maps")).ok()?);
    maps.split(b'\n').map_while(Result::ok).find_map(|line| mapped_path(&line).filter(|path| path.starts_with(at)))
}

/// `address perms offset dev inode   pathname` (proc(5)); of the path only a newline is escaped.
fn mapped_path(line: &[u8]) -> Option<PathBuf> {
    let mut rest = line;
    for _ in 0..5 {
        let end = rest.iter().position(|byte| *byte == b' ')?;
        rest = &rest[end + 1..];
    }
    let path = rest.trim_ascii_start();
    path.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn mapped_paths_keep_their_spaces() {
        let table = [
            ("7f00-7f01 r--p 00000000 00:34 17                         /mnt/a b.bin", Some("/mnt/a b.bin")),
            ("7f00-7f01 r-xp 00000000 fe:01 4242   /usr/lib/libc.so.6", Some("/usr/lib/libc.so.6")),
            ("7ffe-7fff rw-p 00000000 00:00 0                          [stack]", None),
            ("7f00-7f01 rw-p 00000000 00:00 0 ", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(mapped_path(line.as_bytes()).as_deref(), expected.map(Path::new), "{line}");
        }
    }

    #[test]
    fn an_open_file_and_a_working_folder_are_named_with_their_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("its path");
        let file = at.join("model.bin");
        fs::write(&file, b"x").expect("a file");
        assert_eq!(holders(&at), []);

        let open = fs::File::open(&file).expect("opens");
        let ours: Vec<PathBuf> =
            holders(&at).into_iter().filter(|h| h.pid == std::process::id()).map(|h| h.path).collect();
        assert_eq!(ours, std::slice::from_ref(&file));
        drop(open);

        let mut child = Command::new("cat").current_dir(&at).stdin(Stdio::piped()).spawn().expect("cat runs");
        let found = holders(&at);
        drop(child.stdin.take());
        child.wait().expect("cat ends");
        assert_eq!(found, [Holder { pid: child.id(), program: "cat".to_owned(), path: at }]);
    }
}
