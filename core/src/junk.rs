//! Names that desktops ask for in every folder, on every visit, and that hardly any repo has: `.DS_Store`, `autorun.inf`
//! and their kind. Asking the Hub for them would make a mount busy that nobody reads.

/// Names that are asked as they stand; compared without regard to case, as the systems that ask for them do.
const NAMES: [&str; 25] = [
    ".DS_Store",
    ".localized",
    ".hidden",
    ".metadata_never_index",
    ".metadata_never_index_unless_rootfs",
    ".metadata_direct_scope_only",
    ".Spotlight-V100",
    ".Trashes",
    ".Trash",
    ".fseventsd",
    ".apdisk",
    ".TemporaryItems",
    ".DocumentRevisions-V100",
    ".com.apple.timemachine.donotpresent",
    ".VolumeIcon.icns",
    "Icon\r",
    ".xdg-volume-info",
    ".directory",
    ".autorun",
    "autorun.inf",
    "desktop.ini",
    "Thumbs.db",
    "ehthumbs.db",
    "System Volume Information",
    "$RECYCLE.BIN",
];

/// What such names begin with, when a user id or a file's name follows.
const PREFIXES: [&str; 2] = ["._", ".Trash-"];

/// Whether `name` is such a name. A repo may still have it: a listing that holds it is right, and this only a guess.
pub fn is_junk(name: &str) -> bool {
    NAMES.iter().any(|junk| junk.eq_ignore_ascii_case(name)) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn desktop_chatter_is_told_from_files() {
        let junk = [
            ".DS_Store",
            "._model.safetensors",
            ".hidden",
            "autorun.inf",
            "AutoRun.inf",
            "desktop.ini",
            "Desktop.ini",
            "Thumbs.db",
            ".xdg-volume-info",
            ".Trash",
            ".Trash-1000",
            ".Trashes",
            ".Spotlight-V100",
            ".fseventsd",
            "Icon\r",
            ".directory",
        ];
        let files = [
            "config.json",
            ".git",
            ".gitattributes",
            ".gitignore",
            ".gitmodules",
            ".env",
            ".hidden_size",
            ".cache",
            "trash",
            "Icon",
            "_._",
            "desktop.ini.bak",
            "DS_Store",
            "",
        ];
        for name in junk {
            assert!(is_junk(name), "{name:?}");
        }
        for name in files {
            assert!(!is_junk(name), "{name:?}");
        }
    }
}
