//! The control protocol: what clients and the process that owns mounts say to each other, and the client's side of it.
//! Never knows the Hub, Xet or a file system, and never carries a token out of the engine.
//!
//! JSON-RPC 2.0 over a local stream, one message a line, no batches, no notifications from the client. The first request
//! of a connection is [`Hello`], which settles the version; anything else before it is refused. A message that cannot be
//! read gets an error and the connection is closed; an unknown method or bad parameters get an error and it stays open.
//!
//! After `subscribe` the engine also sends notifications named `event`.
//!
//! | module | subject |
//! | --- | --- |
//! | [`lines`] | bytes to bounded lines, for both sides |
//! | [`message`] | requests, replies, JSON-RPC errors |
//! | [`hello`] | versions |
//! | [`mounts`] | what is mounted; how mounts come, change and go |
//! | [`folder`] | the Hub folder |
//! | [`settings`] | what people set |
//! | [`accounts`] | who asks the Hub |
//! | [`repos`] | search, and what a repo holds |
//! | [`stats`] | how much, how fast, and what waits |
//! | [`events`] | the stream of what happens |
//! | [`upkeep`] | pause, stop, doctor, diagnostics |
//! | [`fault`] | an error in words, as people and programs get it |
//! | [`client`] | the blocking client |
#![forbid(unsafe_code)]

pub mod accounts;
pub mod client;
pub mod events;
pub mod fault;
pub mod folder;
pub mod hello;
pub mod lines;
pub mod message;
pub mod mounts;
pub mod repos;
pub mod settings;
pub mod stats;
pub mod upkeep;

pub use client::{Client, ClientError};
pub use events::{Event, EventMessage, Subscribe};
pub use fault::{Fault, Holder};
pub use folder::{FolderReply, FolderStatus, GetFolder, SetFolder};
pub use hello::{Hello, Welcome};
pub use lines::{LineError, Lines, MESSAGE_BYTES_MAX};
pub use message::{Call, Id, Incoming, Malformed, Method, Reply, Request, RpcError};
pub use mounts::{
    AddMount, EngineStatus, MountState, MountStatus, Mounted, SetMount, Status, StatusReply, StoreStatus, Unmount,
    UnmountManner, Unmounted, UpdateMount,
};
pub use settings::{Problem, Settings};
