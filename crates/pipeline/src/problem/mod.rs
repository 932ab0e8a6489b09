//! What is wrong with a text that somebody wrote: where, why, and what to do about it; and how that looks to a person.
//!
//! Never: a guess about the terminal. Width and colours are arguments.

mod draw;
mod kinds;
mod line;
mod source;

pub use draw::{Look, Style, draw, draw_all};
pub use kinds::{Code, PROBLEMS_MAX, Place, Problem, Problems};
pub use source::Source;

pub(crate) use line::{is_hidden, short};
