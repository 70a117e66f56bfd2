//! What the tests of promises to users share, and the benchmarks.

pub mod bench;
