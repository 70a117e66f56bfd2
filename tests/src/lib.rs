//! What the tests of promises to users share, and the benchmarks.

pub mod bench;
#[cfg(target_os = "linux")]
pub mod gateway;
pub mod mounted;
