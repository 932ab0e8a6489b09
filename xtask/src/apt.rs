//! Debian's packages, installed where that is ours to do: as root on a machine with apt, which is what a CI container is.

use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace::run_to_end;

/// Whether we may install anything here.
pub fn may_install(is_root: bool) -> bool {
    is_root && Command::new("apt-get").arg("--version").output().is_ok_and(|output| output.status.success())
}

pub fn install(packages: &[&str]) -> Result<()> {
    const INSTALL: [&str; 3] = ["install", "-y", "--no-install-recommends"];
    let words: Vec<&str> = INSTALL.iter().chain(packages).copied().collect();
    if apt_get(&words)? == 0 {
        return Ok(());
    }
    // A fresh container has no package lists; others have lists that are good enough, and an update is slow.
    if apt_get(&["update"])? != 0 || apt_get(&words)? != 0 {
        bail!("apt-get could not install {}", packages.join(", "));
    }
    Ok(())
}

fn apt_get(words: &[&str]) -> Result<u8> {
    run_to_end(Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive"))
}
