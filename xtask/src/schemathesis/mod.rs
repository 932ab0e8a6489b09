//! `cargo xtask schemathesis`: the served OpenAPI document, held against a running server by a fuzzer from the Python
//! registry, once with each kind of token.
//!
//! What is sent and what is checked is in `xtask/fuzz`; this room only starts things. Never: touches a server it did not
//! start. Start at `passes.rs`.

mod environment;
mod passes;
mod server;

pub use passes::{Build, run};
