//! `open`: shows a mount in the file manager. Prints its path, for where there is none.

use crate::args::OpenArgs;
use crate::exit::{Outcome, io_fault};
use crate::output;
use crate::processes;
use crate::verbs::unmount::choose_one;
use std::process::{Command, Stdio};
use weightless_control::Fault;

/// What opens a folder, the first that there is.
#[cfg(target_os = "macos")]
const OPENERS: [&str; 1] = ["open"];
/// What opens a folder, the first that there is.
#[cfg(not(target_os = "macos"))]
const OPENERS: [&str; 3] = ["xdg-open", "gio", "kde-open"];

pub(crate) fn run(args: &OpenArgs) -> Outcome {
    let dir = match &args.target {
        Some(target) => choose_one(target)?.status.dir,
        None => only_one()?,
    };
    output::exact(&dir);
    for opener in OPENERS {
        let words: &[&str] = if opener == "gio" { &["open", &dir] } else { &[&dir] };
        let started =
            Command::new(opener).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        match started {
            Ok(status) if status.success() => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_fault(opener, &error)),
        }
    }
    Err(Fault::new("no_file_manager", "no file manager could be started").advise(format!("The folder is {dir}.")))
}

fn only_one() -> Outcome<String> {
    let mut mounts = processes::all()?;
    if let Some(folder) = mounts.iter().find(|known| known.folder.is_some()) {
        return Ok(folder.status.dir.clone());
    }
    match mounts.len() {
        0 => Err(Fault::new("not_mounted", "nothing is mounted").advise("Try: weightless mount Qwen/Qwen2.5-0.5B")),
        1 => Ok(mounts.remove(0).status.dir),
        count => {
            Err(Fault::new("usage", format!("{count} repos are mounted")).advise("Name one: weightless open REPO."))
        }
    }
}
