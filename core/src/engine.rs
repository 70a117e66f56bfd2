//! Owns the network configuration, the reader and the mounts of one process.
