//! What a job's result depends on, as one digest: two jobs with the same key do the same work on the same files.
//!
//! Never: a file's bytes. Contents are told apart by the ids that the tree carries.

mod cache;
mod canonical;
mod files;
mod input;

pub use cache::{globs, resolve};
pub use canonical::canonical;
pub use files::Files;
pub use input::{Inputs, input_key};
