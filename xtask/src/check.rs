//! `cargo xtask check`: everything that must pass before a commit, short of the tests.

use anyhow::Result;

use crate::{golden, tidy, workspace};

/// A check's name, and how to run it; zero means it passed.
type Check = (&'static str, fn() -> Result<u8>);

const CHECKS: [Check; 4] = [
    ("fmt", || cargo(&["fmt", "--all", "--check"])),
    ("clippy", || cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])),
    ("tidy", tidy::run),
    ("golden", || golden::run(golden::Mode::Compare)),
];

/// Runs every check, also after one failed: whoever mends wants to see the whole list.
pub fn run() -> Result<u8> {
    let mut passed = Vec::new();
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        let list = if check()? == 0 { &mut passed } else { &mut failed };
        list.push(name);
    }
    println!("passed: {}", shown(&passed));
    if failed.is_empty() {
        return Ok(0);
    }
    println!("failed: {}", shown(&failed));
    Ok(1)
}

fn shown(names: &[&str]) -> String {
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

fn cargo(words: &[&str]) -> Result<u8> {
    workspace::run_to_end(&mut workspace::cargo(words)?)
}
