//! `mount`: shows a repo as a folder, hosted by this process or by one that it starts. Prints the absolute path on stdout and
//! nothing else there.

use crate::args::MountArgs;
use crate::exit::{Outcome, fault_of, io_fault};
use crate::host::ready::{self, Started};
use crate::host::{self, Order};
use crate::output::{self, Format};
use crate::paths;
use crate::processes::{self, Via};
use crate::wanted::{self, Who};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use weightless_control::{Fault, MountState, MountStatus};
use weightless_core::ErrorKind;
use weightless_platform::mounts;

/// How long a background start may take: the Hub's answers with their own retries, and the kernel's.
const START_MS_MAX: u64 = 60_000;
/// How long a start that took too long may take to clean up behind itself.
const STOP_MS_MAX: u64 = 5_000;

pub(crate) fn run(args: &MountArgs) -> Outcome {
    let format = Format::of(args.json);
    let order = order(args)?;
    if let Some(there) = there_already(&order)? {
        if args.foreground {
            return Err(busy(&order, &there));
        }
        output::note(format_args!("{} is mounted already", title(&there)));
        say(&there, format);
        return Ok(());
    }
    if args.foreground {
        return host::run(order, |started| {
            announce(&started, format);
            output::note("Ctrl-C unmounts it.");
            Ok(())
        });
    }
    announce(&start(args, &order)?, format);
    Ok(())
}

/// What the arguments ask for, every path absolute.
pub(crate) fn order(args: &MountArgs) -> Outcome<Order> {
    let wanted = wanted::repo(&args.what, args.subfolder.as_deref(), &args.hub)?;
    let dir = match &args.dir {
        Some(dir) => paths::absolute(dir)?,
        None => paths::absolute(&paths::default_dir(&wanted.spec)?)?,
    };
    // Links stay: `/dev/fd/63` of a shell's `<(…)` means something only as it is.
    let token_file = args.hub.token_file.as_deref().map(std::path::absolute).transpose();
    let token_file = token_file.map_err(|error| io_fault("the token file", &error))?;
    Ok(Order { wanted, dir, who: Who::User { token_file }, reader: args.reader.clone() })
}

/// The mount at the place, if it is the one that is wanted; an error if it is another.
fn there_already(order: &Order) -> Outcome<Option<MountStatus>> {
    let Some(there) = processes::at(&order.dir)? else { return Ok(None) };
    if there.status.state == MountState::Dead {
        // The start clears it.
        return Ok(None);
    }
    let spec = &order.wanted.spec;
    let same = matches!(there.via, Via::Socket(_))
        && there.status.repo == spec.repo.to_string()
        && there.status.revision == wanted::revision(spec)
        && there.status.subfolder == spec.path.as_deref().unwrap_or_default()
        && there.status.endpoint == wanted::endpoint(&order.wanted.net);
    if same { Ok(Some(there.status)) } else { Err(busy(order, &there.status)) }
}

fn busy(order: &Order, there: &MountStatus) -> Fault {
    fault_of(ErrorKind::MountPointBusy, order.dir.display().to_string()).advise(format!(
        "{} is mounted there: weightless unmount {}",
        title(there),
        order.dir.display()
    ))
}

fn title(mount: &MountStatus) -> String {
    format!("{}@{}", mount.repo, mount.revision)
}

fn announce(started: &Started, format: Format) {
    for note in &started.notes {
        output::note(note);
    }
    let mount = &started.mount;
    let commit = mount.commit.get(..8).unwrap_or(&mount.commit);
    output::note(format_args!("{} (commit {commit}) is a folder now", title(mount)));
    say(mount, format);
}

fn say(mount: &MountStatus, format: Format) {
    match format {
        Format::Text => output::line(&mount.dir),
        Format::Json => output::json(mount),
    }
}

/// Starts the background process and waits until it is ready or has failed.
fn start(args: &MountArgs, order: &Order) -> Outcome<Started> {
    let log_path = paths::log_file(&order.wanted.spec)?;
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&log_path)
        .map_err(|error| io_fault(log_path.display(), &error))?;
    let program = std::env::current_exe().map_err(|error| io_fault("this program", &error))?;
    let mut child = Command::new(program)
        .args(host_words(args, order))
        // So that it keeps no folder busy; every path in its arguments is absolute.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| io_fault("the background process", &error))?;
    let Some(pipe) = child.stdout.take() else {
        return Err(Fault::new("internal", "the background process has no pipe"));
    };
    let outcome = ready::receive(pipe, Duration::from_millis(START_MS_MAX)).unwrap_or_else(|| {
        stop(&mut child);
        let repo = &order.wanted.spec.repo;
        Err(Fault::new("deadline", format!("{repo}: not ready within {} s", START_MS_MAX / 1000)))
    });
    outcome.map_err(|fault| {
        // A process that was killed in the middle may have left one.
        let _ = mounts::clear_dead(&order.dir);
        match fault.code.as_str() {
            "internal" | "deadline" => fault.advise(format!("Its log: {}", log_path.display())),
            _ => fault,
        }
    })
}

/// The arguments of the background process: what was parsed, not what was typed. The token's file is named, never its content.
fn host_words(args: &MountArgs, order: &Order) -> Vec<String> {
    let spec = &order.wanted.spec;
    let mut words = vec!["host".to_owned()];
    let mut option = |name: &str, value: Option<String>| words.extend(value.map(|value| format!("--{name}={value}")));
    option("endpoint", Some(wanted::endpoint(&order.wanted.net).to_owned()));
    option("revision", spec.revision.clone());
    option("subfolder", spec.path.clone());
    if let Who::User { token_file: Some(path) } = &order.who {
        option("token-file", Some(path.to_string_lossy().into_owned()));
    }
    option("read-ahead-mb", args.reader.read_ahead_mb.map(|n| n.to_string()));
    option("event-loops", args.reader.event_loops.map(|n| n.to_string()));
    option("stall-timeout-ms", args.reader.stall_timeout_ms.map(|n| n.to_string()));
    words.extend(["--".to_owned(), spec.repo.to_string(), order.dir.to_string_lossy().into_owned()]);
    words
}

/// Asks the child to end, and ends it if it does not.
fn stop(child: &mut Child) {
    let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
    for _ in 0..STOP_MS_MAX / 100 {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Verb};
    use clap::Parser;

    fn mount_args(words: &[String]) -> MountArgs {
        let words = std::iter::once("weightless".to_owned()).chain(words.iter().cloned());
        match Cli::try_parse_from(words).unwrap().verb {
            Verb::Mount(args) => args,
            Verb::Host(args) => args.mount,
            _ => unreachable!("only these two are parsed here"),
        }
    }

    #[test]
    fn the_background_process_is_told_exactly_what_was_asked_for() {
        let typed = [
            "mount",
            "http://hub.test/datasets/a/b/tree/refs%2Fpr%2F1/-c d",
            "/tmp/-x",
            "--endpoint=http://hub.test",
            "--token-file=/tmp/t",
            "--read-ahead-mb=64",
            "--event-loops=3",
            "--stall-timeout-ms=1",
        ];
        let args = mount_args(&typed.map(String::from));
        let first = order(&args).unwrap();
        let again = order(&mount_args(&host_words(&args, &first))).unwrap();
        assert_eq!(again.wanted.spec, first.wanted.spec);
        assert_eq!(again.wanted.net.endpoint(), first.wanted.net.endpoint());
        assert_eq!(again.dir, first.dir);
        assert_eq!(again.who, first.who);
        assert_eq!(format!("{:?}", again.reader), format!("{:?}", first.reader));
    }
}
