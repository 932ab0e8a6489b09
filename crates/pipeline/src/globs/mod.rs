//! Patterns over a repository's paths: `*` and `?` stay within a name, `**` does not, `{a,b}` is either, `[ab]` is one
//! letter, `\` takes a letter as it is. An entry that begins with `!` takes files away again, wherever it stands in its
//! list; a list of such entries alone means all other files.
//!
//! Strict, as for a job's artifacts: a pattern is relative to the root, so `*.rs` is the root's own files and `**/*.rs`
//! all of them. Paths are bytes, and `?` is one byte that is not `/`.
//!
//! Never: a walk over folders. Start at `lists.rs`.

mod index;
mod lists;
mod needed;
mod pattern;
mod several;

pub use index::Index;
pub use lists::{BadPattern, ListId, Lists};
pub use pattern::{BadGlob, check, folder, literal};

pub(crate) use pattern::normal;
