//! Whose rights PostgreSQL runs with: it refuses to run as root.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Accounts a server may be given when we are root, the best first: `postgres` comes with the package, `nobody` with
/// every system.
const SERVANTS: [&str; 2] = ["postgres", "nobody"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub gid: u32,
}

pub fn is_root() -> Result<bool> {
    let ours = id(&["-u"])?.context("`id -u` does not know who we are")?;
    Ok(ours == 0)
}

/// The account to run the server as; none when our own will do.
pub fn servant() -> Result<Option<Account>> {
    if !is_root()? {
        return Ok(None);
    }
    for name in SERVANTS {
        if let (Some(uid), Some(gid)) = (id(&["-u", name])?, id(&["-g", name])?) {
            return Ok(Some(Account { uid, gid }));
        }
    }
    bail!("PostgreSQL refuses to run as root, and there is no account to run it as: {}", SERVANTS.join(", "))
}

/// Asks `id`, which also knows accounts that are not in /etc/passwd; none for an account it does not know.
fn id(words: &[&str]) -> Result<Option<u32>> {
    let output = Command::new("id").args(words).output().context("cannot run `id`")?;
    if !output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(Some(text.trim().parse().with_context(|| format!("`id` answered {text:?}"))?))
}
