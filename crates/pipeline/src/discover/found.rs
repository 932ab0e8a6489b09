//! What discovery finds.

use wire::runner::CacheSpec;

use crate::definition::Pipeline;

#[derive(Debug, Clone)]
pub struct Discovered {
    pub pipeline: Pipeline,
    /// Sorted by folder.
    pub projects: Vec<Project>,
    /// What could not be understood, and what was done instead.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub kind: Kind,
    pub name: String,
    /// Relative to the root, which has no name.
    pub folder: String,
    /// The file that gave it away.
    pub manifest: String,
    /// Folders of the projects it uses, also through others.
    pub uses: Vec<String>,
    pub jobs: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Cargo,
    Node,
    Go,
    Python,
    Dotnet,
    Make,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Cargo => "cargo",
            Kind::Node => "node",
            Kind::Go => "go",
            Kind::Python => "python",
            Kind::Dotnet => "dotnet",
            Kind::Make => "make",
        }
    }

    /// What a runner must have; every one has a shell and its tools.
    pub fn runs_on(self) -> Option<&'static str> {
        match self {
            Kind::Cargo => Some("toolchain:rust"),
            Kind::Node => Some("toolchain:node"),
            Kind::Go => Some("toolchain:go"),
            Kind::Python => Some("toolchain:python"),
            Kind::Dotnet => Some("toolchain:dotnet"),
            Kind::Make => None,
        }
    }
}

/// A project as its own room sees it, before it is put beside the others.
#[derive(Debug)]
pub(super) struct Found {
    pub kind: Kind,
    pub name: String,
    pub folder: String,
    pub manifest: String,
    /// Folders of projects of the same kind that it names.
    pub uses: Vec<String>,
    /// Patterns beyond its folder: lock files, settings of the workspace.
    pub also: Vec<String>,
    /// Its files are not known for sure: it depends on all.
    pub unsure: bool,
    pub tasks: Vec<Task>,
}

/// A job of a project.
#[derive(Debug)]
pub(super) struct Task {
    /// What it does, in one word: the first part of its name.
    pub verb: &'static str,
    /// The folder its steps start in.
    pub folder: String,
    pub steps: Vec<String>,
    pub caches: Vec<CacheSpec>,
}

impl Task {
    pub fn new(verb: &'static str, folder: &str, steps: Vec<String>) -> Task {
        Task { verb, folder: folder.into(), steps, caches: Vec::new() }
    }
}

/// What one room hands back.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub projects: Vec<Found>,
    pub notes: Vec<String>,
}

impl Findings {
    /// Something is not understood, so nothing of this kind is sure of its files.
    pub fn doubt(&mut self, note: String) {
        self.notes.push(note);
        self.projects.iter_mut().for_each(|project| project.unsure = true);
    }
}
