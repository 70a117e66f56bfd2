//! Whatever the Hub can hold, a folder can show: every size around a boundary, every name, every kind of storage.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use weightless_hub_sim::net::Route;
use weightless_hub_sim::{Content, RepoDef, RepoKind, Storage};
use weightless_tests::mounted::{Mounted, REPO};

const BLOCK: u64 = 256 << 10;
const CELL: u64 = 32 << 20;
const GIB: u64 = 1 << 30;

/// Holds bytes of the mounted file against the commit's.
fn check(mounted: &Mounted, path: &str, offset: u64, len: usize) {
    let facts = mounted.hub.file(RepoKind::Model, REPO, "main", path).expect("the Hub has it");
    let content = facts.content.expect("its content is known");
    let file = File::open(mounted.at.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let expected_len = (content.len().saturating_sub(offset)).min(len as u64) as usize;
    let mut found = vec![0; len];
    let mut at = 0;
    while at < len {
        match file.read_at(&mut found[at..], offset + at as u64).unwrap_or_else(|error| panic!("{path}: {error}")) {
            0 => break,
            read => at += read,
        }
    }
    assert_eq!(at, expected_len, "{path} at {offset}");
    if expected_len > 0 {
        let expected = content.read(offset, expected_len).expect("the content");
        assert!(found[..at] == expected[..], "{path} differs in {len} bytes at {offset}");
    }
}

#[test]
fn sizes_around_every_boundary_in_every_storage() {
    let sizes = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, CELL - 1, CELL, CELL + 1];
    let mut repo = RepoDef::model(REPO);
    let mut files = Vec::new();
    for (n, size) in sizes.into_iter().enumerate() {
        for storage in [Storage::Git, Storage::Lfs, Storage::Xet] {
            // The Hub keeps neither large files in git nor empty ones in Xet.
            if (storage == Storage::Git && size > 4 * BLOCK) || (storage != Storage::Git && size == 0) {
                continue;
            }
            let path = format!("{storage:?}-{size}");
            repo = repo.file_as(&path, Content::random(n as u64, size), storage);
            files.push((path, size));
        }
    }
    let mounted = Mounted::new(repo);
    for (path, size) in files {
        assert_eq!(fs::metadata(mounted.at.join(&path)).expect("its size").len(), size, "{path}");
        check(&mounted, &path, 0, size as usize + 10);
    }
}

#[test]
fn five_gibibytes_read_around_two_to_the_31_and_32_and_the_end() {
    let size = 5 * GIB;
    let mounted = Mounted::new(RepoDef::model(REPO).file_as("big", Content::repeating(1, size), Storage::Xet));
    assert_eq!(fs::metadata(mounted.at.join("big")).expect("its size").len(), size);
    for place in [1 << 31, 1 << 32, size] {
        check(&mounted, "big", place - 70_000, 140_000);
    }
    check(&mounted, "big", size, 10);
    check(&mounted, "big", size + GIB, 10);
}

#[test]
fn every_name_is_found_under_itself() {
    let long = "n".repeat(255);
    let deep = vec!["d"; 200].join("/");
    let names = [
        "a b",
        "a#b",
        "a?b",
        "a%b",
        "a%2Fb",
        "a@b",
        "a+b",
        "a&b",
        "a'b",
        "a\"b",
        ".leading",
        "trailing.",
        "emoji 🦀",
        // é in both normal forms: two names, two files.
        "nfc-\u{e9}",
        "nfd-e\u{301}",
        "twin-\u{e9}",
        "twin-e\u{301}",
        &long,
        "foo.bar/in",
        "a\\b",
        "a:b",
        "a*b",
        "~",
        "-rf",
    ];
    let mut repo = RepoDef::model(REPO)
        .file("foo", Content::text("beside foo.bar/"))
        .file(format!("{deep}/leaf"), Content::text("deep"));
    for name in names {
        repo = repo.file(name, Content::text(format!("I am {name}")));
    }
    let mounted = Mounted::new(repo);
    for name in names {
        assert_eq!(
            fs::read_to_string(mounted.at.join(name)).unwrap_or_else(|e| panic!("{name}: {e}")),
            format!("I am {name}")
        );
    }
    assert_eq!(fs::read_to_string(mounted.at.join("foo")).expect("a file"), "beside foo.bar/");
    assert_eq!(fs::read_to_string(mounted.at.join(deep).join("leaf")).expect("200 levels deep"), "deep");
    let listed: BTreeSet<String> = fs::read_dir(&mounted.at)
        .expect("it lists")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    let expected: BTreeSet<String> = names
        .iter()
        .map(|name| name.split('/').next().expect("a first part").to_owned())
        .chain(["foo".into(), "d".into()])
        .collect();
    assert_eq!(listed, expected);
}

#[test]
fn an_empty_repo_is_an_empty_folder() {
    let mounted = Mounted::new(RepoDef::model(REPO));
    // The Hub gives every repo a .gitattributes or nothing at all; nothing else may appear.
    let names: Vec<_> =
        fs::read_dir(&mounted.at).expect("it lists").map(|entry| entry.expect("an entry").file_name()).collect();
    assert!(names.iter().all(|name| name == ".gitattributes"), "{names:?}");
    assert!(fs::metadata(mounted.at.join("absent")).is_err());
}

#[test]
fn a_huge_folder_costs_its_pages_and_one_name_in_it_one_request() {
    const FILES: usize = 50_000;
    let mut repo = RepoDef::model(REPO).file("README.md", Content::text("x"));
    for n in 0..FILES {
        repo = repo.file(format!("many/{n:05}.txt"), Content::text("x"));
    }
    let mounted = Mounted::new(repo);
    let counters = mounted.hub.network().counters();

    counters.reset();
    assert_eq!(fs::metadata(mounted.at.join("many/31415.txt")).expect("it is there").len(), 1);
    let seen = counters.snapshot();
    assert!(seen.requests_in_all() <= 2, "one name cost {seen:?}");
    assert_eq!(seen.requests(Route::Tree), 0, "one name listed a folder");

    counters.reset();
    assert_eq!(fs::read_dir(mounted.at.join("many")).expect("it lists").count(), FILES);
    let pages = counters.snapshot();
    assert!(pages.requests_in_all() <= (FILES as u64).div_ceil(1000), "{pages:?}");

    counters.reset();
    assert_eq!(fs::metadata(mounted.at.join("many/27182.txt")).expect("it is known now").len(), 1);
    assert!(fs::metadata(mounted.at.join("many/absent.txt")).is_err());
    assert_eq!(fs::read_dir(mounted.at.join("many")).expect("it lists").count(), FILES);
    assert_eq!(counters.snapshot().requests_in_all(), 0, "a listed folder asks nobody");
}

#[test]
fn xet_lfs_and_git_files_side_by_side() {
    let content = |seed| Content::random(seed, 3 * BLOCK + 5);
    let mounted = Mounted::new(
        RepoDef::model(REPO).file_as("xet", content(1), Storage::Xet).file_as("lfs", content(2), Storage::Lfs).file_as(
            "git",
            content(3),
            Storage::Git,
        ),
    );
    for path in ["xet", "lfs", "git"] {
        check(&mounted, path, 0, 4 * BLOCK as usize);
        assert!(mounted.at.join(Path::new(path)).is_file());
    }
}
