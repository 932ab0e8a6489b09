//! A repository's pipeline: the file that describes it, the projects that are found without one, and the plan that says
//! for every job whether it runs, is skipped or is reused, and why.
//!
//! Pure: text and lists of files in, a plan out. The same input gives the same plan, byte for byte.
//! Never: I/O, a clock, randomness, a process. What a plan needs to know of the past arrives as an argument.

pub mod definition;
pub mod discover;
pub mod facts;
pub mod file;
pub mod first;
pub mod globs;
pub mod keys;
pub mod plan;
pub mod problem;
pub mod schema;
pub mod tree;
pub mod yaml;

mod closest;
