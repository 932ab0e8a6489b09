//! Finds PostgreSQL, and installs it where that is ours to do.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::account::is_root;
use super::programs::{self, VERSION_MIN};
use crate::apt;

/// The folder of PostgreSQL's programs, installed first if need be.
pub fn programs() -> Result<PathBuf> {
    if let Some(folder) = programs::find() {
        return Ok(folder);
    }
    if apt::may_install(is_root()?) {
        eprintln!("PostgreSQL {VERSION_MIN} or newer was not found; installing Debian's package");
        apt::install(&["postgresql"])?;
    }
    programs::find().with_context(what_to_install)
}

fn what_to_install() -> String {
    format!(
        "PostgreSQL {VERSION_MIN} or newer is neither in /usr/lib/postgresql/*/bin nor on PATH. Install it (on Debian \
         and Ubuntu: `apt-get install postgresql`), or name a server that tests may write to in DELTACI_TEST_POSTGRES"
    )
}
