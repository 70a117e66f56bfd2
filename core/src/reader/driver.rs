//! [`Reader`]: one std mutex around the plan, and what happens around each call of it. See the module above for the rule.

use super::block::{Block, BlockPool};
use super::clock::{Clock, TICK};
use super::fetch::{Fetcher, Start};
use super::lately::Lately;
use super::stats::{FileStats, Meter, WaitsFor};
use crate::error::Retry;
use crate::transport::Source;
use crate::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weightless_plan::{
    Action, BLOCK_BYTES, BlockIx, ContentKey, Failure, FetchId, Limits, LimitsError, Mode, MountId, Outcome, Piece,
    Plan, Read, ReadId, Time,
};

/// Causes of failed fetches kept until the reads that they fail are answered: in the same breath, or, where a read's time is over
/// before that of its attempts, within that time.
const CAUSES_MAX: usize = 256;
/// Wait after a "slow down" that names no time.
const UNNAMED_WAIT: Duration = Duration::from_secs(5);
/// Shortest wait that a server may name: one that says "in 0 s" again and again would be asked as fast as it answers.
const WAIT_MIN: Duration = Duration::from_secs(1);

/// The fetcher's memory is charged up to this part of the budget. Its connections take up to 48 MiB; the rest of that is within
/// the 100 MiB that the process may take beside the budget.
const BUFFERS_PART_MAX: u64 = 4;

/// An open file of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpenFile(pub u64);

/// Bytes of a read: pieces of blocks, in order. A single piece is the common case; none, at or past the end of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadData {
    /// Pieces, in file order.
    pub pieces: Vec<Bytes>,
}

impl ReadData {
    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes in one buffer; copies unless there is one piece.
    pub fn into_bytes(mut self) -> Bytes {
        if self.pieces.len() == 1 {
            return self.pieces.swap_remove(0);
        }
        self.pieces.concat().into()
    }
}

/// Answers one read, once. Called outside every lock: inline for a hit, from a runtime thread for a miss.
pub type Reply = Box<dyn FnOnce(Result<ReadData>) + Send>;

/// What the reader is told once.
#[derive(Debug, Clone, Default)]
pub struct ReaderConfig {
    /// The plan's numbers.
    pub limits: Limits,
}

/// Bytes that went through, for one mount or for all.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes that reads were answered with.
    pub delivered_bytes: AtomicU64,
    /// Bytes off the network for content.
    pub fetched_bytes: AtomicU64,
    /// Bytes of content that came from the local store.
    pub store_bytes: AtomicU64,
    /// Bytes of content that came from the Hugging Face cache.
    pub hub_cache_bytes: AtomicU64,
    /// Reads answered with an error.
    pub failed_reads: AtomicU64,
}

/// Reads files: shares blocks and fetches between all that are open.
#[derive(Debug)]
pub struct Reader {
    shared: Arc<Shared>,
}

impl Reader {
    /// Starts the reader's ticker on `runtime`.
    ///
    /// # Errors
    /// The limits contradict one another.
    pub fn new(config: ReaderConfig, fetcher: Arc<dyn Fetcher>, runtime: Handle) -> Result<Self, LimitsError> {
        let shared = Arc::new(Shared {
            driver: Mutex::new(Driver::new(config.limits)?),
            clock: {
                let _entered = runtime.enter();
                Clock::start()
            },
            pool: Arc::default(),
            fetcher,
            wire_bytes: AtomicU64::new(0),
            ticker: Notify::new(),
            ended: CancellationToken::new(),
            runtime,
        });
        shared.runtime.spawn(tick(Arc::downgrade(&shared), shared.ended.clone()));
        Ok(Reader { shared })
    }

    /// Opens a file; asks nothing of the network.
    pub fn open(&self, source: Arc<Source>, mount: MountId, mode: Mode, counters: Arc<Counters>) -> Result<OpenFile> {
        let content = content_key(&source)?;
        self.shared.with_plan(|driver, now| driver.open(now, content, source, mount, mode, Meter::new(counters)))
    }

    /// Reads `len` bytes at `offset`, cut at the end of the file.
    pub fn read(&self, file: OpenFile, offset: u64, len: u32, reply: Reply) {
        self.shared.read(file, offset, len, reply);
    }

    /// Closes a file: its waiting reads end with [`ErrorKind::Closed`]; what nobody else wants is cancelled.
    pub fn close(&self, file: OpenFile) {
        let _ = self.shared.with_plan(|driver, now| driver.close(now, file));
    }

    /// Changes the plan's numbers while it runs.
    ///
    /// # Errors
    /// The limits contradict one another; the old ones stay.
    pub fn set_limits(&self, limits: Limits) -> Result<()> {
        self.shared
            .with_plan(|driver, now| {
                driver.plan.set_limits(now, limits.clone())?;
                driver.limits = limits;
                Ok(())
            })?
            .map_err(|error: LimitsError| {
                Error::new(ErrorKind::InvalidInput, "read_ahead_mb").saying(error.to_string()).because(error)
            })
    }

    /// Weight of a mount in the shares of read-ahead; 1 unless set, and 1 at least.
    pub fn set_weight(&self, mount: MountId, weight: u32) {
        let _ = self.shared.with_plan(|driver, _| driver.set_weight(mount, weight));
    }

    /// Pauses a mount: its waiting reads fail with [`ErrorKind::Paused`], later ones at once, nothing is fetched for it, and what
    /// was held for it alone is given back. Its files stay open and read again when it is resumed.
    pub fn set_paused(&self, mount: MountId, paused: bool) {
        let _ = self.shared.with_plan(|driver, now| driver.set_paused(now, mount, paused));
    }

    /// The open files of a mount, in the order in which they were opened.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] after a bug in the plan.
    pub fn files(&self, mount: MountId) -> Result<Vec<FileStats>> {
        self.shared.with_plan(|driver, now| driver.files(now, mount))
    }

    /// The plan's numbers, as they are now.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] after a bug in the plan.
    pub fn limits(&self) -> Result<Limits> {
        self.shared.with_plan(|driver, _| driver.limits.clone())
    }

    /// Bytes of address space that block buffers take now.
    pub fn block_bytes(&self) -> u64 {
        self.shared.pool.live_bytes()
    }

    /// Bytes off the network for content, of all files.
    pub fn wire_bytes(&self) -> u64 {
        self.shared.wire_bytes.load(Ordering::Relaxed)
    }

    /// The plan's account.
    pub fn stats(&self) -> Result<weightless_plan::Stats> {
        self.shared.with_plan(|driver, _| driver.plan.stats())
    }

    /// Fetches that have not settled.
    #[cfg(test)]
    pub(super) fn running(&self) -> usize {
        self.shared.with_plan(|driver, _| driver.running.len()).expect("no panic")
    }

    /// A bug of the plan, planted.
    #[cfg(test)]
    pub(super) fn panic_in_plan(&self) -> Result<()> {
        self.shared.with_plan(|_, _| panic!("planted"))
    }

    /// Fails every waiting read, cancels every fetch, refuses what comes after.
    pub fn shut_down(&self) {
        let _ = self.shared.with_plan(|driver, now| driver.plan.shut_down(now));
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shut_down();
        self.shared.ended.cancel();
    }
}

/// Shared by the reader, its ticker and its fetches.
pub(super) struct Shared {
    /// The plan and what must agree with it. std: held for one call of the plan, never across an await.
    driver: Mutex<Driver>,
    clock: Clock,
    pool: Arc<BlockPool>,
    fetcher: Arc<dyn Fetcher>,
    /// Off the network, for all files.
    wire_bytes: AtomicU64,
    /// Wakes the ticker when the next timeout came nearer.
    ticker: Notify,
    ended: CancellationToken,
    runtime: Handle,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn pool(&self) -> &Arc<BlockPool> {
        &self.pool
    }

    pub(super) fn fetcher(&self) -> &dyn Fetcher {
        &*self.fetcher
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now().0
    }

    fn read(self: &Arc<Self>, file: OpenFile, offset: u64, len: u32, reply: Reply) {
        // Holds the reply while the plan is asked; empty once the plan keeps the read waiting.
        let mut reply = Some(reply);
        let answered = self.with_plan(|driver, now| driver.read(now, file, offset, len, &mut reply));
        let Some(reply) = reply else { return };
        match answered.and_then(|answer| answer) {
            Ok(Some((meter, answer))) => deliver(reply, &meter, answer),
            Ok(None) => unreachable!("a waiting read took the reply"),
            Err(error) => reply(Err(error)),
        }
    }

    pub(super) fn sent(self: &Arc<Self>, fetch: FetchId) {
        let buffers = self.fetcher.buffer_bytes();
        let _ = self.with_plan(|driver, now| {
            driver.plan.sent(now, fetch);
            driver.charge(now, buffers);
        });
    }

    pub(super) fn received(self: &Arc<Self>, fetch: FetchId, wire_bytes: u64) {
        self.wire_bytes.fetch_add(wire_bytes, Ordering::Relaxed);
        let _ = self.with_plan(|driver, now| {
            if let Some(running) = driver.running.get(&fetch) {
                running.meter.fetched(wire_bytes);
            }
            driver.plan.received(now, fetch, wire_bytes);
        });
    }

    pub(super) fn arrived(self: &Arc<Self>, fetch: FetchId, block: BlockIx, content: Block) {
        let _ = self.with_plan(|driver, now| {
            if let Some(running) = driver.running.get(&fetch) {
                driver.lately.arrived(running.content, block);
            }
            driver.plan.arrived(now, fetch, block, content);
        });
    }

    /// Ends a fetch. `cause` is what reads that it fails will be told.
    pub(super) fn settled(self: &Arc<Self>, fetch: FetchId, outcome: Outcome, cause: Option<Error>) {
        let buffers = self.fetcher.buffer_bytes();
        let _ = self.with_plan(|driver, now| {
            driver.settled(now, fetch, outcome, cause);
            driver.charge(now, buffers);
        });
    }

    /// What the plan makes of an error: the table's retry class.
    pub(super) fn outcome_of(&self, error: &Error) -> Outcome {
        let at = |wait: Duration| Outcome::RetryAt(self.clock.now().after(wait.max(WAIT_MIN).as_millis() as u64));
        match (error.kind().row().retry, error.wait_asked()) {
            (Retry::Soon | Retry::Renew, _) => Outcome::Retry,
            (Retry::AtReset, wait) => at(wait.unwrap_or(UNNAMED_WAIT)),
            (Retry::WhileAway, Some(wait)) => at(wait),
            (Retry::WhileAway, None) => Outcome::Away,
            (Retry::Never, _) => Outcome::Fatal,
        }
    }

    /// Calls the plan under its mutex, then, without it, does what the plan asked for. A panic in the plan fails the reads
    /// that wait and starts the plan anew; open files stay open.
    fn with_plan<R>(self: &Arc<Self>, call: impl FnOnce(&mut Driver, Time) -> R) -> Result<R> {
        let mut todo = Todo::default();
        let result = {
            // Poison says nothing here: a panic inside is caught below, before the guard is dropped.
            let mut driver = self.driver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let now = self.clock.now();
            let called = catch_unwind(AssertUnwindSafe(|| {
                let result = call(&mut driver, now);
                driver.collect(now, &mut todo);
                result
            }));
            let called = called.map_err(|_panic| driver.start_anew(now, &mut todo));
            todo.ticker_sooner = driver.rearm();
            called
        };
        todo.perform(self);
        result.map_err(|()| Error::new(ErrorKind::Internal, "the reader"))
    }
}

/// What the plan asked for, to be done once its mutex is released.
#[derive(Default)]
struct Todo {
    answers: Vec<(Waiting, Result<ReadData>)>,
    starts: Vec<Start>,
    cancels: Vec<CancellationToken>,
    ticker_sooner: bool,
}

impl Todo {
    fn perform(self, shared: &Arc<Shared>) {
        for start in self.starts {
            shared.runtime.spawn(start.run(shared.clone()));
        }
        for cancel in self.cancels {
            cancel.cancel();
        }
        for (waiting, answer) in self.answers {
            deliver(waiting.reply, &waiting.meter, answer);
        }
        if self.ticker_sooner {
            shared.ticker.notify_one();
        }
    }
}

/// What the mutex protects.
struct Driver {
    plan: Plan<Block>,
    limits: Limits,
    /// By handle, so that they are told in the order in which they were opened.
    files: BTreeMap<OpenFile, File>,
    file_next: u64,
    /// The files that the plan has open.
    handles: HashMap<weightless_plan::HandleId, OpenFile>,
    weights: HashMap<MountId, u32>,
    paused: HashSet<MountId>,
    waiting: HashMap<ReadId, Waiting>,
    running: HashMap<FetchId, Running>,
    causes: VecDeque<Cause>,
    lately: Lately,
    /// What the fetcher's memory is charged as.
    buffers: u64,
    /// When the ticker will next look.
    armed: Option<Time>,
}

struct File {
    /// The plan's; none while its mount is paused.
    handle: Option<weightless_plan::HandleId>,
    content: ContentKey,
    source: Arc<Source>,
    mount: MountId,
    mode: Mode,
    meter: Arc<Meter>,
}

struct Waiting {
    reply: Reply,
    file: OpenFile,
    meter: Arc<Meter>,
    content: ContentKey,
    blocks: Range<u32>,
    since: Time,
}

/// Why a fetch failed.
struct Cause {
    fetch: FetchId,
    content: ContentKey,
    at: Time,
    error: Error,
}

impl Cause {
    /// The error, with what is left of the wait that it names.
    fn as_of(&self, now: Time) -> Error {
        match self.error.wait_asked() {
            Some(wait) => {
                let since = Duration::from_millis(now.0.saturating_sub(self.at.0));
                self.error.clone().wait(wait.saturating_sub(since))
            }
            None => self.error.clone(),
        }
    }
}

struct Running {
    content: ContentKey,
    cancel: CancellationToken,
    meter: Arc<Meter>,
}

impl Driver {
    fn new(limits: Limits) -> Result<Self, LimitsError> {
        Ok(Driver {
            plan: Plan::new(limits.clone())?,
            limits,
            files: BTreeMap::new(),
            file_next: 1,
            handles: HashMap::new(),
            weights: HashMap::new(),
            paused: HashSet::new(),
            waiting: HashMap::new(),
            running: HashMap::new(),
            causes: VecDeque::new(),
            lately: Lately::default(),
            buffers: 0,
            armed: None,
        })
    }

    fn open(
        &mut self,
        now: Time,
        content: ContentKey,
        source: Arc<Source>,
        mount: MountId,
        mode: Mode,
        meter: Meter,
    ) -> OpenFile {
        let file = OpenFile(self.file_next);
        self.file_next += 1;
        self.files.insert(file, File { handle: None, content, source, mount, mode, meter: Arc::new(meter) });
        self.attach(now, file);
        file
    }

    /// Charges the fetcher's memory, but never so much of a small budget that nothing could be read any more.
    fn charge(&mut self, now: Time, buffers: u64) {
        let bytes = buffers.min(self.limits.budget_bytes / BUFFERS_PART_MAX);
        if bytes != self.buffers {
            self.buffers = bytes;
            self.plan.set_outside_bytes(now, bytes);
        }
    }

    /// Opens a file in the plan, unless its mount is paused.
    fn attach(&mut self, now: Time, file: OpenFile) {
        if let Some(open) = self.files.get_mut(&file)
            && !self.paused.contains(&open.mount)
        {
            let handle = self.plan.open(now, open.content, open.source.file.size, open.mount, open.mode);
            open.handle = Some(handle);
            self.handles.insert(handle, file);
        }
    }

    /// Closes a file in the plan: what waits for it fails, what only it wants is cancelled and given back.
    fn detach(&mut self, now: Time, handle: Option<weightless_plan::HandleId>) {
        if let Some(handle) = handle {
            self.plan.close(now, handle);
            self.handles.remove(&handle);
        }
    }

    fn set_weight(&mut self, mount: MountId, weight: u32) {
        self.weights.insert(mount, weight);
        self.plan.set_weight(mount, weight);
    }

    fn set_paused(&mut self, now: Time, mount: MountId, paused: bool) {
        let changed = if paused { self.paused.insert(mount) } else { self.paused.remove(&mount) };
        if !changed {
            return;
        }
        let of_mount: Vec<_> =
            self.files.iter().filter(|(_, open)| open.mount == mount).map(|(file, _)| *file).collect();
        for file in of_mount {
            if !paused {
                self.attach(now, file);
            } else if let Some(open) = self.files.get_mut(&file) {
                let handle = open.handle.take();
                self.detach(now, handle);
            }
        }
    }

    fn files(&self, now: Time, mount: MountId) -> Vec<FileStats> {
        let waits = self.plan.waits();
        let until = |at: Time| Duration::from_millis(at.0.saturating_sub(now.0));
        let of_mount = self.files.iter().filter(|(_, open)| open.mount == mount);
        of_mount
            .map(|(file, open)| {
                let waits = open.handle.and_then(|handle| waits.get(&handle));
                let (delivered_bytes, fetched_bytes) = open.meter.bytes();
                FileStats {
                    file: *file,
                    path: open.source.file.path.clone(),
                    size: open.source.file.size,
                    delivered_bytes,
                    fetched_bytes,
                    waiting_reads: waits.map_or(0, |waits| waits.reads),
                    waits_for: waits.map(|waits| match waits.oldest {
                        weightless_plan::WaitsFor::Budget => WaitsFor::Budget,
                        weightless_plan::WaitsFor::Link => WaitsFor::Link,
                        weightless_plan::WaitsFor::Retry(at) => WaitsFor::Retry(until(at)),
                        weightless_plan::WaitsFor::Silence(at) => WaitsFor::HubLimit(until(at)),
                    }),
                }
            })
            .collect()
    }

    /// Reads from memory, or takes `reply` for a read that waits.
    fn read(
        &mut self,
        now: Time,
        file: OpenFile,
        offset: u64,
        len: u32,
        reply: &mut Option<Reply>,
    ) -> Result<Option<(Arc<Meter>, Result<ReadData>)>> {
        let open = self.files.get(&file).ok_or_else(closed)?;
        let meter = open.meter.clone();
        let Some(handle) = open.handle else { return Ok(Some((meter, Err(paused())))) };
        let read = match self.plan.read(now, handle, offset, len) {
            Read::Done(pieces) => return Ok(Some((meter, Ok(data(pieces))))),
            Read::Wait(read) => read,
        };
        let content = open.content;
        let end = (offset + u64::from(len)).min(open.source.file.size);
        let blocks = (offset / BLOCK_BYTES) as u32..end.div_ceil(BLOCK_BYTES) as u32;
        if let Some(error) = self.lately.error(now, content, &blocks) {
            let error = error.clone();
            // What it began goes on as read-ahead, so that a network that is back is noticed.
            self.plan.cancel(now, read);
            return Ok(Some((meter, Err(error))));
        }
        let reply = reply.take().expect("taken once");
        self.waiting.insert(read, Waiting { reply, file, meter, content, blocks, since: now });
        Ok(None)
    }

    fn close(&mut self, now: Time, file: OpenFile) {
        if let Some(open) = self.files.remove(&file) {
            self.detach(now, open.handle);
        }
    }

    fn settled(&mut self, now: Time, fetch: FetchId, outcome: Outcome, cause: Option<Error>) {
        let Some(running) = self.running.remove(&fetch) else { return };
        if let Some(error) = cause {
            tracing::debug!(?fetch, ?outcome, ?error, "a fetch failed");
            if self.causes.len() == CAUSES_MAX {
                self.causes.pop_front();
            }
            self.causes.push_back(Cause { fetch, content: running.content, at: now, error });
        }
        self.plan.settled(now, fetch, outcome);
    }

    /// Pulls the plan's actions.
    fn collect(&mut self, now: Time, todo: &mut Todo) {
        while let Some(action) = self.plan.next_action() {
            match action {
                Action::Fetch { fetch, content, blocks, urgency } => {
                    let file = self
                        .plan
                        .owner(fetch)
                        .and_then(|handle| self.files.get(self.handles.get(&handle)?))
                        .expect("a fetch is asked for by a file that is open");
                    let cancel = CancellationToken::new();
                    let running = Running { content, cancel: cancel.clone(), meter: file.meter.clone() };
                    self.running.insert(fetch, running);
                    let (source, meter) = (file.source.clone(), file.meter.clone());
                    todo.starts.push(Start { fetch, source, meter, blocks, urgency, cancel });
                }
                Action::Cancel(fetch) => {
                    todo.cancels.extend(self.running.get(&fetch).map(|running| running.cancel.clone()))
                }
                Action::Finish(read, result) => {
                    if let Some(waiting) = self.waiting.remove(&read) {
                        let answer = result.map(data).map_err(|failure| {
                            let error = self.explain(now, &waiting, failure);
                            if matches!(failure, Failure::Fetch(_) | Failure::Deadline) {
                                let Waiting { since, content, blocks, .. } = &waiting;
                                self.lately.failed(now, *since, *content, blocks.clone(), &error);
                            }
                            error
                        });
                        todo.answers.push((waiting, answer));
                    }
                }
            }
        }
    }

    fn explain(&self, now: Time, waiting: &Waiting, failure: Failure) -> Error {
        let mut newest = self.causes.iter().rev();
        match failure {
            Failure::Fetch(fetch) => newest
                .find(|cause| cause.fetch == fetch)
                .map_or_else(|| Error::new(ErrorKind::Stalled, ""), |cause| cause.error.clone()),
            // What kept it waiting says more than how long that was.
            Failure::Deadline => newest
                .find(|cause| cause.content == waiting.content && cause.at >= waiting.since)
                .map_or_else(|| Error::new(ErrorKind::Deadline, ""), |cause| cause.as_of(now)),
            Failure::Closed if self.files.get(&waiting.file).is_some_and(|open| open.handle.is_none()) => paused(),
            Failure::Closed => closed(),
            Failure::TooLarge => Error::new(ErrorKind::Internal, "a read larger than the memory budget"),
        }
    }

    /// After a panic in the plan: fails what waits, cancels what runs, and opens every file again in a new plan.
    fn start_anew(&mut self, now: Time, todo: &mut Todo) {
        tracing::error!("the plan panicked; reads that waited fail, later ones work");
        let failed =
            self.waiting.drain().map(|(_, waiting)| (waiting, Err(Error::new(ErrorKind::Internal, "the reader"))));
        todo.answers.extend(failed);
        todo.starts.clear();
        for (_, running) in std::mem::take(&mut self.running) {
            todo.cancels.push(running.cancel);
        }
        self.plan = Plan::new(self.limits.clone()).expect("these limits were accepted before");
        self.buffers = 0;
        for (mount, weight) in &self.weights {
            self.plan.set_weight(*mount, *weight);
        }
        self.handles.clear();
        let files: Vec<_> = self.files.keys().copied().collect();
        for file in files {
            self.attach(now, file);
        }
    }

    /// When the plan wants to be told the time; `tick` looks more often while bytes are awaited.
    fn due(&self) -> Option<Time> {
        self.plan.next_timeout()
    }

    /// Remembers the next timeout; says whether the ticker, planned later, must be told.
    fn rearm(&mut self) -> bool {
        let due = self.due();
        let sooner = match (due, self.armed) {
            (Some(due), Some(armed)) => due < armed,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if sooner {
            self.armed = due;
        }
        sooner
    }
}

/// Tells the plan when a timeout passed and when the machine slept. Ends with the reader.
async fn tick(shared: Weak<Shared>, ended: CancellationToken) {
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let due = {
            let mut driver = strong.driver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            driver.armed = driver.due();
            let looked_at = driver.armed.map(|due| strong.clock.instant(due));
            let busy = !driver.running.is_empty();
            let soon = Instant::now() + TICK;
            match looked_at {
                Some(due) if busy => Some(due.min(soon)),
                None if busy => Some(soon),
                other => other,
            }
        };
        // Nothing to look at: only a change wakes it, and no sleep can be measured.
        let alarm = due.unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400));
        tokio::select! {
            () = ended.cancelled() => return,
            () = strong.ticker.notified() => continue,
            () = tokio::time::sleep_until(alarm) => {}
        }
        let slept = strong.clock.woke(alarm);
        let _ = strong.with_plan(|driver, now| {
            if slept {
                driver.plan.woke(now);
            }
            driver.plan.elapsed(now);
        });
    }
}

fn data(pieces: Vec<Piece<Block>>) -> ReadData {
    let pieces = pieces
        .into_iter()
        .map(|piece| piece.block.bytes().slice(piece.range.start as usize..piece.range.end as usize))
        .collect();
    ReadData { pieces }
}

fn deliver(reply: Reply, meter: &Meter, answer: Result<ReadData>) {
    match &answer {
        Ok(data) => meter.delivered(data.len() as u64),
        Err(_) => meter.failed(),
    };
    // A reply that panics (a broken adapter) must not take the fetch that completed it along.
    if catch_unwind(AssertUnwindSafe(move || reply(answer))).is_err() {
        tracing::error!("a reply panicked");
    }
}

fn paused() -> Error {
    Error::new(ErrorKind::Paused, "")
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "")
}

/// The key under which a file's blocks are shared: its sha256 where the Hub says it, else its git blob id, as the account sees
/// it that opens the file.
///
/// *The rule*: blocks are shared by all files of one content that one view of a Hub opened, whatever their repos and mounts,
/// and never between views. To know a hash is no right to the bytes: a gated repo shows its listing, hashes included, to
/// everybody, and an account that may not read it must not be served what is held for one that may. Within a view the bytes
/// are the account's own, whichever repo they came by. A token that is replaced ends the view: files opened before keep
/// their blocks, as they keep the kernel's pages; files opened after start with none.
fn content_key(source: &Source) -> Result<ContentKey> {
    let bad = || Error::new(ErrorKind::Protocol, &*source.file.path).because("a malformed content hash");
    let mut key = [0; 32];
    match &source.file.sha256 {
        Some(sha256) => decode_hex(sha256, &mut key).ok_or_else(bad)?,
        None => {
            decode_hex(&source.file.git_oid, &mut key[..20]).ok_or_else(bad)?;
            // No sha256 of content is known to end so; a git id and a sha256 never share a key.
            key[20..].copy_from_slice(b"git blob id ");
        }
    }
    // Two views' keys meet only for hashes that differ in these bytes alone, which nobody can make.
    for (byte, view) in key[24..].iter_mut().zip(source.origin.view().number().to_le_bytes()) {
        *byte ^= view;
    }
    Ok(ContentKey(key))
}

fn decode_hex(hex: &str, into: &mut [u8]) -> Option<()> {
    let digits = hex.as_bytes();
    if digits.len() != into.len() * 2 {
        return None;
    }
    for (byte, pair) in into.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(())
}
