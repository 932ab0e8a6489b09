//! What a job made: found in its workspace, brought to the server, and named in the runner's final word.
//!
//! A job's workspace is hostile ground. `globs.rs` refuses patterns that lead out of it, `beneath.rs` opens files without
//! ever following a link, `walk.rs` looks at regular files only and within bounds. `collect.rs` does all of it for one job.
//!
//! Never: a file outside the workspace; a device, pipe or socket; a path that was checked and then opened by name.

mod beneath;
mod collect;
mod globs;
mod notes;
mod walk;

pub use beneath::Root;
pub use collect::Collector;
pub use notes::{Notes, shown};
pub use walk::Bounds;

/// The most files of one job.
pub const FILES_MAX: usize = 10_000;
