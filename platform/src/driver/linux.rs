//! FUSE on Linux: `/dev/fuse` and, for everyone but root, the set-user-id helper `fusermount3` (or FUSE 2's `fusermount`).

use nix::unistd::{AccessFlags, Uid, access};
use std::env;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use weightless_core::{Error, ErrorKind, Result};

pub(crate) const DEVICE: &str = "/dev/fuse";

/// Both names are looked for: version 3 first, but some systems carry only one of them.
const HELPERS: [&str; 2] = ["fusermount3", "fusermount"];

/// Where a helper lies when `PATH` is short, as under a desktop session or a service.
const HELPER_FOLDERS: [&str; 5] = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"];

/// What this system has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Facts {
    device_exists: bool,
    device_opens: bool,
    helper_exists: bool,
    is_root: bool,
}

pub(super) fn check() -> Result<()> {
    let facts = Facts {
        device_exists: Path::new(DEVICE).exists(),
        device_opens: OpenOptions::new().read(true).write(true).open(DEVICE).is_ok(),
        helper_exists: fusermount().is_some(),
        is_root: Uid::effective().is_root(),
    };
    judge(facts, || Family::of(&fs::read_to_string("/etc/os-release").unwrap_or_default()))
}

/// The helper that mounts and unmounts for users without rights.
pub(crate) fn fusermount() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(HELPER_FOLDERS.map(PathBuf::from)).collect();
    HELPERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_absolute() && program.is_file() && access(program, AccessFlags::X_OK).is_ok())
}

fn judge(facts: Facts, family: impl FnOnce() -> Family) -> Result<()> {
    let missing = |what: &str, advice: String| Err(Error::new(ErrorKind::DriverMissing, what).advise(advice));
    match facts {
        Facts { device_exists: false, .. } => missing(
            DEVICE,
            "Load the kernel module: sudo modprobe fuse. In a container, start it with --device /dev/fuse \
             --cap-add SYS_ADMIN."
                .to_owned(),
        ),
        // The helper opens it with the rights of who calls it, so it is no way round.
        Facts { device_opens: false, is_root: true, .. } => missing(
            DEVICE,
            "This container may not use it: start it with --device /dev/fuse --cap-add SYS_ADMIN.".to_owned(),
        ),
        Facts { device_opens: false, .. } => missing(
            DEVICE,
            format!("This user may not use it. Root can allow it: {}; sudo chmod 666 {DEVICE}.", family().command()),
        ),
        Facts { is_root: false, helper_exists: false, .. } => {
            missing("fusermount3", format!("Install it: {}.", family().command()))
        }
        Facts { .. } => Ok(()),
    }
}

/// Distributions that share a package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Debian,
    Fedora,
    Arch,
    Suse,
    Alpine,
    Unknown,
}

impl Family {
    /// Reads `ID` and `ID_LIKE` of os-release(5): the distribution itself, then what it descends from.
    fn of(os_release: &str) -> Family {
        let value = |key: &str| {
            os_release
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
                .map(|value| value.trim_matches(['"', '\'']))
                .unwrap_or_default()
        };
        let names = value("ID").split_whitespace().chain(value("ID_LIKE").split_whitespace());
        names
            .filter_map(|name| match name {
                "debian" | "ubuntu" => Some(Family::Debian),
                "fedora" | "rhel" | "centos" => Some(Family::Fedora),
                "arch" => Some(Family::Arch),
                "suse" | "opensuse" | "opensuse-tumbleweed" | "opensuse-leap" | "sles" => Some(Family::Suse),
                "alpine" => Some(Family::Alpine),
                _ => None,
            })
            .next()
            .unwrap_or(Family::Unknown)
    }

    fn command(self) -> &'static str {
        match self {
            Family::Debian => "sudo apt install fuse3",
            Family::Fedora => "sudo dnf install fuse3",
            Family::Arch => "sudo pacman -S fuse3",
            Family::Suse => "sudo zypper install fuse3",
            Family::Alpine => "sudo apk add fuse3",
            Family::Unknown => {
                "sudo apt install fuse3 (Debian, Ubuntu), sudo dnf install fuse3 (Fedora), sudo pacman -S fuse3 (Arch)"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_way_to_get_it() {
        let all = Facts { device_exists: true, device_opens: true, helper_exists: true, is_root: false };
        let table: [(Facts, Option<(&str, &str)>); 8] = [
            (all, None),
            (Facts { is_root: true, ..all }, None),
            (Facts { is_root: true, helper_exists: false, ..all }, None),
            (Facts { helper_exists: false, ..all }, Some(("fusermount3", "apt install fuse3"))),
            (Facts { device_opens: false, ..all }, Some((DEVICE, "chmod 666"))),
            (Facts { device_opens: false, is_root: true, ..all }, Some((DEVICE, "--device"))),
            (Facts { device_exists: false, device_opens: false, ..all }, Some((DEVICE, "modprobe"))),
            (Facts { device_exists: false, device_opens: false, is_root: true, ..all }, Some((DEVICE, "modprobe"))),
        ];
        for (facts, expected) in table {
            let found = judge(facts, || Family::Debian);
            match expected {
                None => assert!(found.is_ok(), "{facts:?}"),
                Some((subject, advice)) => {
                    let error = found.expect_err("a part is missing");
                    assert_eq!(error.kind(), ErrorKind::DriverMissing);
                    assert_eq!(error.subject(), subject, "{facts:?}");
                    assert!(error.advice().contains(advice), "{facts:?}: {}", error.advice());
                }
            }
        }
    }

    #[test]
    fn the_package_manager_follows_the_distribution() {
        let table = [
            ("ID=debian\nVERSION_ID=\"12\"\n", Family::Debian),
            ("NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", Family::Debian),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", Family::Fedora),
            ("ID=fedora\n", Family::Fedora),
            ("ID=manjaro\nID_LIKE=arch\n", Family::Arch),
            ("ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n", Family::Suse),
            ("ID=alpine\n", Family::Alpine),
            ("ID=nixos\n", Family::Unknown),
            ("", Family::Unknown),
        ];
        for (os_release, expected) in table {
            assert_eq!(Family::of(os_release), expected, "{os_release}");
        }
    }
}
