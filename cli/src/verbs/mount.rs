//! `mount`: shows repos as folders, by the user's engine or, with `--foreground`, by this process. Prints the absolute paths on
//! stdout and nothing else there.

use crate::args::{HubArgs, MountArgs};
use crate::engine::{self, Options};
use crate::exit::{Outcome, fault_of};
use crate::output::{self, Format};
use crate::processes::{self, Via};
use crate::{env, paths, wanted};
use std::path::Path;
use std::time::Duration;
use weightless_control::{AddMount, ClientError, MountState, MountStatus, Mounted};
use weightless_core::ErrorKind;
use weightless_core::repo::RepoSpec;

/// How long a mount may take: the engine's own bound, and some.
const MOUNT_MS_MAX: u64 = 70_000;

pub(crate) fn run(args: &MountArgs) -> Outcome {
    let format = Format::of(args.json);
    if args.each {
        return each(args, format);
    }
    let request = request(args)?;
    if args.foreground {
        refuse_if_there(&request)?;
        let options = Options::for_mount(request, args.reader.overrides())?;
        return engine::run(&options, |mounted, notes| {
            notes.iter().for_each(output::note);
            if let Some(mounted) = mounted {
                announce(&mounted, format);
                output::note("Ctrl-C unmounts it.");
            }
            Ok(())
        });
    }
    refuse_if_there(&request)?;
    let mounted = add(&request)?;
    announce(&mounted, format);
    tell_of_reader_options(args);
    Ok(())
}

/// Several repos, each at its place; all are tried, and the last fault is the outcome.
fn each(args: &MountArgs, format: Format) -> Outcome {
    let dir = args.dir.as_ref().map(|dir| dir.to_string_lossy().into_owned());
    let names = [&args.what.repo].into_iter().chain(dir.as_ref()).chain(&args.more);
    let mut failed = Vec::new();
    for name in names {
        let mut one = args.clone();
        one.what.repo.clone_from(name);
        one.dir = None;
        match request(&one).and_then(|request| add(&request)) {
            Ok(mounted) => announce(&mounted, format),
            Err(fault) => failed.push(fault),
        }
    }
    let Some(last) = failed.pop() else { return Ok(()) };
    for fault in failed {
        output::fault(&fault, Format::Text);
    }
    Err(last)
}

/// What the arguments and this command's environment ask for: the engine may have been started in another one.
fn request(args: &MountArgs) -> Outcome<AddMount> {
    let wanted = wanted::repo(&args.what, args.subfolder.as_deref(), &args.hub)?;
    let RepoSpec { repo, revision, path } = wanted.spec;
    let dir = args.dir.as_deref().map(paths::absolute).transpose()?;
    let names_endpoint = args.hub.endpoint.is_some() || env("HF_ENDPOINT").is_some();
    let request = AddMount {
        repo: repo.to_string(),
        revision,
        subfolder: path,
        dir: dir.map(|dir| dir.to_string_lossy().into_owned()),
        endpoint: names_endpoint.then(|| wanted::endpoint(&wanted.net).to_owned()),
        account: args.account.clone(),
        at_login: args.at_login,
        event_loops: args.reader.event_loops,
        ..AddMount::default()
    };
    with_asker(request, &args.hub)
}

/// Adds who asks: the file that is named, else, where no account is, the token of this command's environment.
pub(crate) fn with_asker(mut request: AddMount, hub: &HubArgs) -> Outcome<AddMount> {
    if let Some(file) = &hub.token_file {
        request = with_token_file(request, file)?;
    } else if request.account.is_none() {
        if let Some(token) = env("HF_TOKEN").map(|token| token.trim().to_owned()).filter(|token| !token.is_empty()) {
            request.token = Some(token);
        } else if let Some(file) = env("HF_TOKEN_PATH").filter(|path| Path::new(path).is_file()) {
            request = with_token_file(request, Path::new(&file))?;
        }
    }
    Ok(request)
}

/// Names the file where it stays; what only this process can read (a shell's `<(…)`) is read now.
fn with_token_file(request: AddMount, file: &Path) -> Outcome<AddMount> {
    let is_file = std::fs::metadata(file).is_ok_and(|meta| meta.is_file());
    if is_file {
        let file = paths::absolute(file)?;
        return Ok(AddMount { token_file: Some(file.to_string_lossy().into_owned()), ..request });
    }
    let text = std::fs::read_to_string(file).map_err(|_| {
        fault_of(ErrorKind::InvalidInput, file.display().to_string()).advise("The token file cannot be read.")
    })?;
    Ok(AddMount { token: Some(text.trim().to_owned()), ..request })
}

/// Another engine of ours may have a mount at the place: one in a terminal, or one that does not answer.
fn refuse_if_there(request: &AddMount) -> Outcome {
    let Some(dir) = &request.dir else { return Ok(()) };
    let Some(there) = processes::at(Path::new(dir))? else { return Ok(()) };
    match there.status.state {
        // The start clears it.
        MountState::Dead => Ok(()),
        // The engine knows better whether it is the same.
        _ if there.is_of_engine() => Ok(()),
        _ => {
            let how = match there.via {
                Via::Socket(_) => format!("{} is mounted there", title(&there.status)),
                Via::Table(_) => "something of ours is mounted there".to_owned(),
            };
            Err(fault_of(ErrorKind::MountPointBusy, dir.as_str()).advise(format!("{how}: weightless unmount {dir}")))
        }
    }
}

fn add(request: &AddMount) -> Outcome<Mounted> {
    let mut client = processes::engine(Duration::from_millis(MOUNT_MS_MAX))?;
    let waiting = output::Waiting::start(format!("mounting {}", request.repo));
    let outcome = client.call(request).map_err(ClientError::into_fault);
    waiting.end();
    outcome
}

fn title(mount: &MountStatus) -> String {
    format!("{}@{}", mount.repo, mount.revision)
}

fn announce(mounted: &Mounted, format: Format) {
    for note in &mounted.notes {
        output::note(note);
    }
    let mount = &mounted.mount;
    let commit = mount.commit.get(..8).unwrap_or(&mount.commit);
    if mounted.is_old {
        output::note(format_args!("{} is mounted already", title(mount)));
    } else {
        output::note(format_args!("{} (commit {commit}) is a folder now", title(mount)));
    }
    match format {
        Format::Text => output::line(&mount.dir),
        Format::Json => output::json(mount),
    }
}

/// The options that hold for a process cannot change the engine that runs: says how that is done.
fn tell_of_reader_options(args: &MountArgs) {
    if args.reader.read_ahead_mb.is_some() || args.reader.stall_timeout_ms.is_some() {
        output::note(
            "Memory and patience are settings of the engine, so these options changed nothing: weightless config set.",
        );
    }
}
