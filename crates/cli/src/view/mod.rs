//! How things look on a terminal: states, times, tables, trees, logs. Text in, text out.
//!
//! Never: a control character of somebody else's text on the terminal; colour or a cut line in a file or pipe.

pub mod bars;
pub mod clean;
pub mod job;
pub mod local;
pub mod log;
pub mod run;
pub mod screen;
pub mod state;
pub mod table;
pub mod time;
pub mod timeline;
pub mod tree;
pub mod ways;
