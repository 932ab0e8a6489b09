//! Pipelines, seen from outside: plans from descriptions of repositories, projects from their files.

mod discover;
mod plan;
