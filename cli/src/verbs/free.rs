//! `free`: gives back the room that the local store takes, or says what that would be. Never touches the Hugging Face cache.

use crate::args::FreeArgs;
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::processes;
use std::time::Duration;
use weightless_control::ClientError;
use weightless_control::upkeep::{Free, Freed};

/// A store of a million files is a minute's work for a slow disk.
const FREE_MS_MAX: u64 = 120_000;

pub(crate) fn run(args: &FreeArgs) -> Outcome {
    let mut client = processes::engine(Duration::from_millis(FREE_MS_MAX))?;
    let request = Free { repo: args.repo.clone(), dry_run: args.dry_run };
    let freed = client.call(&request).map_err(ClientError::into_fault)?;
    match Format::of(args.json) {
        Format::Json => output::json(&freed),
        Format::Text => text(&freed, args.dry_run),
    }
    Ok(())
}

fn text(freed: &Freed, dry_run: bool) {
    if freed.files == 0 {
        return output::note("Nothing of this is kept on this device.");
    }
    if dry_run {
        let mut rows = vec![["REPO", "FILE", "SIZE"].map(String::from).to_vec()];
        rows.extend(freed.first.iter().map(|file| {
            let repo = if file.repo.is_empty() { "?".to_owned() } else { output::plain(&file.repo) };
            vec![repo, output::plain(&file.path), output::size(file.bytes)]
        }));
        output::table(&rows, &[2]).iter().for_each(output::line);
    }
    let done = if dry_run { "would be freed" } else { "freed" };
    output::note(format_args!("{} {done}: {}", output::size(freed.bytes), output::files(freed.files)));
}
