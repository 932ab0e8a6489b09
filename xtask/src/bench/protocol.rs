//! The protocol's benchmarks, and beside them Buildbot with the same trivial job. Ours goes before and after the peer.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::Value;

use super::{figure, output, peer};
use crate::workspace::run_to_end;

/// A file system without a disk, where there is one.
const MEMORY: &str = "/dev/shm";

/// From submit to finished, and the rate of a burst.
struct Jobs {
    p50_micros: f64,
    per_minute: f64,
}

pub fn run(root: &Path, deltaci: &Path) -> Result<u8> {
    let peer = peer(root, "buildbot");
    let python = install_peer(root, &peer)?;
    println!("\nThe protocol, on SQLite");
    let code = run_to_end(Command::new(deltaci).args(["bench", "protocol"]).current_dir(root))?;
    if code != 0 {
        return Ok(code);
    }
    // Buildbot brings its data to the disk some hundred and sixty times per build: on a disk that is most of what is
    // measured. In memory, both sides show what they do themselves.
    for (place, folder) in [("on the disk", root.join("target")), ("in memory", PathBuf::from(MEMORY))] {
        if folder.is_dir() {
            println!("\nTrivial jobs beside Buildbot, data {place}: ours, the peer, ours again");
            beside(deltaci, &python, &peer, &folder)?;
        }
    }
    Ok(0)
}

fn beside(deltaci: &Path, python: &Path, peer: &Path, folder: &Path) -> Result<()> {
    let before = ours(folder, deltaci)?;
    let mut bench = Command::new(python);
    let report = output(bench.arg(peer.join("bench.py")).args(["--json", "--folder"]).arg(folder))?;
    let after = ours(folder, deltaci)?;
    let theirs = Jobs {
        p50_micros: figure(&report, "/submit_to_finished_p50_micros")?,
        per_minute: figure(&report, "/burst_jobs_per_minute")?,
    };
    let version = report.get("buildbot").and_then(Value::as_str).unwrap_or("of no version");
    compare(&before, &theirs, &after, version);
    Ok(())
}

fn compare(before: &Jobs, theirs: &Jobs, after: &Jobs, version: &str) {
    let p50 = (before.p50_micros + after.p50_micros) / 2.0;
    let rate = (before.per_minute + after.per_minute) / 2.0;
    let millis = |micros: f64| micros / 1e3;
    println!(
        "  submit to finished, p50: ours {:.1} ms and {:.1} ms, Buildbot {version} {:.1} ms: 1/{:.1}",
        millis(before.p50_micros),
        millis(after.p50_micros),
        millis(theirs.p50_micros),
        theirs.p50_micros / p50,
    );
    println!(
        "  burst: ours {:.0} and {:.0} jobs/min, Buildbot {:.0}: {:.1} x",
        before.per_minute,
        after.per_minute,
        theirs.per_minute,
        rate / theirs.per_minute,
    );
}

/// The benchmark makes its files where it is started.
fn ours(folder: &Path, deltaci: &Path) -> Result<Jobs> {
    let mut bench = Command::new(deltaci);
    let report = output(bench.args(["bench", "protocol", "--only", "jobs", "--json"]).current_dir(folder))?;
    Ok(Jobs {
        p50_micros: figure(&report, "/jobs/submit_to_finished/p50_micros")?,
        per_minute: figure(&report, "/jobs/burst_jobs_per_minute")?,
    })
}

/// Into a folder of its own; returns the Python that knows it.
fn install_peer(root: &Path, peer: &Path) -> Result<PathBuf> {
    let folder = root.join("target/peers/buildbot");
    let (python, program) = (folder.join("bin/python"), folder.join("bin/buildbot"));
    if program.exists() {
        return Ok(python);
    }
    let made = run_to_end(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(peer.join("requirements.txt"));
    if made != 0 || run_to_end(&mut pip)? != 0 {
        bail!(
            "the peer could not be installed; Python 3.9 or newer with venv and pip is needed for this benchmark"
        );
    }
    Ok(python)
}
