//! JUnit reports: what a job's tests came to, read from XML that any job may have made up.
//!
//! Never: a document type or an entity of its own, a file or address it names, more memory than its size, more nesting,
//! cases or text than the bounds below.

mod attributes;
mod cases;
mod parse;
#[cfg(test)]
mod tests;

pub use parse::parse;

use serde::{Deserialize, Serialize};

/// A larger report is not read.
pub const REPORT_BYTES_MAX: usize = 16 * 1024 * 1024;
pub const DEPTH_MAX: usize = 64;
pub const CASES_MAX: u64 = 500_000;
/// Of one element.
pub const ATTRIBUTES_MAX: usize = 64;
/// Failures that are kept by name; all of them are counted.
pub const FAILURES_MAX: usize = 100;
pub const NAME_LETTERS_MAX: usize = 300;
pub const MESSAGE_LETTERS_MAX: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    pub total: u64,
    /// An assertion did not hold.
    pub failed: u64,
    pub skipped: u64,
    /// Something else went wrong.
    pub errors: u64,
    pub duration_ms: u64,
    /// The first of those that failed, or ended in an error.
    pub failures: Vec<TestFailure>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFailure {
    pub suite: String,
    pub name: String,
    /// Shortened.
    pub message: String,
}

/// Why a report was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReport {
    #[error("it is larger than {REPORT_BYTES_MAX} bytes")]
    TooLarge,
    #[error("it is nested deeper than {DEPTH_MAX}")]
    TooDeep,
    #[error("it holds more than {CASES_MAX} tests")]
    TooManyCases,
    #[error("an element has more than {ATTRIBUTES_MAX} attributes")]
    TooManyAttributes,
    #[error("it has a document type, which is not read")]
    DocumentType,
    #[error("it ends in the middle")]
    Truncated,
    #[error("it is no JUnit report: it begins with <{0}>")]
    NotJunit(String),
    #[error("it is no XML: {0}")]
    NotXml(String),
}
