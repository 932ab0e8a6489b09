//! `deltaci completions SHELL`: a script that completes commands and flags.

use std::process::ExitCode;

use anyhow::Result;
use clap_complete::Shell;

use crate::output::{self, Exit};

#[derive(clap::Args)]
pub struct Args {
    shell: Shell,
}

pub fn run(args: &Args, mut command: clap::Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "deltaci", &mut script);
    output::write(&script)?;
    Ok(Exit::Success.into())
}
