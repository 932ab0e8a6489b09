//! Projects, found without a pipeline file: Cargo, npm and pnpm, Go, Python, .NET and Make, where each begins and ends
//! and which uses which. A file belongs to the nearest project around it.
//!
//! Manifests are somebody else's text: of bounded size, read tolerantly, never believed to be well-formed. When something
//! cannot be understood, its jobs depend on all files, and a note says why.
//!
//! Never: a build tool is run. Start at `assemble.rs`.

mod assemble;
mod cargo;
mod dotnet;
mod found;
mod go;
mod make;
mod node;
mod node_workspaces;
mod python;
mod repository;
mod words;

pub use assemble::discover;
pub use found::{Discovered, Kind, Project};
