//! The databases hold by themselves what the decisions promise: state names, uniqueness, references, counters.

mod artifact_bites;
mod bites;
mod lists;
