//! Extended attributes: `user.weightless.commit`, `.etag`, `.sha256`, `.xet`. Pure: what the core knows in, bytes out.

use std::ffi::OsStr;

const PREFIX: &str = "user.weightless.";

/// What the kernel gets for the room it offers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fit<T> {
    /// It only asked for the size, in bytes.
    Size(u32),
    /// It fits.
    Data(T),
    /// It does not.
    TooSmall,
}

/// The value of `name`, if it is one of ours and known.
pub(super) fn value(attributes: Vec<(&'static str, String)>, name: &OsStr) -> Option<String> {
    let short = name.to_str()?.strip_prefix(PREFIX)?;
    attributes.into_iter().find(|(known, _)| *known == short).map(|(_, value)| value)
}

/// All names, each ended by a zero byte (listxattr(2)).
pub(super) fn names(attributes: &[(&'static str, String)]) -> String {
    attributes.iter().flat_map(|(name, _)| [PREFIX, name, "\0"]).collect()
}

/// Room of 0 bytes is a question for the size.
pub(super) fn fit<T: AsRef<[u8]>>(data: T, room_bytes: u32) -> Fit<T> {
    match u32::try_from(data.as_ref().len()) {
        Ok(size) if room_bytes == 0 => Fit::Size(size),
        Ok(size) if size <= room_bytes => Fit::Data(data),
        _ => Fit::TooSmall,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    fn known() -> Vec<(&'static str, String)> {
        vec![("commit", "c0ffee".to_owned()), ("etag", "e".to_owned())]
    }

    #[test]
    fn only_names_of_ours_have_a_value() {
        let table: [(&[u8], Option<&str>); 8] = [
            (b"user.weightless.commit", Some("c0ffee")),
            (b"user.weightless.etag", Some("e")),
            (b"user.weightless.xet", None),
            (b"user.weightless.", None),
            (b"commit", None),
            (b"security.selinux", None),
            (b"system.posix_acl_access", None),
            (b"user.weightless.\xff", None),
        ];
        for (name, expected) in table {
            assert_eq!(value(known(), OsStr::from_bytes(name)).as_deref(), expected);
        }
    }

    #[test]
    fn names_are_listed_with_a_zero_byte_each() {
        assert_eq!(names(&known()), "user.weightless.commit\0user.weightless.etag\0");
        assert_eq!(names(&[]), "");
    }

    #[test]
    fn the_size_is_asked_first_and_too_little_room_is_told() {
        let table = [(0, Fit::Size(6)), (5, Fit::TooSmall), (6, Fit::Data("c0ffee")), (4096, Fit::Data("c0ffee"))];
        for (room, expected) in table {
            assert_eq!(fit("c0ffee", room), expected, "{room}");
        }
        assert_eq!(fit("", 0), Fit::Size(0));
        assert_eq!(fit("", 10), Fit::Data(""));
    }
}
