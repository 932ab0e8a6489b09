//! YAML 1.2, as much of it as a pipeline file needs: text in, nodes with their places out.
//!
//! Files come from strangers. Everything has a limit, an alias costs what it stands for, and tags are refused: a value
//! is what is written. Never: a type that the writer did not see (`on`, `yes` and `no` are texts).

mod build;
mod core;
mod faults;
mod node;
mod parse;

pub use core::Kind;
pub use node::{Entry, Node, Scalar, Value};
pub use parse::{BYTES_MAX, DEPTH_MAX, NODES_MAX, parse};
