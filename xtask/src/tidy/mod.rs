//! `cargo xtask tidy`: the boundaries between rooms, and nothing else; layout is rustfmt's, habits are the reviewer's.
//!
//! Each boundary is a row in a table with its reason: what a room may depend on in `imports.rs`, what its code may name
//! in `words.rs`. To move a boundary, edit the row and its reason.
//!
//! Never: an opinion on taste. Start at `inspect.rs`.

mod code;
mod imports;
mod inspect;
mod words;

pub use inspect::run;
