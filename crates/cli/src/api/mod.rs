//! The server as the client commands see it: typed calls, errors with an exit code and a next step, logs that are
//! followed through broken connections.
//!
//! Never: prints anything; repeats a request that changes something.

mod artifacts;
mod calls;
mod connection;
mod error;
mod follow;
mod source;
pub mod sse;

pub use calls::Shelf;
pub use connection::{Connection, Server};
pub use error::ApiError;
pub use follow::{Followed, Follower};
pub use source::Source;
