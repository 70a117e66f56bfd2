//! The verbs, one file each. A verb prints its result and returns; only `mount --foreground`, `demo`, `status --watch` and the
//! engine stay.

pub(crate) mod accounts;
pub(crate) mod config;
#[cfg(feature = "demo")]
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod engine;
pub(crate) mod folder;
pub(crate) mod free;
pub(crate) mod info;
pub(crate) mod log;
pub(crate) mod ls;
pub(crate) mod manual;
pub(crate) mod mount;
pub(crate) mod open;
pub(crate) mod pause;
pub(crate) mod search;
pub(crate) mod status;
pub(crate) mod unmount;
pub(crate) mod update;
