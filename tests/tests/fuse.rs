//! A mounted repo is an ordinary read-only folder: the same names, sizes and bytes, nothing that can be changed, and an end
//! that always works.
#![cfg(target_os = "linux")]

use rustix::fs::{FileType, FlockOperation, Mode, StatVfsMountFlags, XattrFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use weightless_core::ErrorKind;
use weightless_hub_sim::net::{Route, stall};
use weightless_hub_sim::{Content, RepoDef, RepoKind, Storage};
use weightless_platform::mounts;
use weightless_tests::mounted::{Mounted, REPO};

/// What a walk sees: folders as `None`, files with their bytes.
type Seen = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn walk(root: &Path, folder: &Path, seen: &mut Seen) {
    for entry in fs::read_dir(folder).expect("it lists") {
        let (path, kind) =
            entry.map(|entry| (entry.path(), entry.file_type().expect("it has a type"))).expect("an entry");
        let name = path.strip_prefix(root).expect("below the root").to_owned();
        if kind.is_dir() {
            walk(root, &path, seen);
            seen.insert(name, None);
        } else {
            seen.insert(name, Some(fs::read(&path).expect("it reads")));
        }
    }
}

#[test]
fn a_mount_holds_the_names_sizes_and_bytes_of_the_commit() {
    let files: Vec<(&str, Content, Storage)> = vec![
        ("README.md", Content::text("# hello\n"), Storage::Git),
        ("empty", Content::text(""), Storage::Git),
        ("one", Content::text("x"), Storage::Git),
        ("block-1", Content::random(1, (256 << 10) - 1), Storage::Xet),
        ("block", Content::random(2, 256 << 10), Storage::Xet),
        ("block+1", Content::random(3, (256 << 10) + 1), Storage::Lfs),
        ("deep/er/and/deeper/model.safetensors", Content::random(4, 5_000_000), Storage::Xet),
        ("deep/er.txt", Content::text("beside er/"), Storage::Git),
        ("names/a b#c?d%e%2F@+&'\"é🦀", Content::text("odd"), Storage::Git),
        ("names/.hidden.", Content::text("dots"), Storage::Git),
        ("names/.DS_Store", Content::text("junk that is there"), Storage::Git),
    ];
    let mut repo = RepoDef::model(REPO);
    let mut expected = Seen::new();
    for (path, content, storage) in files {
        let bytes = content.to_bytes().expect("bytes").to_vec();
        expected.insert(path.into(), Some(bytes));
        expected
            .extend(Path::new(path).ancestors().skip(1).filter(|p| p.parent().is_some()).map(|p| (p.to_owned(), None)));
        repo = repo.file_as(path, content, storage);
    }
    let mounted = Mounted::new(repo);

    let me = fs::metadata("/proc/self").expect("this process");
    let mut seen = Seen::new();
    walk(&mounted.at, &mounted.at, &mut seen);
    assert_eq!(seen.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (path, bytes) in &expected {
        assert!(seen[path] == *bytes, "{} differs", path.display());
        let found = fs::symlink_metadata(mounted.at.join(path)).expect("it is there");
        let size = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let mode = if bytes.is_some() { 0o100_444 } else { 0o040_555 };
        assert_eq!((found.len(), found.mode(), found.blocks()), (size, mode, size.div_ceil(512)), "{}", path.display());
        assert_eq!((found.uid(), found.gid()), (me.uid(), me.gid()));
        assert!(found.modified().expect("a time") > SystemTime::UNIX_EPOCH);
    }
}

#[test]
fn reads_anywhere_in_a_file_give_its_bytes() {
    let content = Content::random(7, 3_000_001);
    let whole = content.to_bytes().expect("bytes");
    let mounted = Mounted::new(RepoDef::model(REPO).file_as("f", content, Storage::Xet));
    let file = File::open(mounted.at.join("f")).expect("it opens");
    let table: [(u64, usize); 8] = [
        (0, 1),
        (0, 3_000_001),
        (262_143, 2),
        (2_999_999, 10),
        (3_000_001, 10),
        (1 << 40, 10),
        (1_000_000, 1 << 20),
        (5, 0),
    ];
    for (offset, len) in table {
        let mut buffer = vec![0; len];
        let mut filled = 0;
        while filled < len {
            match std::os::unix::fs::FileExt::read_at(&file, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) => panic!("{offset}+{len}: {error}"),
            }
        }
        let start = (offset as usize).min(whole.len());
        let end = (start + len).min(whole.len());
        assert!(buffer[..filled] == whole[start..end], "{offset}+{len}");
    }
}

fn mkfifo(at: &Path) -> io::Result<()> {
    Ok(rustix::fs::mknodat(rustix::fs::CWD, at, FileType::Fifo, Mode::RUSR, 0)?)
}

#[test]
fn nothing_in_a_mount_can_be_changed() {
    let mounted = Mounted::new(RepoDef::model(REPO).file("dir/file", Content::text("x")));
    let (file, dir, new) = (mounted.at.join("dir/file"), mounted.at.join("dir"), mounted.at.join("dir/new"));
    let open = |options: &mut OpenOptions| options.open(&file).map(drop);
    let reading = File::open(&file).expect("it opens");
    let table: Vec<(&str, io::Result<()>)> = vec![
        ("write", fs::write(&file, b"y")),
        ("open for writing", open(OpenOptions::new().write(true))),
        ("open for both", open(OpenOptions::new().read(true).write(true))),
        ("append", open(OpenOptions::new().append(true))),
        ("truncate", open(OpenOptions::new().write(true).truncate(true))),
        ("create", fs::write(&new, b"")),
        ("mkdir", fs::create_dir(&new)),
        ("mkfifo", mkfifo(&new)),
        ("unlink", fs::remove_file(&file)),
        ("rmdir", fs::remove_dir(&dir)),
        ("rename", fs::rename(&file, &new)),
        ("link", fs::hard_link(&file, &new)),
        ("symlink", symlink(&file, &new)),
        ("chmod", fs::set_permissions(&file, fs::Permissions::from_mode(0o666))),
        ("chown", chown(&file, Some(1), Some(1))),
        ("utimes", reading.set_modified(SystemTime::UNIX_EPOCH)),
        ("setxattr", rustix::fs::setxattr(&file, "user.x", b"y", XattrFlags::empty()).map_err(io::Error::from)),
        ("removexattr", rustix::fs::removexattr(&file, "user.weightless.commit").map_err(io::Error::from)),
    ];
    for (what, result) in table {
        assert_eq!(result.expect_err(what).kind(), io::ErrorKind::ReadOnlyFilesystem, "{what}");
    }
    assert_eq!(fs::read(&file).expect("it reads"), b"x");
}

#[test]
fn five_thousand_names_are_listed_once_for_each_who_lists() {
    let names: BTreeSet<String> = (0..5_000).map(|number| format!("file-{number:05}.json")).collect();
    let repo =
        names.iter().fold(RepoDef::model(REPO), |repo, name| repo.file(format!("many/{name}"), Content::text(&**name)));
    let mounted = Mounted::new(repo);
    let many = mounted.at.join("many");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let listed: Vec<String> = fs::read_dir(&many)
                    .expect("it lists")
                    .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
                    .collect();
                assert_eq!(listed.len(), names.len());
                assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), names);
            });
        }
    });
    assert_eq!(fs::metadata(many.join("file-04999.json")).expect("it is there").len(), 15);
}

#[test]
fn a_file_tells_its_commit_and_hashes() {
    let repo = RepoDef::model(REPO).file_as("xet", Content::random(1, 100_000), Storage::Xet).file_as(
        "git",
        Content::text("small"),
        Storage::Git,
    );
    let mounted = Mounted::new(repo);
    let commit = mounted.hub.commit_sha(RepoKind::Model, REPO, "main").expect("a commit");
    let facts = |path| mounted.hub.file(RepoKind::Model, REPO, "main", path).expect("a file");
    let (xet, git) = (facts("xet"), facts("git"));
    let sha256 = xet.sha256.expect("Xet files have one");
    let table = [
        ("xet", "commit", Some(commit.clone())),
        ("xet", "etag", Some(sha256.clone())),
        ("xet", "sha256", Some(sha256)),
        ("xet", "xet", xet.xet_hash),
        ("git", "commit", Some(commit.clone())),
        ("git", "etag", Some(git.oid)),
        ("git", "sha256", None),
        ("git", "xet", None),
        ("git", "nothing", None),
        ("", "commit", Some(commit)),
        ("", "etag", None),
    ];
    for (path, name, expected) in table {
        let (path, name) = (mounted.at.join(path), format!("user.weightless.{name}"));
        let mut room = vec![0; 256];
        let found = rustix::fs::getxattr(&path, &*name, &mut room[..]);
        let Some(expected) = expected else {
            assert_eq!(found, Err(Errno::NODATA), "{} {name}", path.display());
            continue;
        };
        assert_eq!(&room[..found.expect("it has a value")], expected.as_bytes(), "{} {name}", path.display());
        assert_eq!(rustix::fs::getxattr_query(&path, &*name), Ok(expected.len()));
        assert_eq!(rustix::fs::getxattr(&path, &*name, &mut room[..expected.len() - 1]), Err(Errno::RANGE));
    }
    let mut room = vec![0; 256];
    let size = rustix::fs::listxattr(mounted.at.join("git"), &mut room).expect("it has some");
    assert_eq!(&room[..size], b"user.weightless.commit\0user.weightless.etag\0");
}

#[test]
fn df_shows_the_repo_as_a_full_read_only_disk() {
    let repo = RepoDef::model(REPO).file("a", Content::zeros(10_000_000)).file("b/c", Content::text("x"));
    let mounted = Mounted::new(repo);
    let found = rustix::fs::statvfs(&mounted.at).expect("it has numbers");
    let size = found.f_blocks * found.f_frsize;
    assert!((10_000_001..10_000_001 + 2 * found.f_frsize).contains(&size), "{size}");
    // The simulator adds `.gitattributes`, as the Hub does, or it does not.
    assert!((2..=3).contains(&found.f_files), "{}", found.f_files);
    assert_eq!((found.f_bfree, found.f_bavail, found.f_ffree), (0, 0, 0));
    assert!(found.f_flag.contains(StatVfsMountFlags::RDONLY | StatVfsMountFlags::NOSUID));
    let entry = mounts::find(&mounted.at).expect("the table is read").expect("it is mounted");
    assert_eq!(entry.source.to_string(), "weightless:org/folder@main");
}

#[test]
fn locks_are_the_kernels_own() {
    let mounted = Mounted::new(RepoDef::model(REPO).file("f", Content::text("x")));
    let open = || File::open(mounted.at.join("f")).expect("it opens");
    let (first, second) = (open(), open());
    rustix::fs::flock(&first, FlockOperation::NonBlockingLockExclusive).expect("free");
    assert_eq!(rustix::fs::flock(&second, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
    drop(first);
    rustix::fs::flock(&second, FlockOperation::LockExclusive).expect("free again");
}

#[test]
fn a_name_that_is_no_utf8_or_too_long_is_refused_in_words_of_the_system() {
    use std::os::unix::ffi::OsStrExt;
    let mounted = Mounted::new(RepoDef::model(REPO).file("f", Content::text("x")));
    let table: [(&[u8], io::ErrorKind); 5] = [
        (b"\xff\xfe", io::ErrorKind::NotFound),
        (b"absent", io::ErrorKind::NotFound),
        (b".Trash-1000", io::ErrorKind::NotFound),
        (b"f/below", io::ErrorKind::NotADirectory),
        (&[b'x'; 256], io::ErrorKind::InvalidFilename),
    ];
    for (name, expected) in table {
        let found = fs::metadata(mounted.at.join(std::ffi::OsStr::from_bytes(name)));
        assert_eq!(found.expect_err("it is not there").kind(), expected, "{}", String::from_utf8_lossy(name));
    }
}

#[test]
fn unmounting_works_within_a_second_while_a_read_waits_for_a_silent_network() {
    let mounted = Mounted::new(RepoDef::model(REPO).file_as("f", Content::random(1, 1 << 20), Storage::Xet));
    let silence = mounted.hub.network().script().on(Route::XorbData).always().run([stall()]);
    let plain = mounted.hub.network().script().on(Route::PlainData).always().run([stall()]);
    let mut file = File::open(mounted.at.join("f")).expect("it opens");
    thread::scope(|scope| {
        let reading = scope.spawn(move || file.read(&mut [0; 100]));
        while mounted.hub.network().script().fired(silence) + mounted.hub.network().script().fired(plain) == 0 {
            thread::yield_now();
        }
        let busy = mounted.runtime.block_on(mounted.mount.unmount()).expect_err("a file is open");
        assert_eq!(busy.kind(), ErrorKind::MountPointBusy);
        let begun = Instant::now();
        mounted.runtime.block_on(mounted.mount.unmount_lazily()).expect("it always works");
        let error = reading.join().expect("no panic").expect_err("its mount is gone");
        assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
        mounted.runtime.block_on(mounted.mount.ended());
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    });
    assert_eq!(fs::read_dir(&mounted.at).expect("the folder is free").count(), 0);
}

#[test]
fn an_unmount_from_outside_is_noticed() {
    let mounted = Mounted::new(RepoDef::model(REPO).file("f", Content::text("x")));
    let ended = mounted.mount.ended();
    let entry = mounts::find(&mounted.at).expect("the table is read").expect("it is mounted");
    mounts::unmount(&entry, mounts::Unmount::Strict).expect("nobody uses it");
    mounted.runtime.block_on(ended);
    mounted.runtime.block_on(mounted.mount.unmount()).expect("gone is gone");
}
