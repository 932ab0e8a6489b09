//! The runner from outside: the session as scripts, the agent against a scripted orchestrator, real keepers with real
//! processes.

mod agent;
mod caches;
mod depot;
mod executors;
mod keeper;
mod kept;
mod logs;
mod script;
mod session;
mod transfer;
mod workspace;
