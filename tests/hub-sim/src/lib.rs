//! Placeholder.

pub mod net;
