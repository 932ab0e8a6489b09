//! A local run on its way: a moving tree on a terminal, lines elsewhere, events for programs; and at the end what failed.
//!
//! Never: memory that grows with what jobs print; a control character of theirs on the terminal.

mod block;
mod board;
pub mod canvas;
pub mod choose;
pub mod json;
mod lines;
mod live;
mod plain;
pub mod plan;
pub mod reasons;
mod report;
mod said;
#[cfg(test)]
mod tests;
