//! The engine as a whole, through the one way in: scripts of commands over real stores, their answers and their traces.
//!
//! `script.rs` is the language; `world.rs` runs it. Everything else is tests, one file per promise.

mod api;

mod answers;
mod plans;
mod questions;
mod script;
mod steps;
mod stores;
mod watched;
mod words;
mod world;

mod artifacts;
mod batches;
mod cancels;
mod commits;
mod delivering;
mod disk;
mod doctor;
mod engine;
mod faults;
mod fm_001;
mod leases;
mod logs;
mod lost;
mod outbox;
mod partial;
mod races;
mod refusals;
mod resumed;
mod runners;
mod runs;
mod servers;
mod stops;
mod superseding;
mod tenants;
mod timeouts;
mod tokens;
mod walks;
