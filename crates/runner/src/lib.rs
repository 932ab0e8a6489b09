//! The runner: leases jobs, executes them, says how they ended.
//!
//! Two processes. The **agent** speaks the protocol. For each job it starts a **keeper**, a child of the same binary, that
//! executes the steps and owns every process of the job. A keeper whose agent dies, freezes past the lease or says stop
//! takes the whole job down with it: the last process of a job is gone before a successor can start.
//!
//! Never: the store; a word to the orchestrator after `StaleLease`; a lease id or token in a job's environment.

pub mod agent;
pub mod artifacts;
mod backoff;
pub mod caches;
pub mod capabilities;
pub mod client;
pub mod clock;
mod executors;
pub mod keeper;
pub mod logs;
pub mod mint;
pub mod session;
pub mod transfer;
pub mod workspace;
