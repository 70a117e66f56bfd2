//! The plan's promises: tables, small worlds searched whole, seeded walks.
mod bugs;
mod link;
mod search;
mod tables;
mod walks;
mod world;
