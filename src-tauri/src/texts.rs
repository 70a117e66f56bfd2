//! What people read outside the window: the tray's menu, dialogs, notifications, the terminal. One place, so that it can be
//! translated; the window has its own in ui/.

use weightless_control::{Fault, MountStatus};

pub(crate) const NAME: &str = "Weightless";
pub(crate) const CANNOT_START: &str = "Weightless cannot start";

pub(crate) const ENGINE_MISSING: &str = "the program `weightless` was not found beside the app";
pub(crate) const ENGINE_MISSING_ADVICE: &str = "Install Weightless again, or set WEIGHTLESS_BIN to the program's path.";
pub(crate) const ENGINE_SILENT: &str = "the engine does not answer";
pub(crate) const ENGINE_ENDED: &str = "the engine ended before it was ready";
pub(crate) const ENGINE_ENDS_AT_ONCE: &str = "the engine ends as soon as it has started";
pub(crate) const ENGINE_LOG_ADVICE: &str = "Its log says why.";
pub(crate) const CANNOT_OPEN: &str = "it could not be opened";
pub(crate) const ENGINE_STRANGE: &str = "the engine answers in a way this version does not understand";

pub(crate) const MENU_STARTING: &str = "Starting…";
pub(crate) const MENU_IDLE: &str = "Idle";
pub(crate) const MENU_PAUSED: &str = "All network is paused";
pub(crate) const MENU_LOST: &str = "The engine has gone; starting it again…";
pub(crate) const MENU_FAILED: &str = "The engine does not run";
pub(crate) const MENU_NONE: &str = "Nothing is mounted";
pub(crate) const MENU_OPEN: &str = "Open folder";
pub(crate) const MENU_COPY: &str = "Copy path";
pub(crate) const MENU_UNMOUNT: &str = "Unmount";
pub(crate) const MENU_GIVE_UP: &str = "Stop trying";
pub(crate) const MENU_MORE: &str = "All mounts…";
pub(crate) const MENU_MOUNT: &str = "Mount…";
pub(crate) const MENU_RECENT: &str = "Recent";
pub(crate) const MENU_PAUSE: &str = "Pause all network";
pub(crate) const MENU_RESUME: &str = "Resume network";
pub(crate) const MENU_SHOW: &str = "Open Weightless";
pub(crate) const MENU_SETTINGS: &str = "Settings…";
pub(crate) const MENU_RESTART: &str = "Start the engine again";
pub(crate) const MENU_QUIT: &str = "Quit";

pub(crate) const QUIT_TITLE: &str = "Quit Weightless?";
pub(crate) const QUIT_KEEP: &str = "Keep mounted";
pub(crate) const QUIT_UNMOUNT: &str = "Unmount all";
pub(crate) const CANCEL: &str = "Cancel";
pub(crate) const ANYWAY: &str = "Unmount anyway";
pub(crate) const BUSY_TITLE: &str = "Files are open";

#[cfg(target_os = "linux")]
pub(crate) const NO_DISPLAY: &str = "There is no display: Weightless is a desktop app and needs a graphical session \
    (DISPLAY or WAYLAND_DISPLAY). In a terminal, `weightless mount` does the same without one.";
#[cfg(target_os = "linux")]
pub(crate) const NO_TRAY_LIBRARY: &str = "no tray icon: the library libayatana-appindicator3 is missing; install it and \
    start Weightless again to have one";

/// What quitting asks.
pub(crate) fn quit_question(mounts: usize) -> String {
    let what = match mounts {
        1 => "One repo is mounted".to_owned(),
        count => format!("{count} repos are mounted"),
    };
    format!("{what}. Mounted repos can go on working without this app.")
}

/// What unmounting one repo does to programs that read it.
pub(crate) const BUSY_ONE: &str =
    "If you unmount anyway, they can go on reading what they have open, and nothing else.";
/// What ending the engine does to programs that read.
pub(crate) const BUSY_ALL: &str = "If you unmount anyway, programs that read get errors.";

/// What unmounting asks where files are open.
pub(crate) fn busy_question(fault: &Fault, consequence: &str) -> String {
    const HOLDERS_SHOWN_MAX: usize = 5;
    let mut lines = vec![sentence(&fault.sentence)];
    lines.extend(fault.holders.iter().take(HOLDERS_SHOWN_MAX).map(ToString::to_string));
    if fault.holders.len() > HOLDERS_SHOWN_MAX {
        lines.push(format!("and {} more", fault.holders.len() - HOLDERS_SHOWN_MAX));
    }
    lines.push(consequence.to_owned());
    lines.join("\n")
}

/// What the menu calls a mount: `org/name`, and its revision where it is not the usual one.
pub(crate) fn mount_name(mount: &MountStatus) -> String {
    let mut name = mount.repo.clone();
    if mount.revision != "main" {
        name += &format!("@{}", mount.revision);
    }
    if !mount.subfolder.is_empty() {
        name += &format!(": {}", mount.subfolder);
    }
    shorten(&name)
}

/// Menus do not wrap. The end of a name tells more than its middle.
pub(crate) fn shorten(name: &str) -> String {
    const SHOWN_MAX: usize = 52;
    const HEAD: usize = 24;
    let count = name.chars().count();
    if count <= SHOWN_MAX {
        return name.to_owned();
    }
    let head: String = name.chars().take(HEAD).collect();
    let tail: String = name.chars().skip(count - (SHOWN_MAX - HEAD - 1)).collect();
    format!("{head}…{tail}")
}

/// A fault for people: its sentence and what to do.
pub(crate) fn fault(fault: &Fault) -> String {
    let mut text = sentence(&fault.sentence);
    if !fault.advice.is_empty() {
        text += &format!(" {}", fault.advice);
    }
    text
}

/// With a capital and a full stop. A name at the beginning keeps its case.
fn sentence(text: &str) -> String {
    let is_word = text.split_whitespace().next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    let mut chars = text.chars();
    let mut text = match chars.next() {
        Some(first) if is_word => first.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    };
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

/// `12.3 MB/s`, in powers of 1000 as the window shows it.
pub(crate) fn rate(bytes_s: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes_s as f64, 0);
    // 999.6 would be printed as 1000.
    while value >= 999.5 && unit < UNITS.len() - 1 {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.95 { 0 } else { 1 };
    format!("{value:.digits$} {}/s", UNITS[unit])
}

/// The first line of the menu while bytes flow.
pub(crate) fn activity(fetched_s: u64, delivered_s: u64) -> String {
    if fetched_s > 0 { format!("Fetching {}", rate(fetched_s)) } else { format!("Reading {}", rate(delivered_s)) }
}

/// Told once for each version.
pub(crate) fn update_found(version: &str) -> String {
    format!("Version {version} is there. The tray's menu installs it.")
}

/// An update that went wrong.
pub(crate) fn update_failed(cause: &str) -> String {
    format!("The newer version could not be installed: {cause}")
}

/// The menu's entry for a newer version.
pub(crate) fn update(version: &str) -> String {
    format!("Install version {version} and restart")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::{Holder, MountState};

    #[test]
    fn rates_have_three_digits_and_a_unit() {
        #[track_caller]
        fn check(bytes_s: u64, expected: &str) {
            assert_eq!(rate(bytes_s), expected);
        }
        check(0, "0 B/s");
        check(999, "999 B/s");
        check(1_000, "1.0 kB/s");
        check(12_345_678, "12.3 MB/s");
        check(99_960_000, "100 MB/s");
        check(999_600_000, "1.0 GB/s");
        check(u64::MAX, "18446744 TB/s");
    }

    #[test]
    fn names_and_sentences_are_made_for_reading() {
        let mut mount = MountStatus::new("datasets/a/b", "main", "/m", MountState::Ready);
        assert_eq!(mount_name(&mount), "datasets/a/b");
        mount.revision = "v1".into();
        mount.subfolder = "c/d".into();
        assert_eq!(mount_name(&mount), "datasets/a/b@v1: c/d");
        let long = format!("{}/{}", "o".repeat(60), "n".repeat(60));
        assert_eq!(shorten(&long).chars().count(), 52);

        assert_eq!(fault(&Fault::new("x", "the disk is full").advise("Free some.")), "The disk is full. Free some.");
        assert_eq!(fault(&Fault::new("x", "a/b: no such repo")), "a/b: no such repo.");
        let mut busy = Fault::new("mount_point_busy", "/m is in use");
        busy.holders = (0..7).map(|pid| Holder { pid, program: "p".into(), path: "/m/f".into() }).collect();
        let question = busy_question(&busy, BUSY_ALL);
        assert!(question.contains("p (pid 0) has /m/f") && question.contains("and 2 more"), "{question}");
    }
}
