//! What the engine said last, as tray, quit and commands need it. Changed by its news only; asks nothing.

use crate::engine::{EngineState, News};
use weightless_control::settings::SettingsReply;
use weightless_control::stats::Traffic;
use weightless_control::{Event, MountStatus, StatusReply};

/// The Hub where no setting names another.
pub(crate) const HUB: &str = "https://huggingface.co";

/// What is known of the engine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mirror {
    /// How the app stands with it.
    pub(crate) engine: EngineState,
    /// Its mounts, in its order.
    pub(crate) mounts: Vec<MountStatus>,
    /// Whether all network is paused.
    pub(crate) is_paused: bool,
    /// The last figures; zero while none are watched.
    pub(crate) traffic: Traffic,
    /// Files open, by the last figures.
    pub(crate) open_files: u64,
    /// The Hub that new mounts come from.
    pub(crate) endpoint: String,
    /// The engine's log file; empty where it has none.
    pub(crate) log: String,
    /// A newer version of the app, where there is one.
    pub(crate) update: Option<String>,
}

impl Default for Mirror {
    fn default() -> Self {
        Mirror {
            engine: EngineState::Starting,
            mounts: Vec::new(),
            is_paused: false,
            traffic: Traffic::default(),
            open_files: 0,
            endpoint: HUB.to_owned(),
            log: String::new(),
            update: None,
        }
    }
}

impl Mirror {
    /// Takes news over.
    pub(crate) fn take(&mut self, news: &News) {
        match news {
            News::State(state) => self.state(state),
            News::Status(status) => self.status(status),
            News::Settings(settings) => self.settings(settings),
            News::Event(message) => self.event(&message.event),
        }
    }

    /// Whether bytes went anywhere within the last second.
    pub(crate) fn is_active(&self) -> bool {
        self.traffic.delivered_rate_1s > 0 || self.traffic.fetched_rate_1s > 0
    }

    /// The Hubs that mounts come from.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &str> {
        [self.endpoint.as_str()].into_iter().chain(self.mounts.iter().map(|mount| mount.endpoint.as_str()))
    }

    fn state(&mut self, state: &EngineState) {
        self.engine = state.clone();
        if *state != EngineState::Connected {
            // Mounts may live on without an engine's answer, but nothing here can be said of them.
            self.mounts.clear();
            self.is_paused = false;
            self.still();
        }
    }

    fn still(&mut self) {
        self.traffic = Traffic::default();
        self.open_files = 0;
    }

    fn status(&mut self, status: &StatusReply) {
        self.mounts.clone_from(&status.mounts);
        self.is_paused = status.engine.is_paused;
        self.log.clone_from(&status.engine.log);
    }

    fn settings(&mut self, reply: &SettingsReply) {
        let endpoint = reply.settings.endpoint.as_ref().or(reply.defaults.endpoint.as_ref());
        self.endpoint = endpoint.map_or(HUB, String::as_str).to_owned();
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Mount { mount } => match self.mounts.iter_mut().find(|it| it.dir == mount.dir) {
                Some(old) => old.clone_from(mount),
                None => self.mounts.push((**mount).clone()),
            },
            Event::MountGone { dir } => {
                self.mounts.retain(|mount| mount.dir != *dir);
                if self.mounts.is_empty() {
                    self.still();
                }
            }
            Event::Settings { settings } => self.settings(settings),
            Event::Paused { paused } => self.is_paused = *paused,
            Event::Stats { stats } => {
                self.traffic = stats.total;
                self.open_files = stats.mounts.iter().map(|mount| mount.open_files).sum();
            }
            Event::Folder { .. } | Event::Notice { .. } | Event::Accounts | Event::Other => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::stats::Stats;
    use weightless_control::{EventMessage, MountState};

    fn event(event: Event) -> News {
        News::Event(EventMessage { lost: 0, event })
    }

    fn mount(dir: &str, state: MountState) -> News {
        event(Event::Mount { mount: Box::new(MountStatus::new("a/b", "main", dir, state)) })
    }

    #[test]
    fn mounts_come_change_and_go_and_nothing_is_claimed_of_an_engine_that_is_gone() {
        let mut mirror = Mirror::default();
        let mut check = |news: News, expected: &[(&str, MountState)]| {
            mirror.take(&news);
            let mounts: Vec<_> = mirror.mounts.iter().map(|mount| (mount.dir.as_str(), mount.state)).collect();
            assert_eq!(mounts, expected);
        };
        use MountState::{Ready, Starting};
        check(News::State(EngineState::Connected), &[]);
        check(mount("/m", Starting), &[("/m", Starting)]);
        check(mount("/n", Ready), &[("/m", Starting), ("/n", Ready)]);
        check(mount("/m", Ready), &[("/m", Ready), ("/n", Ready)]);
        check(event(Event::MountGone { dir: "/m".into() }), &[("/n", Ready)]);
        check(event(Event::MountGone { dir: "/x".into() }), &[("/n", Ready)]);
        check(News::State(EngineState::Lost), &[]);
    }

    #[test]
    fn figures_stand_still_when_nothing_is_mounted() {
        let mut mirror = Mirror::default();
        mirror.take(&mount("/m", MountState::Ready));
        let mut stats = Stats::default();
        stats.total.fetched_rate_1s = 1;
        mirror.take(&event(Event::Stats { stats: Box::new(stats) }));
        assert!(mirror.is_active());
        mirror.take(&event(Event::MountGone { dir: "/m".into() }));
        assert!(!mirror.is_active());
    }
}
