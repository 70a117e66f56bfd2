//! `folder`: the Hub folder, in which every repo is there under its name; turned on, moved, turned off, or what is known of it.
//! Prints its absolute path on stdout.

use crate::args::{FolderArgs, HubArgs};
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::verbs::mount::with_asker;
use crate::{paths, processes, wanted};
use std::path::Path;
use std::time::Duration;
use weightless_control::{
    AddMount, ClientError, FolderReply, FolderStatus, GetFolder, MountState, SetFolder, UnmountManner,
};

/// How long turning it on or off may take: nobody is asked, but the kernel.
const TURN_MS_MAX: u64 = 20_000;

pub(crate) fn run(args: &FolderArgs) -> Outcome {
    let format = Format::of(args.json);
    let limit = Duration::from_millis(TURN_MS_MAX);
    match args.what.as_deref() {
        None => {
            // What an engine that ended in order kept comes back with the next one.
            let client = match paths::folder_file()?.exists() {
                true => Some(processes::engine(limit)?),
                false => processes::engine_if_needed(limit)?,
            };
            let reply = match client {
                Some(mut client) => client.call(&GetFolder {}).map_err(ClientError::into_fault)?,
                None => FolderReply::default(),
            };
            show(&reply, format);
            Ok(())
        }
        Some("off") => {
            let manner = match (args.lazy, args.force) {
                (true, _) => UnmountManner::Lazily,
                (_, true) => UnmountManner::Force,
                _ => UnmountManner::Refuse,
            };
            let Some(mut client) = processes::engine_if_needed(limit)? else {
                forget()?;
                show(&FolderReply::default(), format);
                return Ok(());
            };
            let request = SetFolder { manner, ..SetFolder::default() };
            show(&client.call(&request).map_err(ClientError::into_fault)?, format);
            Ok(())
        }
        Some(what) => {
            let dir = (what != "on").then(|| paths::absolute(Path::new(what))).transpose()?;
            let request = request(dir.as_deref(), args.account.as_deref(), &args.hub)?;
            let reply = processes::engine(limit)?.call(&request).map_err(ClientError::into_fault)?;
            show(&reply, format);
            Ok(())
        }
    }
}

/// No engine runs that could forget it, and the next one is not to bring it back.
fn forget() -> Outcome {
    crate::engine::record::remove(&paths::folder_file()?);
    Ok(())
}

/// As the arguments and this command's environment say: the engine may have been started in another one.
fn request(dir: Option<&Path>, account: Option<&str>, hub: &HubArgs) -> Outcome<SetFolder> {
    let endpoint = wanted::named_endpoint(hub.endpoint.as_deref())?.map(|(endpoint, _)| endpoint);
    let asker = with_asker(AddMount { account: account.map(str::to_owned), ..AddMount::default() }, hub)?;
    Ok(SetFolder {
        on: true,
        dir: dir.map(|dir| dir.to_string_lossy().into_owned()),
        endpoint,
        account: asker.account,
        token_file: asker.token_file,
        token: asker.token,
        manner: UnmountManner::Refuse,
    })
}

fn show(reply: &FolderReply, format: Format) {
    reply.notes.iter().for_each(output::note);
    match (&reply.folder, format) {
        (_, Format::Json) => output::json(reply),
        (None, Format::Text) => output::note("The Hub folder is off: weightless folder on"),
        (Some(folder), Format::Text) => {
            output::line(output::plain(&folder.dir));
            words(folder).iter().for_each(output::note);
        }
    }
}

/// What people want to know of the folder besides its path.
pub(crate) fn words(folder: &FolderStatus) -> Vec<String> {
    let mut lines = vec![match folder.state {
        MountState::Ready => {
            "Every repo is there under its name: org/name, org/name@revision, datasets/…, spaces/…".to_owned()
        }
        MountState::Starting => "It is being mounted.".to_owned(),
        MountState::Failed => "It is wanted, and not there.".to_owned(),
        MountState::Dead => "Its process is gone; the next command brings it back.".to_owned(),
        _ => "Its process does not answer.".to_owned(),
    }];
    lines.extend(folder.fault.iter().map(|fault| format!("{fault}. {}", fault.advice).trim_end().to_owned()));
    lines.extend(problems(folder));
    lines.iter().map(|line| output::plain(line)).collect()
}

/// Names that led nowhere, a line each.
pub(crate) fn problems(folder: &FolderStatus) -> impl Iterator<Item = String> {
    folder.problems.iter().map(|problem| {
        let line = format!("{}: {}. {}", problem.path, problem.fault, problem.fault.advice);
        output::plain(line.trim_end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::Fault;
    use weightless_control::folder::FolderProblem;

    #[test]
    fn the_folder_says_what_led_nowhere_and_why() {
        let mut folder = FolderStatus::new("/f", MountState::Ready);
        let fault = Fault::new("gated", "org/x@main: the licence").advise("Open the page.");
        folder.problems.push(FolderProblem { path: "org/x".into(), fault });
        assert_eq!(words(&folder)[1], "org/x: org/x@main: the licence. Open the page.");
        folder.state = MountState::Failed;
        folder.fault = Some(Fault::new("driver_missing", "no FUSE"));
        assert_eq!(words(&folder)[1], "no FUSE.");
    }
}
