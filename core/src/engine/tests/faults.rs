//! What goes wrong with the Hub or the network, as a table: each kind of fault at each place and each moment, once and lasting.
//! Real sockets and paused time, so a cell that waits for 45 s takes none.

use super::*;
use crate::mount::HandleId;
use std::fmt;
use std::future::Future;
use tokio::time::{sleep, timeout};
use weightless_hub_sim::net::{
    Answer, Match, Network, Route, Rule, RuleId, Site, Step, expired, flip_byte, rate_limited, reset, serve, stall,
    status, truncate,
};

/// Of which repo requests go wrong, and of which they do not.
const VICTIM: &str = "org/victim";
const OTHER: &str = "org/other";
/// Size of each file.
const BYTES: u64 = 24 * MIB;
/// Where reading begins: in the middle, since a file of this size is asked for whole from its start.
const FROM: u64 = 8 * MIB;
/// What one read takes, as the kernel cuts them.
const READ: u64 = 128 << 10;
/// A read's deadline, and the moment in which it is noticed.
const READ_MAX: Duration = Duration::from_secs(46);
/// A mount is up to three questions, each of which has 30 s.
const MOUNT_MAX: Duration = Duration::from_secs(91);
/// What is nobody's fault takes no longer than this.
const OTHERS_MAX: Duration = Duration::from_secs(5);
/// Steps of the clock: it runs ahead whenever nothing seems to happen, and a packet may be late.
const STEP: Duration = Duration::from_millis(25);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nobody listens at the host.
    Refused,
    /// No host can be reached, and all connections are gone.
    NetworkGone,
    Silent,
    SilentInBody,
    Reset,
    ResetInBody,
    Truncated,
    WrongLength,
    WrongBytes,
    /// A page of somebody else, with success.
    Portal,
    /// A signed address that has expired.
    Expired,
    SlowDown,
    Status(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The Hub's API, tokens aside; and where a plain file is.
    Api,
    /// The Hub's tokens for the Xet service.
    Token,
    Reconstruction,
    /// Xet data alone.
    Xorbs,
    /// All data of a file in Xet storage.
    XetFile,
    /// Data of a file that is not in Xet storage.
    PlainFile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Mounting,
    Listing,
    FirstBlock,
    ReadingAhead,
    /// It begins and ends while nobody asks for anything.
    Idle,
}

#[derive(Clone, Copy)]
struct Cell {
    kind: Kind,
    place: Place,
    moment: Moment,
    /// Until the operation has ended; else once, or for a moment.
    lasts: bool,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { kind, place, moment, lasts } = self;
        write!(f, "{kind:?} × {place:?} × {moment:?}, {}", if *lasts { "lasting" } else { "passing" })
    }
}

/// Every cell of a moment that means something.
fn cells(moment: Moment) -> Vec<Cell> {
    use Kind::*;
    use Place::*;
    let mut kinds = vec![
        Refused,
        NetworkGone,
        Silent,
        SilentInBody,
        Reset,
        ResetInBody,
        Truncated,
        WrongLength,
        WrongBytes,
        Portal,
        Expired,
        SlowDown,
    ];
    kinds.extend([401, 403, 404, 416, 500, 502, 503, 504].map(Status));
    let mut cells = Vec::new();
    for place in [Api, Token, Reconstruction, Xorbs, XetFile, PlainFile] {
        for kind in &kinds {
            let of_data = matches!(place, Xorbs | XetFile | PlainFile);
            let means_something = match kind {
                WrongLength | Expired => of_data,
                // A wrong byte of a plain range is known only once the file is whole (docs/semantics.md).
                WrongBytes => !matches!(place, XetFile | PlainFile),
                _ => true,
            };
            if means_something {
                cells.extend([false, true].map(|lasts| Cell { kind: *kind, place, moment, lasts }));
            }
        }
    }
    cells
}

impl Cell {
    /// Whether the operation asks for anything at the place of the fault.
    fn is_met(self) -> bool {
        match (self.moment, self.place) {
            (Moment::Idle, _) => false,
            (Moment::Mounting | Moment::Listing | Moment::FirstBlock | Moment::ReadingAhead, _)
                if self.kind == Kind::NetworkGone =>
            {
                true
            }
            (Moment::Mounting, Place::Api | Place::Token) | (Moment::Listing, Place::Api) => true,
            // One host has both.
            (Moment::Listing, Place::Token) => self.kind == Kind::Refused,
            (Moment::Mounting | Moment::Listing, _) => false,
            // The token has expired by then; where a plain file is, is known.
            (Moment::ReadingAhead, place) => place != Place::Api,
            (Moment::FirstBlock, _) => true,
        }
    }

    /// Whether it concerns reads that have another way to their bytes: which one they take first is the transport's to choose, so the
    /// fault may not be met, or not be noticed.
    fn has_other_way(self) -> bool {
        matches!(self.place, Place::Token | Place::Reconstruction | Place::Xorbs) && self.reads()
    }

    fn reads(self) -> bool {
        matches!(self.moment, Moment::FirstBlock | Moment::ReadingAhead)
    }

    /// What the operation ends with, if not with success where there is another way; nothing is success.
    fn expected(self) -> &'static [ErrorKind] {
        use ErrorKind::*;
        if !self.is_met() {
            return &[];
        }
        let lasting = self.expected_of_lasting();
        // What the Hub says of an account or a name is final, and what a plain file's host says has no other way.
        let is_final = |kind| matches!(kind, TokenRejected | NoAccess | RevisionNotFound | EntryNotFound | Protocol);
        let reads = self.reads();
        match (self.kind, self.place) {
            _ if self.lasts => lasting,
            // Longer than a question is asked again, shorter than a read waits.
            (Kind::NetworkGone, _) if reads => &[],
            (Kind::NetworkGone, _) => lasting,
            // It is looked for where the page said that the file is, which is the Hub, which knows better.
            (Kind::Portal, Place::Api) if reads => &[],
            (_, Place::Api | Place::Token | Place::PlainFile) if lasting.iter().all(|kind| is_final(*kind)) => lasting,
            _ => &[],
        }
    }

    fn expected_of_lasting(self) -> &'static [ErrorKind] {
        use ErrorKind::*;
        use Kind::*;
        let reads = self.reads();
        let of_the_hub = matches!(self.place, Place::Api | Place::Token);
        match (self.kind, self.place) {
            (NetworkGone, _) => &[Offline],
            (Refused, Place::Reconstruction) if reads => &[],
            (Refused, _) => &[Offline],
            (SlowDown, _) => &[RateLimited],
            (Status(401), _) if of_the_hub => &[TokenRejected],
            (Status(403), _) if of_the_hub => &[NoAccess],
            (Silent | SilentInBody, Place::Token) if reads => &[Stalled, Deadline],
            // The plain way has what the Xet way does not give.
            _ if self.has_other_way() => &[],
            (Silent | SilentInBody, _) if reads => &[Stalled, Deadline],
            (Silent | SilentInBody, _) => &[Stalled],
            (Reset | ResetInBody | Truncated, _) => &[Connection],
            (Status(500..), _) => &[HubDown],
            // A Hub without Xet has no such tokens; the files say what they want.
            (_, Place::Token) => &[],
            // The answer that tells where a plain file is has no body.
            (WrongBytes, Place::Api) if reads => &[],
            (Status(404), Place::Api) if self.moment == Moment::Mounting => &[RevisionNotFound],
            (Status(404), Place::Api) => &[EntryNotFound],
            (WrongLength, _) => &[ContentMismatch],
            (Kind::Expired | Status(401 | 403 | 404), _) => &[FileRefused],
            (WrongBytes | Portal | Status(_), _) => &[Protocol],
        }
    }
}

/// A Hub with two repos, and what is known of them.
struct Hosts {
    sim: HubSim,
    /// Parts of the paths under which data of the victim is asked for.
    xet_hash: String,
    sha256: String,
}

fn bytes_of(name: &str) -> Content {
    Content::random(name.len() as u64, BYTES)
}

impl Hosts {
    async fn start() -> Self {
        // A thousand names, so that the folder behind them is not known when the repo is mounted.
        let victim = (0..1_000).fold(RepoDef::model(VICTIM).gated(), |repo, n| repo.file(format!("a/{n}"), "x"));
        let victim = victim.file_as("sub/xet", bytes_of("xet"), Storage::Xet).file_as(
            "sub/plain",
            bytes_of("plain"),
            Storage::Lfs,
        );
        let other = RepoDef::model(OTHER).file_as("other", bytes_of("other file"), Storage::Lfs);
        let sim = HubSim::builder()
            .repo(victim)
            .repo(other)
            // The transport renews tokens half a minute before they expire: these after a second.
            .xet_token_lifetime(Duration::from_secs(31))
            .start()
            .await
            .unwrap();
        let facts = |path: &str| sim.file(weightless_hub_sim::RepoKind::Model, VICTIM, "main", path).unwrap();
        let xet_hash = facts("sub/xet").xet_hash.unwrap();
        let sha256 = facts("sub/plain").sha256.unwrap();
        Hosts { sim, xet_hash, sha256 }
    }

    fn network(&self) -> &Network {
        self.sim.network()
    }

    fn user(&self) -> User {
        let net = NetConfig::new(Some(self.sim.endpoint()), &|_| None).unwrap();
        let hub = Arc::new(Hub::new(net, Some(Token::new(self.sim.owner_token()).unwrap())).unwrap());
        let engine = Engine::new(EngineConfig::without_local(ReaderConfig::default()), Handle::current()).unwrap();
        User { engine, hub }
    }

    /// Runs every cell of a moment, and names those that are not as expected.
    async fn check(&self, moment: Moment) {
        tokio::time::pause();
        let steps = tokio::spawn(async {
            loop {
                sleep(STEP).await;
            }
        });
        let (mut failed, mut count, mut met_by_other_way) = (Vec::new(), 0, 0);
        for cell in cells(moment) {
            count += 1;
            match self.run(cell).await {
                Ok(fired) => met_by_other_way += u64::from(cell.has_other_way() && fired > 0),
                Err(what) => failed.push(format!("{cell}: {what}")),
            }
        }
        steps.abort();
        if moment == Moment::ReadingAhead {
            assert!(met_by_other_way >= 60, "what is read ahead comes by Xet: {met_by_other_way}");
        }
        assert!(failed.is_empty(), "{} of {count} cells:\n{}", failed.len(), failed.join("\n"));
    }

    /// How often the fault was met.
    async fn run(&self, cell: Cell) -> Result<u64, String> {
        let user = self.user();
        let other = user.mount(OTHER).await.map_err(before)?;
        let bystander = open(&other, "other");
        whole(&other, bystander, "other file", FROM..FROM + READ).await?.map_or(Ok(()), |error| Err(before(error)))?;
        let stand = user.prepare(cell).await.map_err(before)?;

        let rules = self.begin(cell).await;
        if cell.moment == Moment::Idle {
            sleep(Duration::from_secs(60)).await;
            self.end().await;
        }
        let is_data_gone = cell.kind == Kind::NetworkGone || cell.kind == Kind::Refused && cell.site() == Site::Data;
        let at = if is_data_gone && cell.moment != Moment::Idle { FROM } else { 2 * FROM };
        let goes_on = timeout(OTHERS_MAX, whole(&other, bystander, "other file", at..at + READ));
        let (met, others) = tokio::join!(user.operate(cell, &stand), goes_on);
        match others {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(error))) => return Err(format!("another reader met {error:?}")),
            Ok(Err(what)) => return Err(format!("another reader: {what}")),
            Err(_) => return Err("another reader waits".to_owned()),
        }
        let fired: u64 = rules.iter().map(|rule| self.network().script().fired(*rule)).sum();
        if cell.moment != Moment::Idle {
            self.end().await;
        }
        let met = met?;
        let kind = met.as_ref().map(Error::kind);
        let expected = cell.expected();
        let is_expected = match kind {
            Some(kind) => expected.contains(&kind),
            None if cell.has_other_way() => expected.is_empty() || cell.kind != Kind::NetworkGone,
            // Read-ahead may have met it, for which nobody waits.
            None => expected.is_empty() || !cell.lasts && cell.moment == Moment::ReadingAhead,
        };
        if !is_expected {
            return Err(format!("expected {expected:?}, met {met:?}"));
        }
        if !rules.is_empty() && (fired > 0) != cell.is_met() && !cell.has_other_way() {
            return Err(format!("the fault was met {fired} times"));
        }
        if matches!(cell.kind, Kind::Status(401)) && matches!(cell.place, Place::Api | Place::Token) && fired > 2 {
            return Err(format!("a rejected token was sent {fired} times"));
        }
        // Longer than a failure is remembered, and than the Hub wanted to be left alone.
        sleep(Duration::from_secs(25)).await;
        match user.operate(cell, &stand).await? {
            None => Ok(fired),
            Some(error) => Err(format!("afterwards: {error:?}")),
        }
    }

    async fn begin(&self, cell: Cell) -> Vec<RuleId> {
        let network = self.network();
        let (sites, for_ms): (&[Site], u64) = match cell.kind {
            Kind::Refused => (&[cell.site()], 1_000),
            Kind::NetworkGone => (&Site::ALL, 15_000),
            _ => {
                let times = if cell.lasts { None } else { Some(1) };
                let rule = |on| network.script().add(Rule { on, nth: 1, times, steps: cell.steps() });
                return self.requests(cell.place).into_iter().map(rule).collect();
            }
        };
        for site in sites {
            network.down(*site).await;
        }
        if !cell.lasts {
            let (network, sites) = (network.clone(), sites.to_vec());
            tokio::spawn(async move {
                sleep(Duration::from_millis(for_ms)).await;
                for site in sites {
                    network.up(site).await;
                }
            });
        }
        Vec::new()
    }

    async fn end(&self) {
        let network = self.network();
        network.script().clear();
        network.release();
        for site in Site::ALL {
            network.up(site).await;
        }
    }

    /// The requests of a place, those for the other repo aside.
    fn requests(&self, place: Place) -> Vec<Match> {
        let of = |route, path: &str| Match { route: Some(route), path: Some(path.to_owned()), ..Match::default() };
        match place {
            Place::Api => {
                let routes = [Route::Revision, Route::Tree, Route::PathsInfo, Route::Resolve];
                routes.into_iter().map(|route| of(route, VICTIM)).collect()
            }
            Place::Token => vec![of(Route::XetToken, VICTIM)],
            Place::Reconstruction => vec![of(Route::Reconstruction, &self.xet_hash)],
            Place::Xorbs => vec![Route::XorbData.into()],
            Place::XetFile => vec![Route::XorbData.into(), of(Route::PlainData, "/xet-bridge/")],
            Place::PlainFile => vec![of(Route::PlainData, &self.sha256)],
        }
    }
}

fn before(error: Error) -> String {
    format!("before the fault: {error:?}")
}

impl Cell {
    fn site(self) -> Site {
        match self.place {
            Place::Api | Place::Token => Site::Hub,
            Place::Reconstruction => Site::Cas,
            Place::Xorbs | Place::XetFile | Place::PlainFile => Site::Data,
        }
    }

    fn steps(self) -> Vec<Step> {
        let answer = |status, headers: &[(&str, &str)], body: &str| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            vec![Step::Answer(Answer { status, headers, body: body.to_owned() })]
        };
        match self.kind {
            Kind::Refused | Kind::NetworkGone => Vec::new(),
            Kind::Silent => vec![stall()],
            Kind::SilentInBody => vec![serve(10), stall()],
            Kind::Reset => vec![reset()],
            Kind::ResetInBody => vec![serve(10), reset()],
            Kind::Truncated => vec![serve(10), truncate()],
            Kind::WrongLength => answer(206, &[("content-range", "bytes 0-9/10")], "0123456789"),
            // The second byte of a chunk is its length; the first one of JSON is a bracket.
            Kind::WrongBytes => vec![serve(u64::from(self.site() == Site::Data)), flip_byte()],
            Kind::Portal => answer(200, &[("content-type", "text/html")], "<html>Welcome to our network</html>"),
            Kind::Expired => vec![expired()],
            Kind::SlowDown => vec![rate_limited(20)],
            Kind::Status(code) => vec![status(code)],
        }
    }

    /// The victim's file whose bytes go through the place.
    fn file(self) -> &'static str {
        if matches!(self.place, Place::Api | Place::PlainFile) { "plain" } else { "xet" }
    }
}

struct User {
    engine: Engine,
    hub: Arc<Hub>,
}

/// What is there when the fault begins.
enum Stand {
    Nothing,
    Mounted { mount: Arc<Mount>, folder: NodeId },
    Opened { mount: Arc<Mount>, folder: NodeId, handle: HandleId },
}

impl User {
    async fn mount(&self, repo: &str) -> crate::Result<Arc<Mount>> {
        self.engine.mount(&self.hub, RepoSpec::parse(repo, self.hub.config().endpoint()).unwrap()).await
    }

    async fn prepare(&self, cell: Cell) -> crate::Result<Stand> {
        if cell.moment == Moment::Mounting {
            return Ok(Stand::Nothing);
        }
        let mount = self.mount(VICTIM).await?;
        let folder = mount.clone().lookup(NodeId::ROOT, "sub".into()).await?.id;
        if cell.moment == Moment::Listing {
            return Ok(Stand::Mounted { mount, folder });
        }
        let node = mount.clone().lookup(folder, cell.file().into()).await?.id;
        let handle = mount.open(node, None)?;
        if cell.moment == Moment::Idle {
            mount.clone().read_dir(folder).await?;
        }
        if matches!(cell.moment, Moment::ReadingAhead | Moment::Idle) {
            read_len(&mount, handle, FROM, READ as u32).await?;
            sleep(Duration::from_secs(2)).await;
        }
        Ok(Stand::Opened { mount, folder, handle })
    }

    /// What the fault hits, with what it ended in. Fails if that was too late, or wrong bytes.
    async fn operate(&self, cell: Cell, stand: &Stand) -> Result<Option<Error>, String> {
        match stand {
            Stand::Nothing => within(MOUNT_MAX, async { Ok(self.mount(VICTIM).await.err()) }).await,
            Stand::Mounted { mount, folder } => within(READ_MAX, listing(mount, *folder)).await,
            Stand::Opened { mount, folder, handle } => {
                if cell.moment == Moment::Idle
                    && let Some(error) = within(OTHERS_MAX, listing(mount, *folder)).await?
                {
                    return Ok(Some(error));
                }
                let len = if cell.moment == Moment::FirstBlock { MIB } else { 12 * MIB };
                whole(mount, *handle, cell.file(), FROM..FROM + len).await
            }
        }
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(format!("still waits after {limit:?}")))
}

async fn listing(mount: &Arc<Mount>, folder: NodeId) -> Result<Option<Error>, String> {
    match mount.clone().read_dir(folder).await {
        Ok(listed) if listed.entries.len() == 2 => Ok(None),
        Ok(listed) => Err(format!("{} entries", listed.entries.len())),
        Err(error) => Ok(Some(error)),
    }
}

async fn read_len(mount: &Mount, handle: HandleId, offset: u64, len: u32) -> crate::Result<Bytes> {
    let (reply, answer) = oneshot::channel();
    mount.read(handle, offset, len, Box::new(move |data| drop(reply.send(data))));
    answer.await.expect("every read is answered").map(|data| data.into_bytes())
}

/// Reads a range as the kernel does (one of a MiB at once), until one read fails.
async fn whole(
    mount: &Mount,
    handle: HandleId,
    name: &str,
    range: std::ops::Range<u64>,
) -> Result<Option<Error>, String> {
    let len = if range.end - range.start == MIB { MIB } else { READ };
    let mut at = range.start;
    while at < range.end {
        let read = within(READ_MAX, async { Ok(read_len(mount, handle, at, len as u32).await) }).await?;
        match read {
            Ok(bytes) if bytes == bytes_of(name).read(at, len as usize).unwrap() => {}
            Ok(_) => return Err(format!("wrong bytes at {at}")),
            Err(error) => return Ok(Some(error)),
        }
        at += len;
    }
    Ok(None)
}

#[test]
fn the_table_has_at_least_150_cells_that_are_met() {
    let moments = [Moment::Mounting, Moment::Listing, Moment::FirstBlock, Moment::ReadingAhead, Moment::Idle];
    let met = moments.into_iter().flat_map(cells).filter(|cell| cell.is_met()).count();
    assert!(met >= 150, "{met}");
}

#[tokio::test]
async fn faults_while_mounting() {
    Hosts::start().await.check(Moment::Mounting).await;
}

#[tokio::test]
async fn faults_while_listing() {
    Hosts::start().await.check(Moment::Listing).await;
}

#[tokio::test]
async fn faults_while_reading_the_first_block() {
    Hosts::start().await.check(Moment::FirstBlock).await;
}

#[tokio::test]
async fn faults_while_reading_ahead() {
    Hosts::start().await.check(Moment::ReadingAhead).await;
}

#[tokio::test]
async fn faults_while_idle() {
    Hosts::start().await.check(Moment::Idle).await;
}

/// Rather than a packet lost or late, the clock leaps.
async fn sleep_of_the_machine() {
    tokio::time::advance(Duration::from_secs(600)).await;
}

#[tokio::test]
async fn a_read_goes_on_after_ten_minutes_of_sleep() {
    let hosts = Hosts::start().await;
    // After a sleep connections are reset, or nobody answers on them.
    for is_reset in [true, false] {
        tokio::time::pause();
        let user = hosts.user();
        let cell = Cell { kind: Kind::Silent, place: Place::XetFile, moment: Moment::FirstBlock, lasts: true };
        let stand = user.prepare(cell).await.unwrap();
        hosts.begin(cell).await;
        let slept = async {
            // Past the moment at which a second attempt goes out beside the silent one.
            sleep(Duration::from_secs(12)).await;
            sleep_of_the_machine().await;
            hosts.network().script().clear();
            if is_reset {
                hosts.network().cut(Site::Data).await;
            }
        };
        let Stand::Opened { mount, handle, .. } = &stand else { unreachable!("a file is open") };
        let read = async { read_len(mount, *handle, 0, 4096).await };
        let (read, ()) = tokio::join!(read, slept);
        assert_eq!(read.unwrap(), bytes_of("xet").read(0, 4096).unwrap(), "reset: {is_reset}");
        hosts.end().await;
        tokio::time::resume();
    }
}

#[tokio::test]
async fn names_that_lead_nowhere_are_met_where_they_are_told() {
    // No name server is asked for a part of 64 letters.
    let nowhere = format!("http://{}.test", "x".repeat(64));
    let hosts = Hosts::start().await;
    tokio::time::pause();

    let net = NetConfig::new(Some(&nowhere), &|_| None).unwrap();
    let repo = crate::repo::RepoId::new(crate::repo::RepoKind::Model, VICTIM).unwrap();
    let error = Hub::new(net, None).unwrap().commit(&repo, "main").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Offline, "{error:?}");

    let answer = |status, headers: &[(&str, &str)], body: String| {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        [Step::Answer(Answer { status, headers, body })]
    };
    let token = format!(r#"{{"casUrl":"{nowhere}","accessToken":"x","exp":4102444800}}"#);
    let data = format!("{nowhere}/x");
    let told = [("location", &*data), ("x-linked-size", "25165824"), ("x-linked-etag", "\"x\"")];
    for (place, route, steps, expected) in [
        (Place::XetFile, Route::XetToken, answer(200, &[], token), None),
        (Place::PlainFile, Route::Resolve, answer(302, &told, String::new()), Some(ErrorKind::Offline)),
    ] {
        let user = hosts.user();
        let cell = Cell { kind: Kind::Refused, place, moment: Moment::FirstBlock, lasts: true };
        let stand = user.prepare(cell).await.unwrap();
        let rule = hosts.network().script().on(route).path(VICTIM).always().run(steps);
        let met = user.operate(cell, &stand).await.unwrap();
        assert_eq!(met.as_ref().map(Error::kind), expected, "{place:?}: {met:?}");
        assert!(expected.is_none() || hosts.network().script().fired(rule) > 0);
        hosts.end().await;
        sleep(Duration::from_secs(6)).await;
        assert!(user.operate(cell, &stand).await.unwrap().is_none(), "{place:?}, afterwards");
    }
}
