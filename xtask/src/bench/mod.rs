//! `cargo xtask bench`: the benchmarks, and beside them peers on the same machine in the same run.
//!
//! Ratios, not seconds: we and the peer take turns, and what each came to in those turns is compared.

mod artifacts;
mod kernel;
mod protocol;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::{cargo, root, run_to_end, target};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Decisions and stores, beside graphile-worker.
    Kernel,
    /// Server and runners, beside Buildbot.
    Protocol,
    /// Bytes in and out, beside docker-registry.
    Artifacts,
}

impl Part {
    pub const ALL: &[Part] = &[Part::Kernel, Part::Protocol, Part::Artifacts];
}

pub fn run(parts: &[Part]) -> Result<u8> {
    let root = root()?;
    let code = run_to_end(&mut cargo(&["build", "--release", "--locked", "--package", "deltaci"])?)?;
    if code != 0 {
        return Ok(code);
    }
    let deltaci = target()?.join("release/deltaci");
    for part in parts {
        let code = match part {
            Part::Kernel => kernel::run(&root, &deltaci)?,
            Part::Protocol => protocol::run(&root, &deltaci)?,
            Part::Artifacts => artifacts::run(&root, &deltaci)?,
        };
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(0)
}

fn peer(root: &Path, name: &str) -> PathBuf {
    root.join("benches/peers").join(name)
}

fn output(command: &mut Command) -> Result<Value> {
    let output = command.stderr(Stdio::inherit()).output().context("cannot start a benchmark")?;
    if !output.status.success() {
        bail!("a benchmark failed: {command:?}");
    }
    serde_json::from_slice(&output.stdout).context("a benchmark's output is not JSON")
}

fn figure(report: &Value, path: &str) -> Result<f64> {
    report.pointer(path).and_then(Value::as_f64).with_context(|| format!("the report lacks {path}"))
}
