//! `delta-ci.yaml`: what is read, what is refused and in which words.

mod accepted;
mod document;
mod hostile;
mod problems;
mod refused;
mod schema;
