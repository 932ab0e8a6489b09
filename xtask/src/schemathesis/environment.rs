//! The Python environment of the fuzzer: made once below `target`, kept until the list of packages changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::run_to_end;

/// The folder of the environment's programs.
pub fn programs(requirements: &Path, below: &Path) -> Result<PathBuf> {
    let folder = below.join("venv");
    let stamp = below.join("venv.stamp");
    let wanted = fs::read_to_string(requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let programs = folder.join("bin");
    let is_current = fs::read_to_string(&stamp).is_ok_and(|made| made == wanted);
    if is_current && programs.join("schemathesis").exists() {
        return Ok(programs);
    }
    // Without the stamp, whatever is left of an earlier try is made anew.
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(below)?;
    eprintln!("installing schemathesis into {}", folder.display());
    make(&folder)?;
    install(&programs, requirements)?;
    fs::write(&stamp, wanted)?;
    Ok(programs)
}

fn make(folder: &Path) -> Result<()> {
    let code = run_to_end(Command::new("python3").args(["-m", "venv"]).arg(folder))
        .context("Python 3.10 or newer is needed to fuzz the API: install python3")?;
    if code != 0 {
        bail!(
            "python3 cannot make an environment; the reason is above (on Debian and Ubuntu: \
             `apt-get install python3-venv`)"
        );
    }
    Ok(())
}

fn install(programs: &Path, requirements: &Path) -> Result<()> {
    let mut pip = Command::new(programs.join("python3"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--requirement",
    ]);
    if run_to_end(pip.arg(requirements))? != 0 {
        bail!(
            "pip could not install what {} lists; the reason is above. The Python registry must be reachable, once; \
             PIP_INDEX_URL names another one",
            requirements.display()
        );
    }
    Ok(())
}
