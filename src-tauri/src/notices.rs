//! Which of the engine's news the desktop tells, in which words, once for each cause. Shows nothing.

use crate::engine::{EngineState, News};
use crate::texts;
use std::collections::HashSet;
use weightless_control::{Event, Fault, MountState};

/// What has one cause for all mounts, and is told with or without one.
const SHARED: [&str; 4] = ["token_rejected", "disk_full", "driver_missing", "tls_untrusted"];
/// What passes by itself, also where a mount is lost by it: it is tried again, and the window shows it. A notification would
/// come with every train ride.
const PASSING: [&str; 6] = ["offline", "hub_down", "rate_limited", "stalled", "connection", "deadline"];

/// What was told and still holds.
#[derive(Debug, Default)]
pub(crate) struct Told(HashSet<Cause>);

/// A mount, or none, and the fault's code.
type Cause = (Option<String>, String);

impl Told {
    /// The words, if this is news that is to be told and has not been told.
    pub(crate) fn take(&mut self, news: &News) -> Option<String> {
        match news {
            News::State(EngineState::Failed { fault }) => self.tell(None, "engine", fault),
            News::State(EngineState::Connected) => {
                self.forget(|(_, code)| code == "engine");
                None
            }
            News::Event(message) => match &message.event {
                Event::Notice { dir, fault } if is_told(dir.as_deref(), fault) => {
                    let is_shared = SHARED.contains(&fault.code.as_str());
                    self.tell(dir.as_deref().filter(|_| !is_shared), &fault.code, fault)
                }
                Event::Mount { mount } if mount.state == MountState::Ready && mount.fault.is_none() => {
                    self.forget(|(dir, _)| dir.as_ref() == Some(&mount.dir));
                    None
                }
                Event::MountGone { dir } => {
                    self.forget(|(about, _)| about.as_ref() == Some(dir));
                    None
                }
                Event::Accounts => {
                    self.forget(|(_, code)| code == "token_rejected");
                    None
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn tell(&mut self, dir: Option<&str>, code: &str, fault: &Fault) -> Option<String> {
        self.0.insert((dir.map(str::to_owned), code.to_owned())).then(|| texts::fault(fault))
    }

    fn forget(&mut self, is_over: impl Fn(&Cause) -> bool) {
        self.0.retain(|cause| !is_over(cause));
    }
}

fn is_told(dir: Option<&str>, fault: &Fault) -> bool {
    let code = fault.code.as_str();
    SHARED.contains(&code) || (dir.is_some() && !PASSING.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::{EventMessage, MountStatus};

    fn event(event: Event) -> News {
        News::Event(EventMessage { lost: 0, event })
    }

    fn notice(dir: Option<&str>, code: &str) -> News {
        event(Event::Notice { dir: dir.map(Into::into), fault: Fault::new(code, code) })
    }

    fn failed() -> News {
        News::State(EngineState::Failed { fault: Fault::new("engine_missing", "no engine") })
    }

    #[test]
    fn a_cause_is_told_once_until_it_is_over() {
        let mut told = Told::default();
        let mut check = |news: News, is_told: bool| {
            let words = told.take(&news);
            assert_eq!(words.is_some(), is_told, "{news:?}: {words:?}");
        };
        check(notice(None, "token_rejected"), true);
        check(notice(None, "token_rejected"), false);
        check(notice(Some("/m"), "token_rejected"), false);
        check(event(Event::Accounts), false);
        check(notice(None, "token_rejected"), true);

        check(notice(Some("/m"), "repo_not_found"), true);
        check(notice(Some("/m"), "repo_not_found"), false);
        check(notice(Some("/n"), "repo_not_found"), true);
        let well = MountStatus::new("a/b", "main", "/m", MountState::Ready);
        check(event(Event::Mount { mount: Box::new(well) }), false);
        check(notice(Some("/m"), "repo_not_found"), true);
        check(notice(Some("/n"), "repo_not_found"), false);
        check(event(Event::MountGone { dir: "/n".into() }), false);
        check(notice(Some("/n"), "repo_not_found"), true);

        check(failed(), true);
        check(News::State(EngineState::Starting), false);
        check(failed(), false);
        check(News::State(EngineState::Connected), false);
        check(failed(), true);
    }

    #[test]
    fn what_passes_by_itself_is_not_told() {
        for code in PASSING {
            assert_eq!(Told::default().take(&notice(Some("/m"), code)), None, "{code}");
            assert_eq!(Told::default().take(&notice(None, code)), None, "{code}");
        }
        assert_eq!(Told::default().take(&notice(None, "settings_invalid")), None);
    }
}
