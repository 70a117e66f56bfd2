//! The plan's promises: tables, small worlds searched whole, seeded walks.
mod link;
mod tables;
mod walks;
mod world;
