//! `info`: what a repo is. Reads the Hub's words and its tree, never content.

use crate::args::InfoArgs;
use crate::engine::questions;
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::{paths, wanted};
use weightless_control::repos::RepoDescription;
use weightless_core::settings::mount_folder;

pub(crate) fn run(args: &InfoArgs) -> Outcome {
    let wanted = wanted::repo(&args.what, None, &args.hub)?;
    let hub = wanted::hub(wanted.net, &args.hub)?;
    let folder = mount_folder(paths::home().ok().as_deref());
    let info = wanted::runtime()?.block_on(questions::describe(&hub, &wanted.spec, &folder))?;
    match Format::of(args.json) {
        Format::Json => output::json(&info),
        Format::Text => text(&info).iter().for_each(output::line),
    }
    Ok(())
}

fn text(info: &RepoDescription) -> Vec<String> {
    let at_least = if info.is_complete { "" } else { "at least " };
    let mut rows = vec![
        vec!["repo".to_owned(), info.repo.clone()],
        vec!["page".to_owned(), info.page.clone()],
        vec!["revision".to_owned(), format!("{} (commit {})", info.revision, info.commit)],
        vec!["size".to_owned(), format!("{at_least}{} in {}", output::size(info.bytes), output::files(info.files))],
        vec!["branches".to_owned(), info.branches.join(", ")],
    ];
    if !info.tags.is_empty() {
        rows.push(vec!["tags".to_owned(), info.tags.join(", ")]);
    }
    if info.gated {
        rows.push(vec!["licence".to_owned(), "to accept on its page".to_owned()]);
    }
    for cell in rows.iter_mut().flatten() {
        *cell = output::plain(cell);
    }
    output::table(&rows, &[])
}
