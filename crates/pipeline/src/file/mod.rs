//! `delta-ci.yaml`: from its text to a [`crate::definition::Pipeline`], or to everything that is wrong with it.
//!
//! `keys` is the one table of what may be written; `check` holds a file to it, `crate::schema` makes the JSON Schema of
//! it. What a table cannot say (needs, matrices, placeholders) is in the other files.

mod check;
mod duration;
mod fill;
mod formats;
mod jobs;
mod keys;
mod matrix;
mod nearest;
mod needs;
mod read;
mod spec;

pub use jobs::{JOBS_MAX, TEXT_BYTES_MAX};
pub use keys::FILE_NAME;
pub use matrix::COMBINATIONS_MAX;
pub use read::read;

pub(crate) use check::retried_classes;
pub(crate) use keys::{Empty, FILE, Key, List, Named, Shape};
