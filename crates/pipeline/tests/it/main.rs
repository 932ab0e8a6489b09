//! Pipelines, seen from outside: files and their problems, plans from descriptions of repositories, projects from their
//! files.

mod discover;
mod file;
mod golden;
mod plan;
