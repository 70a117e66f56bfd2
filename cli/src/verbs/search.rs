//! `search`: repos of the Hub by name.

use crate::args::{Kind, SearchArgs};
use crate::engine::questions;
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::wanted;
use weightless_control::repos::{RepoHit, RepoKind, Search};

pub(crate) fn run(args: &SearchArgs) -> Outcome {
    let hub = wanted::hub(wanted::net(&args.hub)?, &args.hub)?;
    let search = Search {
        kind: match args.kind {
            Kind::Model => RepoKind::Model,
            Kind::Dataset => RepoKind::Dataset,
            Kind::Space => RepoKind::Space,
        },
        words: args.words.join(" "),
        author: args.author.clone(),
        limit: Some(args.limit),
    };
    let found = wanted::runtime()?.block_on(questions::search(&hub, search))?.repos;
    match Format::of(args.json) {
        Format::Json => output::json(&found),
        Format::Text if found.is_empty() => output::note("Nothing was found."),
        Format::Text => text(&found).iter().for_each(output::line),
    }
    Ok(())
}

fn text(found: &[RepoHit]) -> Vec<String> {
    let mut rows = vec![["REPO", "DOWNLOADS", "LIKES", "LICENCE", ""].map(String::from).to_vec()];
    for repo in found {
        let number = |number: Option<u64>| number.map(output::count).unwrap_or_default();
        let marks = match (repo.gated, repo.private) {
            (true, _) => "licence to accept",
            (_, true) => "private",
            _ => "",
        };
        rows.push(vec![
            output::plain(&repo.repo),
            number(repo.downloads),
            number(repo.likes),
            output::plain(repo.licence.as_deref().unwrap_or_default()),
            marks.to_owned(),
        ]);
    }
    output::table(&rows, &[1, 2])
}
