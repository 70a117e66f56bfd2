//! A Hugging Face Hub on loopback, for tests and demonstrations: repos from folders or descriptions, a real Xet store,
//! the Hub's API as its Python client knows it. Never listens anywhere but on 127.0.0.0/8 and never reaches out.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `sim` | starts the hosts, hands out what tests compare with |
//! | `content` | bytes of files, described or given |
//! | `repo` | repos: trees, commits, refs, rights |
//! | `xet` | xorbs, files, reconstructions |
//! | `hub` | the state the hosts share |
//! | `api` | the Hub's host |
//! | `cas` | the Xet service |
//! | `data` | the host of signed addresses |
//! | `net` | latency, bandwidth, faults and counts on the way to the three hosts |
//! | `demo` | the repos of `weightless demo` |

mod api;
mod cas;
mod content;
mod data;
mod demo;
mod http;
mod hub;
pub mod net;
mod repo;
mod sign;
mod sim;
mod xet;

pub use content::Content;
pub use demo::{DEMO_MODEL, demo_repos};
pub use repo::{Gate, RepoDef, RepoKind, Storage};
pub use sim::{FileFacts, HubSim, HubSimBuilder, Push};
