//! `deltaci run` with the real binary: what it leaves, what it says, and what is left when it is stopped or killed.
//!
//! Jobs carry a mark by which `/proc` shows them, and write files by which a test sees how far they are.

mod ends;
mod folder;
mod killed;
mod records;
mod standing;
mod stops;
