//! Requests and replies as they stand on a line. Parses once, at the border: what comes out is typed or an error that can be
//! answered.

use crate::accounts::{AddAccount, ListAccounts, RemoveAccount, UseAccount};
use crate::events::{EVENT, EventMessage, Subscribe};
use crate::fault::Fault;
use crate::folder::{GetFolder, SetFolder};
use crate::hello::Hello;
use crate::mounts::{AddMount, SetMount, Status, Unmount, UpdateMount};
use crate::repos::{DescribeRepo, GetReadme, ListFolder, Search};
use crate::settings::{GetSettings, SetSettings};
use crate::stats::GetStats;
use crate::upkeep::{Diagnose, Doctor, Free, Pause, Stop};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

/// The parameters of one method; ties its name to the type of its reply.
pub trait Method: Serialize + DeserializeOwned {
    /// The method's name on the wire.
    const NAME: &str;
    /// What a successful reply holds.
    type Reply: Serialize + DeserializeOwned;
}

/// A request's id: chosen by the client, repeated in the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Number(u64),
    /// A string.
    Text(String),
}

/// Defines [`Call`] and its parser from one list, so that no method is in one and not in the other.
macro_rules! calls {
    ($($(#[$doc:meta])* $method:ident,)+) => {
        /// Every method a server answers.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Call {
            $($(#[$doc])* $method($method),)+
        }

        impl Call {
            /// The names of all methods.
            pub const NAMES: &[&str] = &[$($method::NAME),+];

            fn parse(method: &str, params: Value) -> Result<Call, RpcError> {
                match method {
                    $($method::NAME => params_of(params).map(Call::$method),)+
                    _ => Err(RpcError::new(RpcError::UNKNOWN_METHOD, "there is no such method")),
                }
            }
        }
    };
}

calls! {
    /// Settles the version.
    Hello,
    /// What is mounted.
    Status,
    /// Mounts.
    AddMount,
    /// Unmounts.
    Unmount,
    /// Changes a mount.
    SetMount,
    /// Moves a mount to a newer commit.
    UpdateMount,
    /// The Hub folder.
    GetFolder,
    /// Turns the Hub folder on or off.
    SetFolder,
    /// Pauses all network.
    Pause,
    /// The settings.
    GetSettings,
    /// Changes settings.
    SetSettings,
    /// The accounts.
    ListAccounts,
    /// Adds an account.
    AddAccount,
    /// Forgets an account.
    RemoveAccount,
    /// Chooses the default account.
    UseAccount,
    /// Searches repos.
    Search,
    /// What a repo is.
    DescribeRepo,
    /// What a folder of a repo holds.
    ListFolder,
    /// A repo's README.
    GetReadme,
    /// The figures of this moment.
    GetStats,
    /// Starts the stream of events.
    Subscribe,
    /// Frees what is kept on this device.
    Free,
    /// Tests the way to the Hub.
    Doctor,
    /// Collects diagnostics.
    Diagnose,
    /// Ends the engine.
    Stop,
}

fn params_of<M: Method>(params: Value) -> Result<M, RpcError> {
    serde_json::from_value(params).map_err(|error| {
        RpcError::new(RpcError::INVALID_PARAMS, format!("the parameters of {} do not fit: {error}", M::NAME))
    })
}

/// A request as a server sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// To be repeated in the reply.
    pub id: Id,
    /// What is asked.
    pub call: Call,
}

/// A request that cannot be served, with the reply that says why.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// The request's id, where it could be read.
    pub id: Option<Id>,
    /// Why.
    pub error: RpcError,
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("{message}")]
pub struct RpcError {
    /// One of the numbers below.
    pub code: i64,
    /// For people.
    pub message: String,
    /// For programs; present with [`RpcError::FAULT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<Fault>>,
}

impl RpcError {
    /// The line is no JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON is no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const UNKNOWN_METHOD: i64 = -32601;
    /// The method's parameters do not fit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The request was understood and failed; `data` says how.
    pub const FAULT: i64 = -32000;
    /// The sides have no protocol in common, or `hello` did not come first.
    pub const VERSION: i64 = -32001;

    /// An error of the protocol itself.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }

    /// Whether the connection cannot go on, since the next line may start anywhere in the client's mind.
    pub fn is_fatal(&self) -> bool {
        matches!(self.code, RpcError::PARSE | RpcError::INVALID_REQUEST | RpcError::VERSION)
    }
}

impl From<Fault> for RpcError {
    fn from(fault: Fault) -> Self {
        RpcError { code: RpcError::FAULT, message: fault.sentence.clone(), data: Some(Box::new(fault)) }
    }
}

impl Request {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Request, Malformed> {
        let refuse = |id: Option<Id>, code, message: &str| Malformed { id, error: RpcError::new(code, message) };
        let value: Value =
            serde_json::from_slice(line).map_err(|_| refuse(None, RpcError::PARSE, "this is not JSON"))?;
        let Value::Object(mut fields) = value else {
            return Err(refuse(None, RpcError::INVALID_REQUEST, "a request is one JSON object"));
        };
        let id = fields.remove("id").and_then(|id| serde_json::from_value::<Id>(id).ok());
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(refuse(id, RpcError::INVALID_REQUEST, "jsonrpc is not \"2.0\""));
        }
        let Some(Value::String(method)) = fields.remove("method") else {
            return Err(refuse(id, RpcError::INVALID_REQUEST, "method is missing"));
        };
        let Some(id) = id else {
            return Err(refuse(None, RpcError::INVALID_REQUEST, "id is missing"));
        };
        let params = fields.remove("params").filter(|params| !params.is_null()).unwrap_or_else(|| json!({}));
        match Call::parse(&method, params) {
            Ok(call) => Ok(Request { id, call }),
            Err(error) => Err(Malformed { id: Some(id), error }),
        }
    }

    /// Writes a request as a line, with its end.
    pub fn line<M: Method>(id: u64, params: &M) -> Vec<u8> {
        line(&json!({"jsonrpc": "2.0", "id": id, "method": M::NAME, "params": params}))
    }

    /// Writes a request that is known by name only, as one who passes requests on has it.
    pub fn line_of(id: u64, method: &str, params: &Value) -> Vec<u8> {
        line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }
}

/// A reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The request's id; `None` if it could not be read.
    pub id: Option<Id>,
    /// The result, or why there is none.
    pub outcome: Result<Value, RpcError>,
}

impl Reply {
    /// A successful reply to `M`.
    pub fn success<M: Method>(id: Id, result: &M::Reply) -> Self {
        let outcome = serde_json::to_value(result)
            .map_err(|error| RpcError::from(Fault::new("internal", format!("a reply cannot be written: {error}"))));
        Reply { id: Some(id), outcome }
    }

    /// A refusal.
    pub fn failure(id: Option<Id>, error: RpcError) -> Self {
        Reply { id, outcome: Err(error) }
    }

    /// Reads a line; `None` if it is no reply.
    pub fn parse(line: &[u8]) -> Option<Reply> {
        #[derive(Deserialize)]
        struct Wire {
            jsonrpc: String,
            id: Option<Id>,
            result: Option<Value>,
            error: Option<RpcError>,
        }
        let wire: Wire = serde_json::from_slice(line).ok()?;
        let outcome = match (wire.result, wire.error) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(error),
            _ => return None,
        };
        (wire.jsonrpc == "2.0").then_some(Reply { id: wire.id, outcome })
    }

    /// Writes the reply as a line, with its end.
    pub fn line(&self) -> Vec<u8> {
        line(&match &self.outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": self.id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": self.id, "error": error}),
        })
    }
}

/// What arrives at a client: a reply to one of its requests, or an event of the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// A reply.
    Reply(Reply),
    /// An event.
    Event(EventMessage),
}

impl Incoming {
    /// Reads a line; `None` if it is neither.
    pub fn parse(line: &[u8]) -> Option<Incoming> {
        #[derive(Deserialize)]
        struct Notification {
            jsonrpc: String,
            method: String,
            params: EventMessage,
        }
        if let Some(reply) = Reply::parse(line) {
            return Some(Incoming::Reply(reply));
        }
        let wire: Notification = serde_json::from_slice(line).ok()?;
        (wire.jsonrpc == "2.0" && wire.method == EVENT).then_some(Incoming::Event(wire.params))
    }
}

impl EventMessage {
    /// Writes the event as a line, with its end.
    pub fn line(&self) -> Vec<u8> {
        line(&json!({"jsonrpc": "2.0", "method": EVENT, "params": self}))
    }
}

/// JSON escapes control characters, so a message holds no line end but its own.
fn line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EngineStatus, MountState, MountStatus, StatusReply, UnmountManner};

    /// The promise to clients of other versions and languages: these lines, to the letter.
    #[test]
    fn the_wire_names_stay() {
        #[track_caller]
        fn check<M: Method>(params: &M, call: Call, expected: &str) {
            let line = Request::line(7, params);
            assert_eq!(std::str::from_utf8(&line).unwrap(), format!("{expected}\n"));
            assert_eq!(Request::line_of(7, M::NAME, &serde_json::to_value(params).unwrap()), line);
            assert_eq!(Request::parse(&line[..line.len() - 1]), Ok(Request { id: Id::Number(7), call }));
        }
        let hello = Hello { client: "c".into(), protocol_oldest: 1, protocol_newest: 2 };
        check(
            &hello,
            Call::Hello(hello.clone()),
            r#"{"id":7,"jsonrpc":"2.0","method":"hello","params":{"client":"c","protocol_newest":2,"protocol_oldest":1}}"#,
        );
        check(&Status {}, Call::Status(Status {}), r#"{"id":7,"jsonrpc":"2.0","method":"status","params":{}}"#);
        let unmount = Unmount { dir: "/m".into(), manner: UnmountManner::Lazily };
        check(
            &unmount,
            Call::Unmount(unmount.clone()),
            r#"{"id":7,"jsonrpc":"2.0","method":"mounts.remove","params":{"dir":"/m","manner":"lazily"}}"#,
        );
    }

    #[test]
    fn a_status_reply_keeps_its_names_and_survives_the_wire() {
        let status = StatusReply {
            engine: EngineStatus {
                pid: 1,
                version: "0.1.0".into(),
                started_unix_s: 5,
                budget_bytes: 6,
                held_bytes: 7,
                is_paused: false,
                log: "/l".into(),
                faults: Vec::new(),
                store: None,
            },
            folder: None,
            mounts: vec![MountStatus {
                repo: "datasets/a/b".into(),
                revision: "main".into(),
                commit: "c0".into(),
                update: None,
                subfolder: String::new(),
                endpoint: "http://h".into(),
                dir: "/m".into(),
                state: MountState::Ready,
                pid: Some(1),
                mounted_unix_s: 5,
                bytes_delivered: 2,
                bytes_fetched: 3,
                bytes_from_store: 10,
                bytes_from_hub_cache: 11,
                open_files: 4,
                files: 8,
                size_bytes: 9,
                account: None,
                at_login: true,
                follow: false,
                in_folder: false,
                is_paused: false,
                weight: 1,
                fault: None,
            }],
        };
        let reply = Reply::success::<Status>(Id::Text("x".into()), &status);
        let line = reply.line();
        assert_eq!(
            std::str::from_utf8(&line).unwrap().trim_end(),
            concat!(
                r#"{"id":"x","jsonrpc":"2.0","result":{"engine":{"budget_bytes":6,"faults":[],"held_bytes":7,"is_paused":false,"#,
                r#""log":"/l","pid":1,"started_unix_s":5,"version":"0.1.0"},"mounts":[{"at_login":true,"#,
                r#""bytes_delivered":2,"bytes_fetched":3,"bytes_from_hub_cache":11,"bytes_from_store":10,"#,
                r#""commit":"c0","dir":"/m","endpoint":"http://h","files":8,"#,
                r#""follow":false,"in_folder":false,"is_paused":false,"mounted_unix_s":5,"open_files":4,"pid":1,"repo":"datasets/a/b","#,
                r#""revision":"main","size_bytes":9,"state":"ready","subfolder":"","weight":1}]}}"#
            )
        );
        let back = Reply::parse(&line).unwrap();
        assert_eq!(back, reply);
        assert_eq!(serde_json::from_value::<StatusReply>(back.outcome.unwrap()).unwrap(), status);
    }

    #[test]
    fn what_a_newer_peer_adds_is_passed_over() {
        let line =
            br#"{"jsonrpc":"2.0","id":1,"method":"mounts.remove","params":{"dir":"/m","manner":"refuse","new":1},"trace":2}"#;
        let unmount = Unmount { dir: "/m".into(), manner: UnmountManner::Refuse };
        assert_eq!(Request::parse(line).unwrap().call, Call::Unmount(unmount));
        let state: MountState = serde_json::from_str(r#""hibernating""#).unwrap();
        assert_eq!(state, MountState::Other);
    }

    #[test]
    fn what_cannot_be_served_is_answered_by_its_reason() {
        #[track_caller]
        fn check(line: &[u8], code: i64, id: Option<Id>, fatal: bool) {
            let malformed = Request::parse(line).unwrap_err();
            assert_eq!((malformed.error.code, malformed.id), (code, id));
            assert_eq!(malformed.error.is_fatal(), fatal);
        }
        let one = || Some(Id::Number(1));
        check(b"", RpcError::PARSE, None, true);
        check(b"\x00\xff\xfe", RpcError::PARSE, None, true);
        check(br#"{"jsonrpc":"2.0","id":1,"meth"#, RpcError::PARSE, None, true);
        check(&b"[".repeat(100_000), RpcError::PARSE, None, true);
        check(b"[]", RpcError::INVALID_REQUEST, None, true);
        check(b"3", RpcError::INVALID_REQUEST, None, true);
        check(br#"{"id":1,"method":"status"}"#, RpcError::INVALID_REQUEST, one(), true);
        check(br#"{"jsonrpc":"1.0","id":1,"method":"status"}"#, RpcError::INVALID_REQUEST, one(), true);
        check(br#"{"jsonrpc":"2.0","id":1}"#, RpcError::INVALID_REQUEST, one(), true);
        check(br#"{"jsonrpc":"2.0","method":"status"}"#, RpcError::INVALID_REQUEST, None, true);
        check(br#"{"jsonrpc":"2.0","id":[1],"method":"status"}"#, RpcError::INVALID_REQUEST, None, true);
        check(br#"{"jsonrpc":"2.0","id":1,"method":"format_disk"}"#, RpcError::UNKNOWN_METHOD, one(), false);
        check(br#"{"jsonrpc":"2.0","id":1,"method":"mounts.remove"}"#, RpcError::INVALID_PARAMS, one(), false);
        check(
            br#"{"jsonrpc":"2.0","id":1,"method":"mounts.remove","params":[1]}"#,
            RpcError::INVALID_PARAMS,
            one(),
            false,
        );
    }

    #[test]
    fn lines_that_are_no_reply_are_told_apart() {
        for line in [
            &b""[..],
            b"{}",
            br#"{"jsonrpc":"2.0","id":1}"#,
            br#"{"jsonrpc":"1.0","id":1,"result":1}"#,
            br#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
        ] {
            assert_eq!(Reply::parse(line), None);
        }
    }

    /// A fixed walk over damaged messages: cut, flipped and spliced lines are refused or parsed, and never panic.
    #[test]
    fn ten_thousand_damaged_messages_do_no_harm() {
        let good = Request::line(1, &Unmount { dir: "/m".into(), manner: UnmountManner::Refuse });
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % bound
        };
        for _ in 0..10_000 {
            let mut line = good.clone();
            for _ in 0..=next(4) {
                let at = next(line.len());
                line[at] = next(256) as u8;
            }
            line.truncate(next(line.len() + 1));
            let _ = Request::parse(&line);
            let _ = Reply::parse(&line);
        }
    }
}
