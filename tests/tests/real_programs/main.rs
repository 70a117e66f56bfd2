//! Real programs read through a mount what they read from a local copy of the same repo: the shell's, and Python's
//! libraries for models and data.

mod mounted;

use std::fs;
use std::path::Path;
use std::process::Command;

use mounted::{Mounted, run};
use weightless_hub_sim::Content;

#[test]
fn real_programs_of_the_shell_see_what_a_local_copy_holds() {
    let mounted = Mounted::of(|copy| {
        fs::create_dir_all(copy.join("src/deep/er"))?;
        fs::create_dir_all(copy.join("data"))?;
        for n in 0..40 {
            let folder = if n % 3 == 0 { "src/deep/er" } else { "src" };
            let text = format!("fn number_{n}() {{\n    // a balloon, {n} times\n}}\n").repeat(n + 1);
            fs::write(copy.join(folder).join(format!("number {n}.rs")), text)?;
        }
        fs::write(copy.join("empty"), "")?;
        fs::write(copy.join("data/model.bin"), Content::random(5, 40 << 20).to_bytes()?)?;
        let sums =
            run(Command::new("sh").current_dir(copy).args(["-c", "find . -type f -print0 | xargs -0 sha256sum"]));
        fs::write(copy.join("SHA256SUMS"), sums)
    });
    let (mount, copy) = (mounted.mount(), mounted.copy());

    run(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(mount));

    let copied = mounted.path("copied");
    run(Command::new("cp").arg("-r").args([mount, &copied]));
    run(Command::new("diff").arg("-r").args([&copied, copy]));

    let differing = run(Command::new("rsync")
        .args(["--recursive", "--checksum", "--delete", "--dry-run", "--itemize-changes"])
        .args([mount.join(""), copy.join("")]));
    assert_eq!(differing, "", "rsync would copy something");

    let found = |root: &Path| {
        run(Command::new("rg").args(["--sort=path", "--line-number", "balloon, 3", "."]).current_dir(root))
    };
    assert!(found(copy).lines().count() > 30);
    assert_eq!(found(mount), found(copy));

    let git = |root: &Path, words: &[&str]| {
        run(Command::new("git")
            .env("GIT_DIR", mounted.path("git"))
            .env("GIT_WORK_TREE", root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=Test", "-c", "user.email=test@localhost"])
            .args(words)
            .current_dir(root))
    };
    git(copy, &["init", "--quiet"]);
    git(copy, &["add", "--all"]);
    git(copy, &["commit", "--quiet", "--message=copy"]);
    assert_eq!(git(mount, &["status", "--porcelain"]), "", "git sees a change");
}

#[test]
fn real_programs_of_python_see_what_a_local_copy_holds() {
    let python = std::env::var_os("WEIGHTLESS_PYTHON")
        .expect("WEIGHTLESS_PYTHON names a Python with tests/python/requirements.txt: run `./dev test promises`");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/programs.py");
    let script = |words: &[&Path]| {
        let said = run(Command::new(&python).env("PYTHONDONTWRITEBYTECODE", "1").arg(&programs).args(words));
        println!("{said}");
    };
    let model = std::env::var_os("WEIGHTLESS_DEMO_MODEL");
    let mounted = Mounted::of(|copy| {
        let model = model.as_ref().map(Path::new);
        script(&[&[Path::new("make"), copy], model.as_slice()].concat());
        Ok(())
    });
    run(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(mounted.mount()));
    script(&[Path::new("check"), mounted.mount(), mounted.copy()]);
}
