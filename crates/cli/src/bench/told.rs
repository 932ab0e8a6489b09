//! How a measurement ends: it is told, as JSON or in rows.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

use crate::output::{self, Exit, progress};

pub fn told<T: Serialize>(report: &T, json: bool, tell: impl FnOnce(&T, &mut Rows)) -> Result<ExitCode> {
    progress("");
    if json {
        output::json(report)?;
    } else {
        let mut rows = Rows::default();
        tell(report, &mut rows);
        output::write(rows.text.as_bytes())?;
    }
    Ok(Exit::Success.into())
}

/// What is printed, once all of it is there.
#[derive(Default)]
pub struct Rows {
    text: String,
}

impl Rows {
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    /// A name, a figure, and what it says.
    pub fn row(&mut self, name: &str, figure: impl AsRef<str>, note: impl AsRef<str>) {
        self.line(format!("{name:<20}{:>12}   {}", figure.as_ref(), note.as_ref()));
    }
}
