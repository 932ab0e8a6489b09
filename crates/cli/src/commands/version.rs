//! `deltaci version`.

use std::process::ExitCode;

use anyhow::Result;

use crate::output::{self, Exit};

pub fn run(json: bool) -> Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    if json {
        output::line(serde_json::json!({ "version": version }))?;
    } else {
        output::line(format!("deltaci {version}"))?;
    }
    Ok(Exit::Success.into())
}
