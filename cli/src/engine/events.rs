//! What happens, told to every client that listens. Never waits for one: who is too slow loses the oldest, and is told how many.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;
use weightless_control::{Event, Fault};

/// Events kept for a client that is busy; the most that one can be behind.
const EVENTS_KEPT_MAX: usize = 256;

/// The stream's source.
#[derive(Debug)]
pub(crate) struct Events {
    sender: broadcast::Sender<Arc<Event>>,
    /// Notices whose cause still holds, by what they are about and their code, so that none is told twice; std because it is held
    /// for a lookup only.
    told: Mutex<BTreeMap<(Option<String>, String), Fault>>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Events { sender: broadcast::channel(EVENTS_KEPT_MAX).0, told: Mutex::default() }
    }

    /// All events from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Event>> {
        self.sender.subscribe()
    }

    /// Tells everybody.
    pub(crate) fn tell(&self, event: Event) {
        // An error means that nobody listens.
        let _ = self.sender.send(Arc::new(event));
    }

    /// Tells in words what is wrong with the mount at `dir` (or with everything), once for each cause.
    pub(crate) fn notice(&self, dir: Option<&str>, fault: &Fault) {
        let cause = (dir.map(str::to_owned), fault.code.clone());
        if self.told().insert(cause, fault.clone()).is_none() {
            self.tell(Event::Notice { dir: dir.map(str::to_owned), fault: fault.clone() });
        }
    }

    /// The mount at `dir` is well again, or gone: what is wrong with it later is news.
    pub(crate) fn forget(&self, dir: &str) {
        self.told().retain(|(about, _), _| about.as_deref() != Some(dir));
    }

    /// What was wrong with everything is over.
    pub(crate) fn over(&self, code: &str) {
        self.told().retain(|(about, told), _| about.is_some() || told != code);
    }

    /// What is wrong with everything now.
    pub(crate) fn standing(&self) -> Vec<Fault> {
        self.told().iter().filter(|((about, _), _)| about.is_none()).map(|(_, fault)| fault.clone()).collect()
    }

    fn told(&self) -> std::sync::MutexGuard<'_, BTreeMap<(Option<String>, String), Fault>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cause_is_told_once_until_it_is_over() {
        let events = Events::new();
        let mut listener = events.listen();
        let fault = Fault::new("offline", "no network");
        for _ in 0..3 {
            events.notice(Some("/m"), &fault);
        }
        events.notice(Some("/n"), &fault);
        events.forget("/m");
        events.notice(Some("/m"), &fault);
        let mut dirs = Vec::new();
        while let Ok(event) = listener.try_recv() {
            if let Event::Notice { dir, .. } = &*event {
                dirs.extend(dir.clone());
            }
        }
        assert_eq!(dirs, ["/m", "/n", "/m"]);
    }

    #[test]
    fn what_is_wrong_with_everything_stands_until_it_is_over() {
        let events = Events::new();
        events.notice(Some("/m"), &Fault::new("offline", "no network"));
        events.notice(None, &Fault::new("io", "no disk"));
        events.notice(None, &Fault::new("rate_limited", "until 14:05"));
        events.notice(None, &Fault::new("rate_limited", "until 14:10"));
        let standing = || events.standing().into_iter().map(|fault| fault.sentence).collect::<Vec<_>>();
        assert_eq!(standing(), ["no disk", "until 14:10"]);
        events.over("rate_limited");
        assert_eq!(standing(), ["no disk"]);
    }

    #[tokio::test]
    async fn who_is_too_slow_is_told_how_many_were_lost() {
        let events = Events::new();
        let mut listener = events.listen();
        for _ in 0..EVENTS_KEPT_MAX + 44 {
            events.tell(Event::Accounts);
        }
        assert_eq!(listener.recv().await, Err(broadcast::error::RecvError::Lagged(44)));
        assert!(listener.recv().await.is_ok());
    }
}
