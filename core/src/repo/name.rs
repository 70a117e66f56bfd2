//! Which repo names, revisions and paths can exist at all. Says what is wrong in a sentence; never guesses a correction.

/// Longest segment of a repo name, in characters; the Hub's own limit.
pub const NAME_CHARS_MAX: usize = 96;
/// Longest revision, in bytes: a git ref is a file name.
pub const REVISION_BYTES_MAX: usize = 255;
/// Longest file or folder name, in bytes: `NAME_MAX` of every file system we show it on.
pub const COMPONENT_BYTES_MAX: usize = 255;

/// Checks `org/name` or `name` by the Hub's rules.
pub fn check_repo(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("A repo name is missing: write org/name.");
    }
    if name.matches('/').count() > 1 {
        return Err("A repo is org/name, two parts; a folder inside it goes into hf://org/name/folder.");
    }
    for segment in name.split('/') {
        check_segment(segment)?;
    }
    if name.contains("--") || name.contains("..") {
        return Err("A repo name cannot contain -- or .. .");
    }
    if name.ends_with(".git") {
        return Err("A repo name cannot end in .git: leave that off.");
    }
    Ok(())
}

fn check_segment(segment: &str) -> Result<(), &'static str> {
    if segment.is_empty() {
        return Err("A part of org/name is empty.");
    }
    if !segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        return Err("A repo name has only letters, digits, '-', '_' and '.'.");
    }
    if segment.len() > NAME_CHARS_MAX {
        return Err("A part of a repo name has at most 96 characters.");
    }
    if segment.starts_with(['-', '.']) || segment.ends_with(['-', '.']) {
        return Err("A part of a repo name cannot start or end with '-' or '.'.");
    }
    Ok(())
}

/// Checks a branch, tag, commit or ref by git's rules for ref names.
pub fn check_revision(revision: &str) -> Result<(), &'static str> {
    if revision.is_empty() {
        return Err("After @ a revision is missing: a branch, a tag, a commit or refs/pr/N.");
    }
    if revision.len() > REVISION_BYTES_MAX {
        return Err("A revision has at most 255 bytes.");
    }
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    if revision.contains(forbidden) || revision.contains("..") || revision.contains("@{") {
        return Err("A revision cannot contain spaces, control characters, '..', '@{' or any of ~^:?*[\\.");
    }
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    if revision.split('/').any(bad_part) || revision.ends_with('.') || revision.starts_with('-') || revision == "@" {
        return Err("This cannot be the name of a branch, a tag or a commit.");
    }
    Ok(())
}

/// Checks a path inside a repo: `folder/file`, without a slash at either end.
pub fn check_path(path: &str) -> Result<(), &'static str> {
    for component in path.split('/') {
        match component {
            "" => return Err("A path inside a repo has no empty parts."),
            "." | ".." => return Err("A path inside a repo has no '.' or '..' parts."),
            _ if component.contains('\0') => return Err("A path cannot contain a NUL character."),
            _ if component.len() > COMPONENT_BYTES_MAX => return Err("A file name has at most 255 bytes."),
            _ => {}
        }
    }
    Ok(())
}
