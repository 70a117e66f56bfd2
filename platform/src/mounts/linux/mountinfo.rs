//! Reads the kernel's table of mounts (proc(5), mountinfo). Pure: text in, mounts of ours out.

use super::super::{MountEntry, MountSource, SUBTYPE};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Mounts of ours in `table`, in its order; lines that are not understood are not ours.
pub(super) fn ours(table: &[u8]) -> Vec<MountEntry> {
    table.split(|byte| *byte == b'\n').filter_map(entry).collect()
}

/// `36 35 0:52 / /mnt rw,relatime shared:1 - fuse.weightless weightless:org/name@main ro,user_id=1000,…`: any number of
/// optional fields stands before the lone dash.
fn entry(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let device = str::from_utf8(fields.nth(2)?).ok()?;
    let root = fields.next()?;
    let at = fields.next()?;
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let (file_system, source, options) = (fields.next()?, fields.next()?, fields.next().unwrap_or_default());

    let is_ours = file_system.strip_prefix(b"fuse.").is_some_and(|subtype| subtype == SUBTYPE.as_bytes());
    // A bind mount of a folder inside a mount has another root, and is its maker's to unmount.
    if !is_ours || root != b"/" {
        return None;
    }
    let source = String::from_utf8(unescaped(source)).ok()?;
    Some(MountEntry {
        at: PathBuf::from(OsString::from_vec(unescaped(at))),
        source: MountSource::parse(&source)?,
        owner_uid: owner_uid(str::from_utf8(options).unwrap_or_default()),
        // FUSE names a connection by the minor number of its device.
        connection: device.split_once(':')?.1.parse().ok()?,
    })
}

fn owner_uid(options: &str) -> Option<u32> {
    options.split(',').find_map(|option| option.strip_prefix("user_id=")?.parse().ok())
}

/// Undoes the kernel's `\ooo` for space, tab, newline, backslash and `#`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, others)) = rest.split_first() {
        match others {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if *first == b'\\' => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(at: &str, repo: &str, revision: &str, owner_uid: Option<u32>, connection: u64) -> MountEntry {
        let source = MountSource::Repo { repo: repo.to_owned(), revision: revision.to_owned() };
        MountEntry { at: at.into(), source, owner_uid, connection }
    }

    #[test]
    fn mounts_of_ours_are_told_from_all_others() {
        let ours_at_mnt = mount("/mnt", "org/name", "main", Some(1000), 52);
        let table = [
            (
                "36 35 0:52 / /mnt ro,nosuid,nodev,noatime shared:21 - fuse.weightless weightless:org/name@main \
                 ro,user_id=1000,group_id=1000,default_permissions",
                Some(ours_at_mnt.clone()),
            ),
            // No optional field, and two of them.
            (
                "36 35 0:52 / /mnt ro - fuse.weightless weightless:org/name@main ro,user_id=1000",
                Some(ours_at_mnt.clone()),
            ),
            (
                "36 35 0:52 / /mnt ro shared:1 master:2 - fuse.weightless weightless:org/name@main ro,user_id=1000",
                Some(ours_at_mnt.clone()),
            ),
            (
                "36 35 0:7 / /tmp/a\\040b\\011c\\012d\\134e\\043f ro - fuse.weightless weightless:gpt2@a%2Cb ro,user_id=0",
                Some(mount("/tmp/a b\tc\nd\\e#f", "gpt2", "a,b", Some(0), 7)),
            ),
            (
                "36 35 0:52 / /mnt ro - fuse.weightless weightless:org/name@main",
                Some(mount("/mnt", "org/name", "main", None, 52)),
            ),
            // A bind mount of a folder of ours; another FUSE file system; one that only looks like ours; no FUSE at all.
            ("36 35 0:52 /sub /mnt ro - fuse.weightless weightless:org/name@main ro,user_id=1000", None),
            ("36 35 0:52 / /mnt ro - fuse.sshfs host:/ ro,user_id=1000", None),
            ("36 35 0:52 / /mnt ro - fuse.weightless somebody ro", None),
            ("36 35 0:52 / /mnt ro - fuse.weightless2 weightless:org/name@main ro", None),
            ("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue", None),
            // Cut short.
            ("36 35 0:52 / /mnt ro shared:21", None),
            ("36 35 0:52 / /mnt ro - fuse.weightless", None),
            ("36", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(ours(line.as_bytes()), Vec::from_iter(expected), "{line}");
        }
    }

    #[test]
    fn order_and_number_of_mounts_are_kept() {
        let line = |at, minor| format!("1 2 0:{minor} / {at} ro - fuse.weightless weightless:a/b@main ro,user_id=0\n");
        let table = [line("/x", 1), "1 2 0:9 / /proc rw - proc proc rw\n".to_owned(), line("/x", 2)].concat();
        let found: Vec<u64> = ours(table.as_bytes()).iter().map(|entry| entry.connection).collect();
        assert_eq!(found, [1, 2]);
    }

    #[test]
    fn escapes_are_undone_and_nothing_else_is() {
        let table: [(&[u8], &[u8]); 6] = [
            (b"/plain", b"/plain"),
            (b"/a\\040b", b"/a b"),
            (b"\\134040", b"\\040"),
            (b"end\\", b"end\\"),
            (b"\\04", b"\\04"),
            (b"\\889", b"\\889"),
        ];
        for (field, expected) in table {
            assert_eq!(unescaped(field), expected, "{}", String::from_utf8_lossy(field));
        }
    }
}
