//! What only PostgreSQL has to prove: opening it, and several servers on one database.

mod database;
mod elsewhere;
mod failover;
mod full_disk;
mod opening;
mod server;
mod sharing;
mod working;
