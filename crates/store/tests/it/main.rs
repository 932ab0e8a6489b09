//! The stores against their contract. PostgreSQL comes with `cargo xtask test`.

mod blobs;
mod commands;
mod conformance;
mod desk;
mod forged;
mod postgres;
mod property;
mod schema;
mod small_disk;
mod sqlite;
mod stores;
