//! HTTP to the orchestrator: one JSON message per request, connections kept alive, a time limit on each request. Bodies
//! of any length go and come as streams (`body.rs`), within flat memory.
//!
//! The HTTP part serves the commands of the command line too.
//!
//! Requests that overlap use connections of their own, so no upload can hold a heartbeat up.
//!
//! Never: a retry of its own; a token or lease id in a URL, a log line or an error.

mod body;
mod http;
mod inside;
mod read;
mod token;

pub use body::{Body, Taken};
pub use http::{Client, Header, Lost, Reply, Stream, json};
pub use hyper::body::Bytes;
pub use inside::Connect;
pub use read::{LeaseAnswer, answer, lease_answer, seconds};
pub use token::Token;
