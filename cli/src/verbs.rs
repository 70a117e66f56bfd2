//! The verbs, one file each. A verb prints its result and returns; only `mount --foreground`, `demo` and the hidden `host`
//! stay.

#[cfg(feature = "demo")]
pub(crate) mod demo;
pub(crate) mod host;
pub(crate) mod info;
pub(crate) mod ls;
pub(crate) mod mount;
pub(crate) mod status;
pub(crate) mod unmount;
