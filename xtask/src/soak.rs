//! The long form of what the tests do in short: the same test, told to go on.

use anyhow::Result;

use crate::workspace;

pub const USUAL: u32 = 1_000;

const TEST: [&str; 8] =
    ["-p", "server", "--test", "it", "artifacts::soak::nothing_published", "--", "--nocapture", "--quiet"];

/// Returns the exit code of the test.
pub fn run(collections: u32) -> Result<u8> {
    let mut command = workspace::cargo_test(&TEST.map(Into::into))?;
    command.env("DELTACI_SOAK_COLLECTIONS", collections.to_string());
    workspace::run_to_end(&mut command)
}
