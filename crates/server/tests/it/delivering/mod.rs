//! The outbox at work: real workers, real HTTP, subscribers that are slow, broken or dead.

mod fair;
mod order;
mod rig;
mod sink;
mod stopping;
mod tries;
