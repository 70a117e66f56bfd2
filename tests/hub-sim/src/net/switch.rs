//! Turns a site off and on and cuts its connections, with an answer once that has happened. Never touches a socket
//! itself; the accept loop that holds the seat does.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// What the outside wants of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) up: bool,
    /// Grows by one for each cut.
    pub(super) cuts: u64,
}

pub(super) struct Switch {
    wanted: watch::Sender<Wanted>,
    settled: watch::Sender<Wanted>,
    seats: AtomicUsize,
}

impl Default for Switch {
    fn default() -> Self {
        let initial = Wanted { up: true, cuts: 0 };
        Self { wanted: watch::Sender::new(initial), settled: watch::Sender::new(initial), seats: AtomicUsize::new(0) }
    }
}

impl Switch {
    /// Changes what is wanted and waits until the accept loop has done it, if there is one.
    pub(super) async fn turn(&self, change: impl FnOnce(&mut Wanted)) {
        self.wanted.send_modify(change);
        let wanted = *self.wanted.borrow();
        if self.seats.load(Ordering::Acquire) > 0 {
            let mut settled = self.settled.subscribe();
            // A closed channel means that the switch itself is gone.
            let _ = settled.wait_for(|settled| *settled == wanted).await;
        }
    }

    pub(super) fn take_seat(&self) -> Seat<'_> {
        self.seats.fetch_add(1, Ordering::AcqRel);
        let mut wanted = self.wanted.subscribe();
        if !wanted.borrow().up {
            wanted.mark_changed();
        }
        Seat { switch: self, wanted }
    }
}

/// The accept loop's end of a switch.
pub(super) struct Seat<'a> {
    switch: &'a Switch,
    wanted: watch::Receiver<Wanted>,
}

impl Seat<'_> {
    pub(super) async fn changed(&mut self) -> Wanted {
        if self.wanted.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        *self.wanted.borrow_and_update()
    }

    pub(super) fn settle(&self, done: Wanted) {
        self.switch.settled.send_replace(done);
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.switch.seats.fetch_sub(1, Ordering::AcqRel);
        self.switch.settled.send_replace(*self.switch.wanted.borrow());
    }
}
