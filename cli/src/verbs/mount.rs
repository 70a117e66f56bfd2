//! `mount`: shows repos as folders, by the user's engine or, with `--foreground`, by this process. Prints the absolute paths on
//! stdout and nothing else there.

use crate::args::{HubArgs, MountArgs};
use crate::engine::signals::Signals;
use crate::engine::{self, Options};
use crate::exit::{Outcome, fault_of, io_fault};
use crate::output::{self, Format};
use crate::processes::{self, Via};
use crate::{env, paths, wanted};
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;
use weightless_control::client::DeadlineStream;
use weightless_control::{
    AddMount, Client, ClientError, Event, Fault, MountState, MountStatus, Mounted, Status, Subscribe, Unmount,
    UnmountManner,
};
use weightless_core::ErrorKind;
use weightless_core::net::ENDPOINT_DEFAULT;
use weightless_core::repo::RepoSpec;

/// The code of a mount that nobody waits for any more.
const INTERRUPTED: &str = "interrupted";
/// Both questions are answered from memory; a dead mount may have to be cleared.
const CALL_OFF_MS_MAX: u64 = 5_000;
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
        let options = if args.no_store { options.without_local() } else { options };
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
            Err(fault) if fault.code == INTERRUPTED => return Err(fault),
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
    let endpoint = wanted::named_endpoint(args.hub.endpoint.as_deref())?.map(|(endpoint, _)| endpoint);
    let request = AddMount {
        repo: repo.to_string(),
        revision,
        subfolder: path,
        dir: dir.map(|dir| dir.to_string_lossy().into_owned()),
        endpoint,
        account: args.account.clone(),
        at_login: args.at_login,
        follow: args.follow,
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
    let text = std::fs::read_to_string(file).map_err(|error| {
        let sentence = format!("{}: the token file cannot be read: {error}", file.display());
        Fault::new(ErrorKind::InvalidInput.row().code, sentence)
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
    let client = processes::engine(Duration::from_millis(MOUNT_MS_MAX))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| io_fault("waiting for signals", &error))?;
    let waiting = output::Waiting::start(format!("mounting {}", request.repo));
    let outcome = runtime.block_on(ask(client, request, &waiting));
    waiting.end();
    // What still waits for the engine has nobody to tell.
    runtime.shutdown_background();
    outcome
}

/// Waits for the mount, and says what the engine says of it meanwhile. Whoever stops waiting does not want it any more.
async fn ask(mut client: Client<DeadlineStream>, request: &AddMount, waiting: &output::Waiting) -> Outcome<Mounted> {
    let mut signals = Signals::listen().map_err(|error| io_fault("listening to signals", &error))?;
    let (said, mut says) = mpsc::unbounded_channel();
    let about = request.clone();
    tokio::task::spawn_blocking(move || listen(&about, &said));
    let asked = request.clone();
    let mut answer = tokio::task::spawn_blocking(move || client.call(&asked).map_err(ClientError::into_fault));
    loop {
        tokio::select! {
            answer = &mut answer => return answer.map_err(|error| Fault::new("internal", error.to_string()))?,
            Some(fault) = says.recv() => waiting.note(format_args!("{fault}")),
            name = signals.next() => {
                waiting.note(format_args!("{name}: calling it off"));
                call_off(request)?;
                return Err(Fault::new(INTERRUPTED, format!("{}: called off", request.repo)));
            }
        }
    }
}

/// Passes on what the engine tells people about this mount, until nobody wants to know or the engine is gone.
fn listen(request: &AddMount, said: &mpsc::UnboundedSender<Fault>) {
    let Ok(mut client) = processes::engine(Duration::from_millis(MOUNT_MS_MAX)) else { return };
    if client.call(&Subscribe { stats_ms: None }).is_err() {
        return;
    }
    while let Ok(message) = client.next_event() {
        if let Event::Notice { dir, fault } = message.event
            && dir.is_none_or(|dir| is_at(request, &dir))
            && said.send(fault).is_err()
        {
            return;
        }
    }
}

/// Tells the engine that the mount which it is making is not wanted. One that is there already stays.
fn call_off(request: &AddMount) -> Outcome {
    let mut client = processes::engine(Duration::from_millis(CALL_OFF_MS_MAX))?;
    let mounts = client.call(&Status {}).map_err(ClientError::into_fault)?.mounts;
    let starting = mounts.iter().filter(|mount| mount.state == MountState::Starting && is_at(request, &mount.dir));
    for mount in starting {
        let unmount = Unmount { dir: mount.dir.clone(), manner: UnmountManner::Refuse };
        client.call(&unmount).map_err(ClientError::into_fault)?;
    }
    Ok(())
}

/// Whether what was asked for is to be at `dir`; where no folder was named it has the end of its path from its own name.
fn is_at(request: &AddMount, dir: &str) -> bool {
    let place = || {
        let endpoint = wanted::endpoint_url(ENDPOINT_DEFAULT).ok()?;
        let spec = RepoSpec::parse(&request.repo, &endpoint).ok()?;
        wanted::merge(spec, request.revision.as_deref(), request.subfolder.as_deref()).ok()
    };
    match &request.dir {
        Some(at) => at == dir,
        None => place().is_some_and(|spec| Path::new(dir).ends_with(paths::place(&spec))),
    }
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
        Format::Text => output::exact(&mount.dir),
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
