//! How a measurement ends: it is told, as JSON or in rows.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

use crate::output::{Exit, progress};

pub fn told<T: Serialize>(report: &T, json: bool, print: impl FnOnce(&T)) -> Result<ExitCode> {
    progress("");
    if json {
        println!("{}", serde_json::to_string_pretty(report)?);
    } else {
        print(report);
    }
    Ok(Exit::Success.into())
}

/// A name, a figure, and what it says.
pub fn row(name: &str, figure: impl AsRef<str>, note: impl AsRef<str>) {
    println!("{name:<20}{:>12}   {}", figure.as_ref(), note.as_ref());
}
