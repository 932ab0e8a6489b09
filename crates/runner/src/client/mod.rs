//! HTTP to the orchestrator: one JSON message per request, connections kept alive, a time limit on each request.
//!
//! The HTTP part serves the commands of the command line too.
//!
//! Requests that overlap use connections of their own, so no upload can hold a heartbeat up.
//!
//! Never: a retry of its own; a token or lease id in a URL, a log line or an error.

mod http;
mod read;
mod token;

pub use http::{Client, Lost, Reply, Stream};
pub use read::{LeaseAnswer, answer, lease_answer, seconds};
pub use token::Token;
