//! `log`: the commits of a repo, newest first.

use crate::args::LogArgs;
use crate::exit::{Outcome, fault};
use crate::output::{self, Format};
use crate::wanted;
use serde::Serialize;
use weightless_core::Error;
use weightless_core::hub::Hub;
use weightless_core::repo::RepoSpec;

/// A commit, as `--json` gives it.
#[derive(Debug, Serialize)]
struct Line {
    commit: String,
    date: Option<String>,
    title: String,
}

pub(crate) fn run(args: &LogArgs) -> Outcome {
    let wanted = wanted::repo(&args.what, None, &args.hub)?;
    let hub = wanted::hub(wanted.net, &args.hub)?;
    let lines = wanted::runtime()?.block_on(history(&hub, &wanted.spec)).map_err(fault)?;
    match Format::of(args.json) {
        Format::Json => output::json(&lines),
        Format::Text => text(&lines).iter().for_each(output::line),
    }
    Ok(())
}

async fn history(hub: &Hub, spec: &RepoSpec) -> Result<Vec<Line>, Error> {
    let commits = hub.history(&spec.repo, wanted::revision(spec)).await?;
    Ok(commits.into_iter().map(|commit| Line { commit: commit.id, date: commit.date, title: commit.title }).collect())
}

fn text(lines: &[Line]) -> Vec<String> {
    let row = |line: &Line| {
        // 2024-02-19T10:57:45.000Z
        let day = line.date.as_deref().and_then(|date| date.get(..10)).unwrap_or_default();
        vec![
            output::plain(line.commit.get(..8).unwrap_or(&line.commit)),
            output::plain(day),
            output::plain(&line.title),
        ]
    };
    output::table(&lines.iter().map(row).collect::<Vec<_>>(), &[])
}
