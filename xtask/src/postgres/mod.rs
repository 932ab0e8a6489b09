//! A private PostgreSQL for one command: started in a temporary folder, gone afterwards however the command ends.
//!
//! Durability is left at its defaults: a test or a benchmark against a server that does not sync proves little.
//!
//! Never: touches a server it did not start. Start at `server.rs`.

mod account;
mod install;
mod programs;
mod provide;
mod server;

pub use account::is_root;
pub use provide::{is_there, run_with};
pub use server::Server;
