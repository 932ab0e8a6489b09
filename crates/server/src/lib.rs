//! The shell around the decisions: the one way in (`perform`), the ticks that find due work, the clock, the mint, and
//! the doctor.
//!
//! `engine.rs` runs the batches of `perform.rs` over a store; `perform.rs` itself does no I/O and reads no clock, so
//! that a simulator can run the same lines.
//!
//! Never: SQL, a state transition, an answer before the commit that makes it true.

pub mod api;
pub mod artifacts;
pub mod clock;
pub mod dispatch;
pub mod doctor;
pub mod doors;
pub mod engine;
pub mod explain;
pub mod junit;
pub mod machines_json;
pub mod metrics;
pub mod mint;
pub mod outbox;
pub mod perform;
pub mod planning;
pub mod resume;
pub mod serve;
pub mod ticks;
mod weight;

pub use clock::Clock;
pub use engine::Engine;
pub use mint::Mint;
pub use perform::Failure;
