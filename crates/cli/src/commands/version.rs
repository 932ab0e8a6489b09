//! `deltaci version`.

use std::process::ExitCode;

use anyhow::Result;

use crate::output::Exit;

pub fn run(json: bool) -> Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    if json {
        println!("{}", serde_json::json!({ "version": version }));
    } else {
        println!("deltaci {version}");
    }
    Ok(Exit::Success.into())
}
