//! The workspace we work on: its folder, its cargo, and running a program to its end.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// What a shell reports for a program ended by a signal: this plus the signal's number.
const SIGNAL_BASE: i32 = 128;

/// The root folder. Cargo says where this package is, so a workspace that was moved after a build is still found.
pub fn root() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").context("start this with `cargo xtask`")?;
    let root = PathBuf::from(package).parent().map(PathBuf::from);
    root.context("the package xtask has no folder above it")
}

/// Where cargo puts what it builds.
pub fn target() -> Result<PathBuf> {
    Ok(target_of(std::env::var_os("CARGO_TARGET_DIR"), &root()?))
}

/// A relative path is below the root folder: that is where our cargo works.
fn target_of(named: Option<OsString>, root: &Path) -> PathBuf {
    root.join(named.filter(|name| !name.is_empty()).unwrap_or_else(|| "target".into()))
}

/// The cargo that started us, in the root folder. What it said about this package is not passed on: build scripts that look
/// at it (ring's does) would run again, and all that depends on them, whenever somebody calls cargo without us.
pub fn cargo(words: &[&str]) -> Result<Command> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(words).current_dir(root()?);
    let about_us = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for name in std::env::vars_os().map(|(name, _)| name).filter(about_us) {
        command.env_remove(name);
    }
    Ok(command)
}

/// `cargo test` over everything, or over the packages that the arguments name.
pub fn cargo_test(arguments: &[OsString]) -> Result<Command> {
    let mut command = cargo(&["test", "--locked"])?;
    // Next to `--workspace`, cargo ignores `--package` without a word.
    if !names_a_package(arguments) {
        command.arg("--workspace");
    }
    command.args(arguments);
    Ok(command)
}

fn names_a_package(arguments: &[OsString]) -> bool {
    let for_cargo = arguments.iter().take_while(|word| *word != "--");
    for_cargo.map(|word| word.to_string_lossy()).any(|word| {
        word == "--package"
            || word.starts_with("--package=")
            || (word.starts_with("-p") && !word.starts_with("--"))
    })
}

/// Runs a program to its end, its output on our terminal; returns its exit code as a shell would see it.
pub fn run_to_end(command: &mut Command) -> Result<u8> {
    let status =
        command.status().with_context(|| format!("cannot start {}", shown(command.get_program())))?;
    let code = status.code().or(status.signal().map(|signal| SIGNAL_BASE + signal)).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(1))
}

fn shown(program: &OsStr) -> String {
    format!("`{}`", program.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_noticed_only_among_the_words_for_cargo() {
        for (line, expected) in [
            ("", false),
            ("--release", false),
            ("-p store", true),
            ("-pstore", true),
            ("--package store", true),
            ("--package=store", true),
            ("-- -p", false),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(names_a_package(&words), expected, "{line}");
        }
    }

    #[test]
    fn what_is_built_is_where_cargo_was_told_to_put_it() {
        for (named, expected) in [
            (None, "/root/target"),
            (Some(""), "/root/target"),
            (Some("out"), "/root/out"),
            (Some("/out"), "/out"),
        ] {
            assert_eq!(
                target_of(named.map(OsString::from), Path::new("/root")),
                Path::new(expected),
                "{named:?}"
            );
        }
    }

    #[test]
    fn the_exit_code_is_what_a_shell_would_see() {
        for (script, expected) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
            assert_eq!(run_to_end(Command::new("sh").args(["-c", script])).unwrap(), expected, "{script}");
        }
    }
}
