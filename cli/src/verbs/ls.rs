//! `ls`: files of a repo without mounting it. Reads the tree, never content.

use crate::args::LsArgs;
use crate::exit::{Outcome, fault};
use crate::output::{self, Format};
use crate::wanted;
use serde::Serialize;
use weightless_core::hub::{Depth, EntryKind, Hub, TreeEntry};
use weightless_core::repo::RepoSpec;
use weightless_core::{Error, ErrorKind};

/// One line of a listing.
#[derive(Debug, Serialize)]
struct Line {
    /// From the repo's root.
    path: String,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// git blob id of the file or of its LFS pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    oid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    xet: Option<String>,
}

pub(crate) fn run(args: &LsArgs) -> Outcome {
    let wanted = wanted::repo_and_path(&args.repo, args.revision.as_deref(), &args.hub)?;
    let hub = wanted::hub(wanted.net, &args.hub)?;
    let depth = if args.recursive { Depth::Recursive } else { Depth::Folder };
    let entries = wanted::runtime()?.block_on(list(&hub, &wanted.spec, depth)).map_err(fault)?;
    match Format::of(args.json) {
        Format::Json => output::json(&entries.iter().map(line).collect::<Vec<_>>()),
        Format::Text => text(&entries, wanted.spec.path.as_deref()).iter().for_each(output::line),
    }
    Ok(())
}

async fn list(hub: &Hub, spec: &RepoSpec, depth: Depth) -> Result<Vec<TreeEntry>, Error> {
    let commit = hub.commit(&spec.repo, wanted::revision(spec)).await?;
    let path = spec.path.as_deref().unwrap_or_default();
    let absent = match hub.tree(&commit.repo, &commit.sha, path, depth).await {
        // The Hub lists a file as a folder without entries, or says that there is none.
        Ok(entries) if !entries.is_empty() || path.is_empty() => return Ok(entries),
        Ok(_) => Error::new(ErrorKind::EntryNotFound, format!("{}/{path}", spec.repo)),
        Err(error) if !path.is_empty() && is_no_folder(error.kind()) => error,
        Err(error) => return Err(error),
    };
    let entries = hub.paths_info(&commit.repo, &commit.sha, &[path]).await?;
    if entries.is_empty() { Err(absent) } else { Ok(entries) }
}

fn is_no_folder(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::EntryNotFound | ErrorKind::NotADirectory)
}

fn line(entry: &TreeEntry) -> Line {
    let path = entry.path.clone();
    match &entry.kind {
        EntryKind::Folder => Line { path, r#type: "directory", size: None, oid: None, sha256: None, xet: None },
        EntryKind::File { size, git_oid, sha256, xet_hash } => Line {
            path,
            r#type: "file",
            size: *size,
            oid: Some(hex(git_oid)),
            sha256: sha256.as_ref().map(|hash| hex(hash)),
            xet: xet_hash.as_ref().map(|hash| hex(hash)),
        },
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sizes and names, the names from the folder that was asked for.
fn text(entries: &[TreeEntry], folder: Option<&str>) -> Vec<String> {
    let from_folder = |path: &str| -> String {
        let below = folder.and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'));
        output::plain(below.unwrap_or(path))
    };
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| match &entry.kind {
            EntryKind::Folder => vec![String::new(), format!("{}/", from_folder(&entry.path))],
            EntryKind::File { size, .. } => {
                vec![size.map_or_else(|| "?".to_owned(), output::size), from_folder(&entry.path)]
            }
        })
        .collect();
    output::table(&rows, &[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_from_the_folder_that_was_asked_for() {
        let file = |path: &str, size| TreeEntry {
            path: path.into(),
            kind: EntryKind::File { size, git_oid: [0; 20], sha256: None, xet_hash: None },
        };
        let folder = TreeEntry { path: "a/b".into(), kind: EntryKind::Folder };
        let entries = [folder, file("a/c", Some(1500)), file("ab/x\x07", None)];
        assert_eq!(text(&entries, Some("a")), ["         b/", "1.50 kB  c", "      ?  ab/x?"]);
        assert_eq!(text(&entries, None), ["         a/b/", "1.50 kB  a/c", "      ?  ab/x?"]);
    }
}
