//! The HTTP API, over real sockets: each route's answers, each way to be told no, and who sees what.
//!
//! `site.rs` is a running server and its clients; it holds every answer to the OpenAPI document that is served.

mod site;

mod archived;
mod artifacts;
mod bodies;
mod caches;
mod events;
mod guard;
mod inside;
mod isolation;
mod jobs;
mod logs;
mod open;
mod planning;
mod postgres;
mod refused;
mod runner;
mod runs;
mod stopping;
mod tenants;
mod tokens;
mod webhooks;
