//! What Weightless knows: how the Hub is asked, what a commit's tree looks like, how bytes are fetched and read.
//! Never knows an operating system's file-system interface; that is `weightless-platform`.
//!
//! | module | subject |
//! | --- | --- |
//! | [`error`] | the one table of errors, in words |
//! | [`net`] | the network configuration of every client |
//! | [`token`] | bearer tokens, and where the user's is found |
//! | [`repo`] | repo names, revisions, pasted URLs |
//! | [`hub`] | the Hub API: commits, trees, resolving, tokens |
//! | [`tree`] | the immutable tree of a commit, loaded by folder |
//! | [`transport`] | streams ranges of a file's bytes: Xet or plain |
//! | [`reader`] | runs the plan: blocks, handles, waiting reads |
//! | [`store`] | what was read once, kept on this device; the Hugging Face cache |
//! | [`mount`] | a repo at a commit |
//! | [`folder`] | every repo of the Hub under its name |
//! | [`volume`] | what the platform's adapters show: a mount, or the Hub folder |
//! | [`junk`] | names that desktops look for everywhere |
//! | [`engine`] | owns all of the above for one process |
//! | [`durable`] | small files that survive a crash |
//! | [`accounts`] | who asks: names in a book, tokens in the keychain |
//! | [`settings`] | the settings file: checked, changed, its defaults and their reasons |
#![forbid(unsafe_code)]

pub mod accounts;
pub mod durable;
pub mod engine;
pub mod error;
pub mod folder;
#[cfg(test)]
mod fuzz;
pub mod hub;
pub mod junk;
pub mod mount;
pub mod net;
pub mod reader;
pub mod repo;
pub mod settings;
pub mod store;
pub mod token;
pub mod transport;
pub mod tree;
pub mod volume;

#[cfg(test)]
mod testing;

pub use error::{Error, ErrorKind, Result};
