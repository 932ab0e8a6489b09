//! A log against the bytes that are there of it.

use super::{Finding, Findings};
use crate::records::{Blob, Log};

/// A log with where its bytes are.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFile {
    pub log: Log,
    /// Bytes in chunks.
    pub chunked: u64,
    /// More may come.
    pub live: bool,
    /// The one that the log names.
    pub blob: Option<Blob>,
}

/// A log in chunks has all that it promises; one that is archived has it in its blob and nowhere else.
pub fn check_log_file(file: &LogFile) -> Vec<Finding> {
    let LogFile { log, chunked, live, blob } = file;
    let mut findings = Findings { entity: log.execution.to_string(), found: Vec::new() };
    let kept = log.kept();
    let Some(id) = log.blob else {
        if *chunked < kept {
            findings.add("I20", format!("its chunks have {chunked} of {kept} bytes"));
        }
        return findings.found;
    };
    match blob.as_ref().filter(|blob| blob.is_here()) {
        Some(blob) => findings.equal("I20", "bytes of its blob", blob.length, kept),
        None => findings.add("I20", format!("its blob {id} is not here")),
    }
    findings.equal("I20", "bytes in chunks beside its blob", *chunked, 0);
    if *live {
        findings.add("I20", "it is archived, and its lease lives".into());
    }
    findings.found
}
