//! What the tray's menu says, from what is known of the engine. Shows nothing and does nothing.

use crate::engine::EngineState;
use crate::mirror::Mirror;
use crate::recent::Repo;
use crate::texts;
use weightless_control::{MountState, MountStatus};

/// A menu longer than the screen cannot be used; the window shows the rest.
const MOUNTS_SHOWN_MAX: usize = 12;

/// A click, as it is named in the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Opens a mount in the file manager.
    Open(String),
    /// Copies a mount's path.
    Copy(String),
    /// Unmounts.
    Unmount(String),
    /// Shows the window as it was left.
    Window,
    /// Shows a section of the window.
    Show(&'static str),
    /// Shows a repo, ready to be mounted.
    Repo(Repo),
    /// Pauses all network, or goes on.
    Pause(bool),
    /// Tries to start the engine again.
    Restart,
    /// Installs the newer version.
    Update,
    /// Ends the app.
    Quit,
}

/// One line of a menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Says something; cannot be clicked. Known by its name while its text changes.
    Text(&'static str, String),
    /// Does something.
    Item(Action, String),
    /// Opens a menu; known by the mount's folder, or by its name.
    Menu(String, String, Vec<Entry>),
    /// A line between groups.
    Gap,
}

impl Action {
    /// The name by which the menu reports the click.
    pub(crate) fn id(&self) -> String {
        match self {
            Action::Open(dir) => format!("open {dir}"),
            Action::Copy(dir) => format!("copy {dir}"),
            Action::Unmount(dir) => format!("unmount {dir}"),
            Action::Window => "window".into(),
            Action::Show(section) => format!("show {section}"),
            Action::Repo(Repo { repo, revision }) => format!("repo {repo} {revision}"),
            Action::Pause(paused) => format!("pause {paused}"),
            Action::Restart => "restart".into(),
            Action::Update => "update".into(),
            Action::Quit => "quit".into(),
        }
    }
}

/// The action with this name in a menu.
pub(crate) fn action(entries: &[Entry], id: &str) -> Option<Action> {
    entries.iter().find_map(|entry| match entry {
        Entry::Item(it, _) if it.id() == id => Some(it.clone()),
        Entry::Menu(_, _, inner) => action(inner, id),
        _ => None,
    })
}

/// The menu.
pub(crate) fn of(mirror: &Mirror, recent: &[Repo]) -> Vec<Entry> {
    let mut entries = vec![Entry::Text("state", headline(mirror)), Entry::Gap];
    if let EngineState::Failed { .. } = mirror.engine {
        entries.push(Entry::Item(Action::Restart, texts::MENU_RESTART.into()));
    }
    entries.extend(mirror.mounts.iter().take(MOUNTS_SHOWN_MAX).map(mount));
    if mirror.mounts.len() > MOUNTS_SHOWN_MAX {
        entries.push(Entry::Item(Action::Show("mounts"), texts::MENU_MORE.into()));
    }
    entries.push(Entry::Item(Action::Show("add"), texts::MENU_MOUNT.into()));
    entries.extend(recent_menu(mirror, recent));
    entries.push(Entry::Gap);
    if mirror.engine == EngineState::Connected {
        let (paused, text) = match mirror.is_paused {
            true => (false, texts::MENU_RESUME),
            false => (true, texts::MENU_PAUSE),
        };
        entries.push(Entry::Item(Action::Pause(paused), text.into()));
    }
    if let Some(version) = &mirror.update {
        entries.push(Entry::Item(Action::Update, texts::update(version)));
    }
    entries.push(Entry::Item(Action::Window, texts::MENU_SHOW.into()));
    entries.push(Entry::Item(Action::Show("settings"), texts::MENU_SETTINGS.into()));
    entries.push(Entry::Gap);
    entries.push(Entry::Item(Action::Quit, texts::MENU_QUIT.into()));
    entries
}

fn headline(mirror: &Mirror) -> String {
    match &mirror.engine {
        EngineState::Starting => texts::MENU_STARTING.into(),
        EngineState::Lost => texts::MENU_LOST.into(),
        EngineState::Failed { .. } => texts::MENU_FAILED.into(),
        EngineState::Connected if mirror.is_paused => texts::MENU_PAUSED.into(),
        EngineState::Connected if mirror.is_active() => {
            texts::activity(mirror.traffic.fetched_rate_1s, mirror.traffic.delivered_rate_1s)
        }
        EngineState::Connected if mirror.mounts.is_empty() => texts::MENU_NONE.into(),
        EngineState::Connected => texts::MENU_IDLE.into(),
    }
}

fn mount(mount: &MountStatus) -> Entry {
    let mut inner = Vec::new();
    if let Some(fault) = &mount.fault {
        inner.push(Entry::Text("fault", texts::shorten(&fault.sentence)));
    }
    let is_there = !matches!(mount.state, MountState::Starting | MountState::Failed);
    if is_there {
        inner.push(Entry::Item(Action::Open(mount.dir.clone()), texts::MENU_OPEN.into()));
    }
    inner.push(Entry::Item(Action::Copy(mount.dir.clone()), texts::MENU_COPY.into()));
    let unmount = if is_there { texts::MENU_UNMOUNT } else { texts::MENU_GIVE_UP };
    inner.push(Entry::Item(Action::Unmount(mount.dir.clone()), unmount.into()));
    Entry::Menu(mount.dir.clone(), texts::mount_name(mount), inner)
}

/// Repos that are mounted now have their own entries.
fn recent_menu(mirror: &Mirror, recent: &[Repo]) -> Option<Entry> {
    let is_mounted =
        |repo: &Repo| mirror.mounts.iter().any(|mount| mount.repo == repo.repo && mount.revision == repo.revision);
    let entries: Vec<Entry> = recent
        .iter()
        .filter(|repo| !is_mounted(repo))
        .map(|repo| {
            let name = match repo.revision.as_str() {
                "main" => repo.repo.clone(),
                revision => format!("{}@{revision}", repo.repo),
            };
            Entry::Item(Action::Repo(repo.clone()), texts::shorten(&name))
        })
        .collect();
    (!entries.is_empty()).then(|| Entry::Menu("recent".into(), texts::MENU_RECENT.into(), entries))
}

/// Whether both menus have the same entries in the same places, whatever their texts: then nobody's open menu need be closed
/// to show a new rate.
pub(crate) fn is_same_shape(old: &[Entry], new: &[Entry]) -> bool {
    old.len() == new.len()
        && old.iter().zip(new).all(|pair| match pair {
            (Entry::Text(old, _), Entry::Text(new, _)) => old == new,
            (Entry::Item(old, _), Entry::Item(new, _)) => old == new,
            (Entry::Menu(old, _, old_inner), Entry::Menu(new, _, new_inner)) => {
                old == new && is_same_shape(old_inner, new_inner)
            }
            (Entry::Gap, Entry::Gap) => true,
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::Fault;

    fn connected(mounts: &[(&str, MountState)]) -> Mirror {
        let mounts = mounts.iter().map(|(repo, state)| MountStatus::new(*repo, "main", format!("/m/{repo}"), *state));
        Mirror { engine: EngineState::Connected, mounts: mounts.collect(), ..Mirror::default() }
    }

    /// A menu as lines: `-` is a gap, `(…)` cannot be clicked, what is inside is indented.
    fn lines(entries: &[Entry]) -> Vec<String> {
        let mut lines = Vec::new();
        for entry in entries {
            match entry {
                Entry::Text(_, text) => lines.push(format!("({text})")),
                Entry::Item(_, text) => lines.push(text.clone()),
                Entry::Menu(_, text, inner) => {
                    lines.push(format!("{text} >"));
                    lines.extend(self::lines(inner).iter().map(|line| format!("  {line}")));
                }
                Entry::Gap => lines.push("-".into()),
            }
        }
        lines
    }

    #[track_caller]
    fn check(mirror: &Mirror, recent: &[Repo], expected: &[&str]) {
        assert_eq!(lines(&of(mirror, recent)), expected);
    }

    const END: [&str; 4] = ["Open Weightless", "Settings…", "-", "Quit"];

    #[test]
    fn the_menu_follows_the_engine() {
        let starting = Mirror::default();
        check(&starting, &[], &[&["(Starting…)", "-", "Mount…", "-"], &END[..]].concat());

        let fault = Fault::new("engine_missing", "gone");
        let failed = Mirror { engine: EngineState::Failed { fault }, ..Mirror::default() };
        let start = ["(The engine does not run)", "-", "Start the engine again", "Mount…", "-"];
        check(&failed, &[], &[&start, &END[..]].concat());

        let empty = ["(Nothing is mounted)", "-", "Mount…", "-", "Pause all network"];
        check(&connected(&[]), &[], &[&empty, &END[..]].concat());
    }

    #[test]
    fn each_mount_has_its_own_menu_and_recent_ones_are_those_that_are_not_mounted() {
        let mut mirror = connected(&[("a/b", MountState::Ready), ("c/d", MountState::Failed)]);
        mirror.mounts[1].fault = Some(Fault::new("offline", "no network"));
        mirror.is_paused = true;
        let recent = [("a/b", "main"), ("a/b", "v1"), ("e/f", "main")]
            .map(|(repo, revision)| Repo { repo: repo.into(), revision: revision.into() });
        let expected = [
            "(All network is paused)",
            "-",
            "a/b >",
            "  Open folder",
            "  Copy path",
            "  Unmount",
            "c/d >",
            "  (no network)",
            "  Copy path",
            "  Stop trying",
            "Mount…",
            "Recent >",
            "  a/b@v1",
            "  e/f",
            "-",
            "Resume network",
        ];
        check(&mirror, &recent, &[&expected, &END[..]].concat());
    }

    #[test]
    fn the_first_line_shows_the_rate_while_bytes_flow_and_the_menu_keeps_its_shape() {
        let still = connected(&[("a/b", MountState::Ready)]);
        let mut busy = still.clone();
        busy.traffic.fetched_rate_1s = 12_300_000;
        let (still, busy) = (of(&still, &[]), of(&busy, &[]));
        assert_eq!((&lines(&still)[0][..], &lines(&busy)[0][..]), ("(Idle)", "(Fetching 12.3 MB/s)"));
        assert!(is_same_shape(&still, &busy));
        assert!(!is_same_shape(&still, &of(&connected(&[("a/c", MountState::Ready)]), &[])));
        assert!(!is_same_shape(&still, &of(&connected(&[("a/b", MountState::Failed)]), &[])));
    }

    #[test]
    fn a_long_list_ends_in_the_window() {
        let repos: Vec<String> = (0..20).map(|number| format!("a/{number}")).collect();
        let mounts: Vec<_> = repos.iter().map(|repo| (repo.as_str(), MountState::Ready)).collect();
        let lines = lines(&of(&connected(&mounts), &[]));
        assert_eq!(lines.iter().filter(|line| line.ends_with(" >")).count(), MOUNTS_SHOWN_MAX);
        assert!(lines.contains(&texts::MENU_MORE.to_owned()));
    }

    #[test]
    fn a_click_is_found_by_its_name_and_a_stale_one_does_nothing() {
        let entries = of(&connected(&[("a/b", MountState::Ready)]), &[]);
        let unmount = Action::Unmount("/m/a/b".into());
        assert_eq!(action(&entries, &unmount.id()), Some(unmount));
        assert_eq!(action(&entries, "quit"), Some(Action::Quit));
        assert_eq!(action(&entries, "unmount /m/gone"), None);
    }
}
