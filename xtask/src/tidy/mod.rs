//! `cargo xtask tidy`: the boundaries between rooms, and tests that a document names; layout is rustfmt's, habits are the
//! reviewer's.
//!
//! Each boundary is a row in a table with its reason: what a room may depend on in `imports.rs`, what its code may name
//! in `words.rs`. To move a boundary, edit the row and its reason. `invariants.rs` sees that the tests are there which
//! `docs/invariants.md` names.
//!
//! Never: an opinion on taste. Start at `inspect.rs`.

mod code;
mod imports;
mod inspect;
mod invariants;
mod words;

pub use inspect::run;
