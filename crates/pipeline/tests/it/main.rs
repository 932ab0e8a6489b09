//! The tests of the pipeline, one binary.

mod file;
mod golden;
