//! The runner's tests: the session as scripts, the log's file, the agent against a scripted orchestrator.

mod agent;
mod logs;
mod script;
mod session;
mod workspace;
