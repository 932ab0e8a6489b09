//! What a plan is made from, beside the pipeline itself.

use std::collections::BTreeMap;

use decisions::records::Trust;
use wire::runner::Checkout;
use wire::{Digest, JobId, RunId};

use crate::tree::Tree;

pub struct Facts<'a> {
    pub tree: &'a Tree,
    pub difference: Difference,
    pub commit: Option<String>,
    pub branch: Option<String>,
    pub trust: Trust,
    /// Where runners take the files from; goes into each job's specification, not into its key.
    pub checkout: Option<Checkout>,
    pub wishes: Wishes,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Nobody named a base: nothing is skipped.
    NotAsked,
    /// It could not be computed, and why: nothing is skipped.
    Unknown { why: String },
    /// Paths that were added, removed, renamed (both names) or changed since this commit.
    Since { base: String, changed: Vec<Box<[u8]>> },
}

/// What the person who asks wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Only these jobs, with what they need; all of them when empty.
    pub only: Vec<String>,
    /// Skip nothing, whatever the difference.
    pub all: bool,
    /// Reuse nothing.
    pub no_reuse: bool,
}

/// Earlier successes by the key of their inputs.
pub type Successes = BTreeMap<Digest, Success>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Success {
    pub run: RunId,
    pub job: JobId,
}
