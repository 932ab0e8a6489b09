//! `deltaci init`: writes a first `delta-ci.yaml` from what the repository contains.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use pipeline::file::FILE_NAME;
use serde_json::json;

use crate::local::pipeline::first;
use crate::output::{self, Exit, usage};

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the repository
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let (text, path) = (first(&args.folder)?, args.folder.join(FILE_NAME));
    let mut options = File::options();
    options.write(true).truncate(true).create(args.force).create_new(!args.force);
    let opened = options.open(&path);
    if opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
        let message = format!("{} is there already; see it, or write over it with --force", path.display());
        return Err(usage(message));
    }
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    if json {
        output::json(&json!({ "file": path }))?;
    } else {
        output::line(path.display())?;
        eprintln!("next: read it, see what it would do with `deltaci plan`, and run it with `deltaci run`");
    }
    Ok(Exit::Success.into())
}
