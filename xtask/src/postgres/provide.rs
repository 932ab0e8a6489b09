//! Runs a command that needs PostgreSQL: with the server its user named, or else with a private one.

use std::process::Command;

use anyhow::Result;

use super::{Server, programs};
use crate::workspace::run_to_end;

/// Where the command finds the server, and where a user may name one of their own.
const VARIABLE: &str = "DELTACI_TEST_POSTGRES";

/// A server is named, or one can be started.
pub fn is_there() -> bool {
    is_named() || programs::find().is_some()
}

fn is_named() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|url| !url.is_empty())
}

/// Returns the command's exit code; the server, if we started one, is gone by then.
pub fn run_with(mut command: Command) -> Result<u8> {
    if is_named() {
        return run_to_end(&mut command); // the child inherits the variable
    }
    let server = Server::start()?;
    run_to_end(command.env(VARIABLE, &server.url))
}
