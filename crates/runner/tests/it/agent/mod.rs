//! The agent against an orchestrator (`orchestrator.rs`) and keepers (`keepers.rs`) that follow a script, over a real
//! socket. What only the real parts can show is tested end to end elsewhere.

mod artifacts;
mod caches;
mod ground;
mod jobs;
mod keepers;
mod leaving;
mod orchestrator;
mod tapped;
mod trouble;
mod world;
