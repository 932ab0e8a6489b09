//! Installs PostgreSQL where that is ours to do: as root on a machine with apt, which is what a CI container is.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::account::is_root;
use super::programs::{self, VERSION_MIN};
use crate::workspace::run_to_end;

/// The folder of PostgreSQL's programs, installed first if need be.
pub fn programs() -> Result<PathBuf> {
    if let Some(folder) = programs::find() {
        return Ok(folder);
    }
    if is_root()? && has_apt() {
        install()?;
    }
    programs::find().with_context(what_to_install)
}

fn what_to_install() -> String {
    format!(
        "PostgreSQL {VERSION_MIN} or newer is neither in /usr/lib/postgresql/*/bin nor on PATH. Install it (on Debian \
         and Ubuntu: `apt-get install postgresql`), or name a server that tests may write to in DELTACI_TEST_POSTGRES"
    )
}

fn has_apt() -> bool {
    Command::new("apt-get").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn install() -> Result<()> {
    eprintln!("PostgreSQL {VERSION_MIN} or newer was not found; installing Debian's package");
    const INSTALL: &[&str] = &["install", "-y", "--no-install-recommends", "postgresql"];
    if apt_get(INSTALL)? == 0 {
        return Ok(());
    }
    // A fresh container has no package lists; others have lists that are good enough, and an update is slow.
    if apt_get(&["update"])? != 0 || apt_get(INSTALL)? != 0 {
        bail!("apt-get could not install the package postgresql");
    }
    Ok(())
}

fn apt_get(words: &[&str]) -> Result<u8> {
    run_to_end(Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive"))
}
