//! The databases hold by themselves what the decisions promise: state names, uniqueness, references, counters.

mod bites;
mod lists;
