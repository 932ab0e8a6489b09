//! What was tried, how often, and what was found: as a table, as JSON, as a page.
//!
//! Each way of trying is a part. Whoever adds one gives its counts and its findings; how they look is decided here.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Serialize, Serializer};

use super::bounds::Bound;
use super::page;
use super::timeline::Picture;
use crate::output::{Exit, usage};
use crate::view::screen::{Screen, Style};
use crate::view::table::{Cell, Table};

#[derive(Debug, Clone, Serialize)]
pub struct Part {
    pub name: String,
    /// What was tried, and how often.
    pub tried: Vec<(String, u64)>,
    pub measured: Vec<Bound>,
    /// Promises that were broken. Nothing, if all is well.
    pub found: Vec<String>,
    #[serde(rename = "took_seconds", serialize_with = "seconds")]
    pub took: Duration,
    /// How it went.
    #[serde(skip)]
    pub picture: Option<Picture>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub version: &'static str,
    /// The same seed tries the same things in the same order.
    pub seed: u64,
    pub healthy: bool,
    pub parts: Vec<Part>,
}

fn seconds<S: Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(took.as_secs_f64())
}

impl Report {
    pub fn of(seed: u64, parts: Vec<Part>) -> Report {
        let healthy = parts.iter().all(|part| part.found.is_empty());
        Report { version: env!("CARGO_PKG_VERSION"), seed, healthy, parts }
    }

    pub fn exit(&self) -> Exit {
        if self.healthy { Exit::Success } else { Exit::Failed }
    }

    /// For a terminal.
    pub fn text(&self, screen: Screen) -> String {
        let mut text = String::new();
        for part in &self.parts {
            let took = format!("{:.0} s", part.took.as_secs_f64());
            text +=
                &format!("{}  {}\n", screen.paint(Style::Bold, &part.name), screen.paint(Style::Dim, &took));
            let mut table = Table::default().indented(2);
            for (what, count) in &part.tried {
                table.row(vec![Cell::new(grouped(*count)).right(), Cell::new(what)]);
            }
            text += &table.text(screen);
            if !part.measured.is_empty() {
                text += "\n";
                text += &measured(&part.measured).text(screen);
            }
            for found in &part.found {
                text += &format!(
                    "  {} {}\n",
                    screen.paint(Style::Red, "broken"),
                    crate::view::screen::one_line(found)
                );
            }
            text += "\n";
        }
        let verdict = match self.healthy {
            true => screen.paint(Style::Green, "every promise held"),
            false => screen.paint(Style::Red, &format!("{} findings", self.findings())),
        };
        text + &format!("{verdict}; seed {}\n", self.seed)
    }

    pub fn findings(&self) -> usize {
        self.parts.iter().map(|part| part.found.len()).sum()
    }

    /// As a page or a picture, by the file's name.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = match kind(path)? {
            Kind::Page => page::html(self),
            Kind::Picture => page::svg(self),
        };
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

pub enum Kind {
    Page,
    Picture,
}

pub fn kind(path: &Path) -> Result<Kind> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => Ok(Kind::Page),
        Some("svg") => Ok(Kind::Picture),
        _ => Err(usage("a report is a page or a picture: give --report a name that ends in .html or .svg")),
    }
}

fn measured(bounds: &[Bound]) -> Table {
    let mut table = Table::headed(&["FROM … UNTIL", "SEEN", "HALF WITHIN", "ALL WITHIN", "WITH"]).indented(2);
    for bound in bounds {
        table.row(vec![
            Cell::new(bound.what),
            Cell::new(bound.count.to_string()).right(),
            Cell::new(millis(bound, bound.p50_ms)).right(),
            Cell::new(millis(bound, bound.max_ms)).right(),
            Cell::dim(&bound.depends_on),
        ]);
    }
    table
}

/// A figure of a bound, if it was seen at all.
pub fn millis(bound: &Bound, count: u64) -> String {
    match (bound.count, count) {
        (0, _) => "-".into(),
        (_, 0..1_000) => format!("{count} ms"),
        _ => format!("{:.1} s", count as f64 / 1e3),
    }
}

/// 1234567 as 1,234,567.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
