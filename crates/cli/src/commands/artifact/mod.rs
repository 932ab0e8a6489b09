//! `deltaci artifact`: files into the store and out of it, and the versions that name them.

mod change;
mod download;
mod list;
mod named;
mod pull;
mod push;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub enum Artifact {
    /// Upload files, and make a version of them if one is named
    #[command(disable_version_flag = true)]
    Push(push::Args),
    /// Download a version, some of it, or one blob
    Pull(pull::Args),
    /// The versions of a package, or of all; or the files of one version
    List(list::Args),
    /// Make a draft immutable and visible
    Publish(change::Args),
    /// Withdraw a version; it can be restored until its retention is over
    Tombstone(change::TombstoneArgs),
    /// Take a withdrawal back
    Restore(change::Args),
}

pub fn run(artifact: &Artifact, json: bool) -> Result<ExitCode> {
    match artifact {
        Artifact::Push(args) => push::run(args, json),
        Artifact::Pull(args) => pull::run(args, json),
        Artifact::List(args) => list::run(args, json),
        Artifact::Publish(args) => change::publish(args, json),
        Artifact::Tombstone(args) => change::tombstone(args, json),
        Artifact::Restore(args) => change::restore(args, json),
    }
}
