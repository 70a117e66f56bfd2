//! The Xet side of the simulator: real xorbs made by the xet crates, the files they make up, and reconstructions.
//! Never speaks HTTP.

mod blob;
mod ingest;
mod reconstruct;
mod store;

pub(crate) use blob::Blob;
pub(crate) use ingest::READ_BYTES;
pub(crate) use reconstruct::Reconstruction;
pub(crate) use store::{Term, XetFile, XetStore, Xorb};
