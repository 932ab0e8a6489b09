//! Simulation: a whole system on one thread, in which one number decides everything that happens and all that goes wrong.
//!
//! **Real:** `server::perform` (batches, conflicts, splits, answers after saves), every decision, `server::ticks::commands`, the
//! store in memory with its versions, constraints and faults, the runner's protocol session, the doctor. **Played:** time, the
//! network, HTTP (a request is a command whose ids are minted on arrival), keepers and jobs, bytes on a disk; and, because the
//! real ones wait on sockets and tasks, the agent's loop, the outbox's workers, the upload handlers, upkeep and the collector,
//! step by step as their originals do it.
//!
//! First a storm of faults, whose rates the seed draws too, then a calm in which everything has to come to its end. `watch` looks
//! at every save, `history` at what clients were told, `end` at what is left. [`run`] plays one seed, [`many`] plays many,
//! [`shrink`](shrink::shrink) makes the story of a failing one shorter.
//!
//! Never: a clock, randomness that does not come from the seed, a thread of its own but those of `many`, global state; a rule
//! that asks a decision. Start at `world.rs`.

mod agenda;
mod agent;
mod course;
mod dice;
mod disk;
mod edge;
mod end;
mod faults;
mod garbage;
mod keeper;
mod leavings;
mod nemesis;
mod network;
mod outbox;
pub mod parts;
mod people;
mod publisher;
pub mod rules;
mod run;
mod server;
mod setup;
pub mod shrink;
mod trace;
mod watch;
mod words;
mod world;

pub use faults::{Class, Limits, Strike};
pub use run::{Outcome, Row, Total, many, many_with, run, run_with};
pub use setup::Profile;
