//! How much memory this process may count on: that of the machine, or of the control group it lives in (a container, a
//! service), whichever is less. Linux tells in files; where they are missing the answer is `None`.

use std::fs;
use std::path::{Path, PathBuf};

/// In bytes.
pub(crate) fn usable_bytes() -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let physical = read(Path::new("/proc/meminfo")).and_then(|text| total(&text));
    let groups = read(Path::new("/proc/self/cgroup")).map(|text| limit_files(&text)).unwrap_or_default();
    let limits = groups.iter().filter_map(|path| read(path)?.trim().parse().ok());
    limits.chain(physical).min()
}

/// `MemTotal:       16384256 kB`
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Files that may hold a limit: of the group and of all groups around it (cgroups(7); version 2 `0::/path`, version 1
/// `4:memory:/path`). `max` means none, as does version 1's number near 2^63.
fn limit_files(cgroup: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (root, name) = match fields.next() {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some(controllers) if controllers.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(fields.next().unwrap_or("/"));
        let groups = group.ancestors().filter_map(|group| group.strip_prefix("/").ok());
        files.extend(groups.map(|group| Path::new(root).join(group).join(name)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_kibibytes() {
        assert_eq!(total("MemTotal:       16384256 kB\nMemFree: 1 kB\n"), Some(16_777_478_144));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: many\n"), None);
    }

    #[test]
    fn a_group_is_bound_by_all_groups_around_it() {
        #[track_caller]
        fn check(cgroup: &str, expected: &[&str]) {
            assert_eq!(limit_files(cgroup), expected.iter().map(PathBuf::from).collect::<Vec<_>>());
        }
        check("0::/\n", &["/sys/fs/cgroup/memory.max"]);
        check(
            "0::/user.slice/a\n",
            &[
                "/sys/fs/cgroup/user.slice/a/memory.max",
                "/sys/fs/cgroup/user.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ],
        );
        check(
            "5:cpu,cpuacct:/x\n4:memory:/docker/1\n",
            &[
                "/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            ],
        );
        check("", &[]);
    }
}
