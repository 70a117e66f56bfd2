//! Planted bugs: a kept list of mistakes that the tests must catch. Outside of tests nothing is ever planted.

/// A mistake that was made or is easy to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A cancelled fetch's charge ends with the cancel.
    ChargeEndsAtCancel,
    /// A later read passes one that queues for memory.
    QueueJumped,
    /// A block that a read waits for may be evicted.
    WaitersIgnored,
    /// A fetch begins without room for it.
    NoReservation,
    /// A finished read leaves its waiters on the blocks.
    WaiterLeaks,
    /// A fetch that ends early leaves its blocks in flight.
    EarlyEndForgotten,
    /// A read that joined a failed fetch fails with it.
    JoinedReadFails,
    /// A stalled fetch is not tried again.
    StallForgotten,
    /// A block in flight is fetched again by the next read.
    NotShared,
    /// Closing leaves fetches that nobody wants.
    CloseLeavesFetches,
    /// Pieces begin at their block's start.
    WrongPiece,
    /// The queue is not looked at when a fetch has settled.
    QueueForgotten,
    /// Read-ahead takes memory while reads queue for it.
    AheadBeforeReads,
    /// A direct handle's re-read is served from memory.
    DirectRereadHeld,
    /// A block read in part goes as if it had been read whole.
    HalvesGoToo,
    /// A run is read ahead of beyond what is expected of it.
    RunsForgotten,
    /// The first read beyond what was asked for asks for more, though the kernel only reads more than it needs.
    FirstBeyondCounts,
    /// A stream takes over what one that is past had asked for long ago.
    StaleTakeOver,
    /// Where a stream began is forgotten with it.
    PastForgotten,
    /// A read gives up on what is away as soon as read-ahead does.
    OutageNotBorne,
}

#[cfg(test)]
pub(crate) const ALL: [Bug; 20] = [
    Bug::ChargeEndsAtCancel,
    Bug::QueueJumped,
    Bug::WaitersIgnored,
    Bug::NoReservation,
    Bug::WaiterLeaks,
    Bug::EarlyEndForgotten,
    Bug::JoinedReadFails,
    Bug::StallForgotten,
    Bug::NotShared,
    Bug::CloseLeavesFetches,
    Bug::WrongPiece,
    Bug::QueueForgotten,
    Bug::AheadBeforeReads,
    Bug::DirectRereadHeld,
    Bug::HalvesGoToo,
    Bug::RunsForgotten,
    Bug::FirstBeyondCounts,
    Bug::StaleTakeOver,
    Bug::PastForgotten,
    Bug::OutageNotBorne,
];

#[cfg(not(test))]
#[inline(always)]
pub(crate) fn planted(_: Bug) -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
pub(crate) fn planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

#[cfg(test)]
pub(crate) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}
