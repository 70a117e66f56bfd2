//! Which mounts there are and in which state: claimed before anything is asked, so that two clients never mount at one place.
//! Mounts nothing itself.

use super::hosted::Hosted;
use super::order::Order;
use crate::exit::{Outcome, fault_of};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use weightless_control::{AddMount, Fault, MountState, MountStatus};
use weightless_core::ErrorKind;

/// Mounts of one engine at most; a thousand kernel mounts are somebody's loop gone wild.
const MOUNTS_MAX: usize = 1_000;

/// The mounts of this engine, in the order in which they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    /// Held for a look or a change, never across a wait; std because of that.
    slots: Mutex<Slots>,
    /// Wakes who waits for a mount that is starting.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Slots {
    list: Vec<Slot>,
    next: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct Slot {
    id: SlotId,
    order: Order,
    state: State,
}

/// A place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotId(u64);

#[derive(Debug)]
enum State {
    /// Who starts it is told through this to stop.
    Starting(Arc<Notify>),
    Ready(Arc<Hosted>),
    Failed(Fault),
}

/// What became of a wish to mount.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The place is the caller's: mount, then [`Mounts::ready`] or [`Mounts::release`]; stop when the notice comes.
    Mine(SlotId, Arc<Notify>),
    /// It is there already.
    There(Arc<Hosted>),
}

impl Mounts {
    /// Claims the place of `order`; waits while the same mount is being started by somebody else.
    pub(crate) async fn claim(&self, order: &Order) -> Outcome<Claim> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(claim) = self.try_claim(order)? {
                return Ok(claim);
            }
            changed.await;
        }
    }

    /// The same without waiting. `None`: the same mount is starting.
    pub(crate) fn try_claim(&self, order: &Order) -> Outcome<Option<Claim>> {
        let mut slots = self.slots();
        if slots.is_closed {
            return Err(Fault::new("stopping", "the engine is ending").advise("Try again."));
        }
        match slots.list.iter().position(|slot| slot.order.dir == order.dir && !slot.is_stopping()) {
            Some(at) => {
                let slot = &slots.list[at];
                match &slot.state {
                    State::Failed(_) => drop(slots.list.remove(at)),
                    _ if !slot.order.is_same(order) => return Err(busy(order, &slot.order)),
                    State::Starting(_) => return Ok(None),
                    State::Ready(hosted) => return Ok(Some(Claim::There(hosted.clone()))),
                }
            }
            None if slots.list.len() >= MOUNTS_MAX => {
                return Err(Fault::new("limit", format!("{MOUNTS_MAX} mounts are the most that one engine takes")));
            }
            None => {}
        }
        let id = SlotId(slots.next);
        slots.next += 1;
        let cancel = Arc::new(Notify::new());
        slots.list.push(Slot { id, order: order.clone(), state: State::Starting(cancel.clone()) });
        Ok(Some(Claim::Mine(id, cancel)))
    }

    /// Lists a repo that somebody uses in the Hub folder. `false` if its place is taken: somebody is just mounting it there.
    pub(crate) fn take_in(&self, hosted: &Arc<Hosted>) -> bool {
        let mut slots = self.slots();
        let order = hosted.order();
        if slots.is_closed || slots.list.iter().any(|slot| slot.order.dir == order.dir) {
            return false;
        }
        let id = SlotId(slots.next);
        slots.next += 1;
        slots.list.push(Slot { id, order, state: State::Ready(hosted.clone()) });
        true
    }

    /// Does not list a repo of the Hub folder any more.
    pub(crate) fn take_out(&self, dir: &str) -> Option<Arc<Hosted>> {
        let mut slots = self.slots();
        let is_it = |slot: &Slot| {
            slot.order.dir == Path::new(dir) && matches!(&slot.state, State::Ready(hosted) if hosted.is_in_folder())
        };
        let at = slots.list.iter().position(is_it)?;
        let State::Ready(hosted) = slots.list.remove(at).state else { return None };
        drop(slots);
        self.changed.notify_waiters();
        Some(hosted)
    }

    /// The claimed place is mounted. `false` if nobody wants it any more, or everything is ending: then it must be unmounted
    /// again.
    #[must_use]
    pub(crate) fn ready(&self, id: SlotId, hosted: &Arc<Hosted>) -> bool {
        let mut slots = self.slots();
        let is_closed = slots.is_closed;
        let Some(slot) = slots.find(id).filter(|_| !is_closed) else { return false };
        slot.state = State::Ready(hosted.clone());
        drop(slots);
        self.changed.notify_waiters();
        true
    }

    /// A mount that failed is tried again.
    pub(crate) fn again(&self, id: SlotId, cancel: &Arc<Notify>) -> bool {
        let mut slots = self.slots();
        let is_closed = slots.is_closed;
        let Some(slot) = slots.find(id).filter(|_| !is_closed) else { return false };
        slot.state = State::Starting(cancel.clone());
        true
    }

    /// The mount stays wanted though it could not be made.
    pub(crate) fn failed(&self, id: SlotId, fault: Fault) {
        if let Some(slot) = self.slots().find(id) {
            slot.state = State::Failed(fault);
        }
        self.changed.notify_waiters();
    }

    /// Frees a place. `false` if it was not there any more.
    pub(crate) fn release(&self, id: SlotId) -> bool {
        let mut slots = self.slots();
        let before = slots.list.len();
        slots.list.retain(|slot| slot.id != id);
        let was_there = slots.list.len() < before;
        drop(slots);
        self.changed.notify_waiters();
        was_there
    }

    /// The mount at `dir`; a fault says why there is none to be had.
    pub(crate) fn at(&self, dir: &str) -> Outcome<(SlotId, Arc<Hosted>)> {
        let slots = self.slots();
        let slot = slots.list.iter().find(|slot| slot.order.dir == Path::new(dir) && !slot.is_stopping());
        match slot.map(|slot| (slot.id, &slot.state)) {
            Some((id, State::Ready(hosted))) => Ok((id, hosted.clone())),
            Some((_, State::Failed(fault))) => Err(fault.clone()),
            Some((_, State::Starting(_))) => {
                Err(fault_of(ErrorKind::MountPointBusy, dir).advise("It is being mounted at this moment; try again."))
            }
            None => Err(not_mounted(dir)),
        }
    }

    /// Gives up a mount that is wanted and not there yet, or not at all. `false` if there is no such one.
    pub(crate) fn give_up(&self, dir: &str) -> bool {
        let mut slots = self.slots();
        let is_it = |slot: &Slot| slot.order.dir == Path::new(dir) && !matches!(slot.state, State::Ready(_));
        let Some(at) = slots.list.iter().position(is_it) else { return false };
        if let State::Starting(cancel) = &slots.list.remove(at).state {
            cancel.notify_one();
        }
        drop(slots);
        self.changed.notify_waiters();
        true
    }

    /// All that are there.
    pub(crate) fn hosted(&self) -> Vec<Arc<Hosted>> {
        let slots = self.slots();
        slots
            .list
            .iter()
            .filter_map(|slot| match &slot.state {
                State::Ready(hosted) => Some(hosted.clone()),
                _ => None,
            })
            .collect()
    }

    /// Whether there is nothing to do: no mount, and none coming.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots().list.is_empty()
    }

    /// No mount starts from now on; what is there is returned, to be ended.
    pub(crate) fn close(&self) -> Vec<Arc<Hosted>> {
        self.slots().is_closed = true;
        self.changed.notify_waiters();
        self.hosted()
    }

    /// What there is to tell of each.
    pub(crate) fn statuses(&self) -> Vec<MountStatus> {
        self.slots().list.iter().map(Slot::status).collect()
    }

    /// What to mount again after this engine: `only_at_login` or everything that is not on its way out.
    pub(crate) fn wanted(&self, only_at_login: bool) -> Vec<AddMount> {
        let slots = self.slots();
        let orders = slots.list.iter().filter(|slot| !slot.is_stopping() && slot.is_kept()).map(Slot::order);
        orders.filter(|order| order.at_login || !only_at_login).map(|order| order.request()).collect()
    }

    /// Folders that were made for what is mounted.
    pub(crate) fn made(&self) -> Vec<PathBuf> {
        self.hosted().iter().flat_map(|hosted| hosted.made()).collect()
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    fn find(&mut self, id: SlotId) -> Option<&mut Slot> {
        self.list.iter_mut().find(|slot| slot.id == id)
    }
}

impl Slot {
    fn is_stopping(&self) -> bool {
        matches!(&self.state, State::Ready(hosted) if hosted.is_stopping())
    }

    /// Whether somebody mounted it, and does not only use it in the Hub folder.
    fn is_kept(&self) -> bool {
        !matches!(&self.state, State::Ready(hosted) if !hosted.is_kept())
    }

    fn order(&self) -> Order {
        match &self.state {
            State::Ready(hosted) => hosted.order(),
            _ => self.order.clone(),
        }
    }

    fn status(&self) -> MountStatus {
        match &self.state {
            State::Starting(_) => self.order.status(MountState::Starting),
            State::Ready(hosted) => hosted.status(),
            State::Failed(fault) => MountStatus { fault: Some(fault.clone()), ..self.order.status(MountState::Failed) },
        }
    }
}

fn busy(order: &Order, there: &Order) -> Fault {
    let dir = order.dir.display();
    fault_of(ErrorKind::MountPointBusy, dir.to_string())
        .advise(format!("{} is mounted there: weightless unmount {dir}", there.title()))
}

fn not_mounted(dir: &str) -> Fault {
    Fault::new("not_mounted", format!("{dir}: nothing of ours is mounted there"))
        .advise("weightless status shows what is mounted.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use url::Url;

    fn order(repo: &str, dir: &str) -> Order {
        let request = AddMount { repo: repo.into(), dir: Some(dir.into()), ..AddMount::default() };
        Order::read(&request, &Url::parse("http://hub.test").unwrap(), Path::new("/"), None).unwrap()
    }

    async fn mine(mounts: &Mounts, order: &Order) -> SlotId {
        match mounts.claim(order).await.unwrap() {
            Claim::Mine(id, _) => id,
            Claim::There(_) => panic!("nothing is there"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_place_is_claimed_once() {
        let mounts = Mounts::default();
        let (first, other) = (order("a/b", "/m"), order("a/c", "/m"));
        let id = mine(&mounts, &first).await;
        assert_eq!(mounts.claim(&other).await.map(|_| ()).unwrap_err().code, "mount_point_busy");
        // The same mount again waits for the first to end one way or the other.
        assert!(tokio::time::timeout(Duration::from_secs(5), mounts.claim(&first)).await.is_err());
        let (again, ()) = tokio::join!(mounts.claim(&first), async { assert!(mounts.release(id)) });
        assert!(matches!(again.unwrap(), Claim::Mine(new, _) if new != id));
    }

    #[tokio::test]
    async fn a_mount_that_failed_stays_listed_and_gives_way() {
        let mounts = Mounts::default();
        let wanted = order("a/b", "/m");
        let id = mine(&mounts, &wanted).await;
        mounts.failed(id, Fault::new("offline", "no network"));
        assert_eq!(mounts.statuses()[0].state, MountState::Failed);
        assert_eq!(mounts.wanted(false).len(), 1);
        assert_eq!(mounts.at("/m").map(|_| ()).unwrap_err().code, "offline");
        mine(&mounts, &order("a/c", "/m")).await;
        assert!(!mounts.again(id, &Arc::default()), "it has given way");
        assert_eq!(mounts.at("/n").map(|_| ()).unwrap_err().code, "not_mounted");
    }

    #[tokio::test]
    async fn a_mount_that_is_starting_can_be_called_off() {
        let mounts = Mounts::default();
        let Claim::Mine(id, cancel) = mounts.claim(&order("a/b", "/m")).await.unwrap() else {
            panic!("nothing is there")
        };
        assert!(mounts.give_up("/m"));
        cancel.notified().await;
        assert!(!mounts.release(id) && mounts.is_empty() && !mounts.give_up("/m"));
    }

    #[tokio::test]
    async fn nothing_starts_once_it_is_closed() {
        let mounts = Mounts::default();
        assert!(mounts.close().is_empty());
        assert_eq!(mounts.claim(&order("a/b", "/m")).await.map(|_| ()).unwrap_err().code, "stopping");
    }
}
