//! `search`: repos of the Hub by name.

use crate::args::{Kind, SearchArgs};
use crate::exit::{Outcome, fault};
use crate::output::{self, Format};
use crate::wanted;
use serde::Serialize;
use weightless_core::hub::Hub;
use weightless_core::hub::people::{self, Hit};
use weightless_core::repo::RepoKind;

/// A repo that matches, as `--json` gives it.
#[derive(Debug, Serialize)]
struct Found {
    repo: String,
    downloads: Option<u64>,
    likes: Option<u64>,
    licence: Option<String>,
    gated: bool,
    private: bool,
}

pub(crate) fn run(args: &SearchArgs) -> Outcome {
    let hub = Hub::new(wanted::net(&args.hub)?, wanted::token(&args.hub)?).map_err(fault)?;
    let search = people::Search {
        kind: match args.kind {
            Kind::Model => RepoKind::Model,
            Kind::Dataset => RepoKind::Dataset,
            Kind::Space => RepoKind::Space,
        },
        words: args.words.join(" "),
        author: args.author.clone(),
        sort: people::SearchSort::default(),
        limit: args.limit as usize,
    };
    let hits = wanted::runtime()?.block_on(hub.search(&search)).map_err(fault)?;
    let found: Vec<Found> = hits.into_iter().map(found).collect();
    match Format::of(args.json) {
        Format::Json => output::json(&found),
        Format::Text if found.is_empty() => output::note("Nothing was found."),
        Format::Text => text(&found).iter().for_each(output::line),
    }
    Ok(())
}

fn found(hit: Hit) -> Found {
    Found {
        repo: hit.repo.to_string(),
        downloads: hit.downloads,
        likes: hit.likes,
        licence: hit.licence,
        gated: hit.gated,
        private: hit.private,
    }
}

fn text(found: &[Found]) -> Vec<String> {
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
