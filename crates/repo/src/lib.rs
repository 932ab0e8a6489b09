//! Reads repositories: which files there are, what is in them, what changed since a base; a folder on this machine, or a
//! mirror of a repository elsewhere.
//!
//! Runs the system's `git`, and gives it nothing to decide: no configuration of the repository's choosing, no hooks, no
//! filters, no prompts, no submodules, no transport that runs a command.
//! Never: writes into the repository it reads, or decides what the files mean. Everything here blocks.
//! Start at `folder/mod.rs` and `mirror/mod.rs`; `copy.rs` makes copies of a tree.

pub mod copy;
mod error;
pub mod folder;
mod git;
mod hash;
pub mod leftovers;
pub mod mirror;
mod names;
mod paths;
mod steps;

pub use error::Error;
pub use folder::{Folder, Head, Listing};
pub use mirror::{Found, Mirror, Mirrors};
