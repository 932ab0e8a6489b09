//! Artifacts on real stores and real files, with the collector at work beside everybody else.

mod again;
mod archive;
mod caches;
mod collecting;
mod faults;
mod soak;
pub mod yard;
