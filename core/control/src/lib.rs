//! The control protocol: what clients and the process that owns mounts say to each other, and the client's side of it.
//! Never knows the Hub, Xet or a file system, and never carries a token out of the engine.
//!
//! JSON-RPC 2.0 over a local stream, one message a line, no batches, no notifications from the client. The first request
//! of a connection is [`Hello`], which settles the version; anything else before it is refused. A message that cannot be
//! read gets an error and the connection is closed; an unknown method or bad parameters get an error and it stays open.
//!
//! | module | subject |
//! | --- | --- |
//! | [`lines`] | bytes to bounded lines, for both sides |
//! | [`message`] | requests, replies, JSON-RPC errors |
//! | [`hello`] | versions |
//! | [`mounts`] | what is mounted, how to unmount |
//! | [`fault`] | an error in words, as people and programs get it |
//! | [`client`] | the blocking client |
#![forbid(unsafe_code)]

pub mod client;
pub mod fault;
pub mod hello;
pub mod lines;
pub mod message;
pub mod mounts;

pub use client::{Client, ClientError};
pub use fault::{Fault, Holder};
pub use hello::{Hello, Welcome};
pub use lines::{LineError, Lines, MESSAGE_BYTES_MAX};
pub use message::{Call, Id, Malformed, Method, Reply, Request, RpcError};
pub use mounts::{MountState, MountStatus, Process, Status, StatusReply, Unmount, UnmountManner, Unmounted};
