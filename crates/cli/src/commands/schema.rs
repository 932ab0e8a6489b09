//! `deltaci schema`: the JSON Schema of `delta-ci.yaml`, for editors.

use std::process::ExitCode;

use anyhow::Result;

use crate::output::{self, Exit};

pub fn run() -> Result<ExitCode> {
    output::write(pipeline::schema::document().as_bytes())?;
    Ok(Exit::Success.into())
}
