//! `info`: what a repo is. Reads the Hub's words and its tree, never content.

use crate::args::InfoArgs;
use crate::exit::{Outcome, fault};
use crate::output::{self, Format};
use crate::wanted;
use serde::Serialize;
use std::time::UNIX_EPOCH;
use weightless_core::Error;
use weightless_core::hub::{Depth, EntryKind, Hub};
use weightless_core::repo::RepoSpec;

/// What is told of a repo.
#[derive(Debug, Serialize)]
struct Info {
    repo: String,
    page: String,
    revision: String,
    commit: String,
    modified_unix_s: u64,
    files: u64,
    /// Sum of the sizes that the Hub tells.
    bytes: u64,
    branches: Vec<String>,
    tags: Vec<String>,
}

pub(crate) fn run(args: &InfoArgs) -> Outcome {
    let wanted = wanted::repo(&args.what, None, &args.hub)?;
    let hub = Hub::new(wanted.net, wanted::token(&args.hub)?).map_err(fault)?;
    let info = wanted::runtime()?.block_on(info(&hub, &wanted.spec)).map_err(fault)?;
    match Format::of(args.json) {
        Format::Json => output::json(&info),
        Format::Text => text(&info).iter().for_each(output::line),
    }
    Ok(())
}

async fn info(hub: &Hub, spec: &RepoSpec) -> Result<Info, Error> {
    let revision = wanted::revision(spec);
    let commit = hub.commit(&spec.repo, revision).await?;
    let folder = spec.path.as_deref().unwrap_or_default();
    let entries = hub.tree(&commit.repo, &commit.sha, folder, Depth::Recursive).await?;
    let sizes = entries.iter().filter_map(|entry| match entry.kind {
        EntryKind::File { size, .. } => Some(size.unwrap_or_default()),
        EntryKind::Folder => None,
    });
    let refs = hub.refs(&commit.repo).await?;
    Ok(Info {
        repo: commit.repo.to_string(),
        page: hub.page(&commit.repo),
        revision: revision.to_owned(),
        commit: commit.sha.to_string(),
        modified_unix_s: commit.modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        files: sizes.clone().count() as u64,
        bytes: sizes.sum(),
        branches: refs.branches.into_iter().map(|branch| branch.name).collect(),
        tags: refs.tags.into_iter().map(|tag| tag.name).collect(),
    })
}

fn text(info: &Info) -> Vec<String> {
    let mut rows = vec![
        vec!["repo".to_owned(), info.repo.clone()],
        vec!["page".to_owned(), info.page.clone()],
        vec!["revision".to_owned(), format!("{} (commit {})", info.revision, info.commit)],
        vec!["size".to_owned(), format!("{} in {} files", output::size(info.bytes), info.files)],
        vec!["branches".to_owned(), info.branches.join(", ")],
    ];
    if !info.tags.is_empty() {
        rows.push(vec!["tags".to_owned(), info.tags.join(", ")]);
    }
    for cell in rows.iter_mut().flatten() {
        *cell = output::plain(cell);
    }
    output::table(&rows, &[])
}
