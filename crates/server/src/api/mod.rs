//! The HTTP API: requests in, one command or one question, an answer out.
//!
//! `router.rs` lists the routes; `guard.rs` is the one place that checks tokens and tells tenants apart; `problem.rs` the
//! one that says no. Never: SQL, a record written, a decision, a secret in a log.

mod artifacts;
mod bodies;
mod bounds;
mod caches;
mod document;
mod edge;
mod events;
mod find;
mod guard;
mod input;
mod jobs;
mod logs;
mod open;
mod outbox;
mod problem;
mod router;
mod runner;
mod runners;
mod runs;
mod state;
mod tenants;
mod tokens;
mod vault;
mod webhooks;

pub use router::router;
pub use state::Api;
