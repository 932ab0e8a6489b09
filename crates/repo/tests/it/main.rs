//! The repository reader against real repositories, made by the test with the system's git.

mod difference;
mod folder;
mod hostile;
mod made;
mod mirror;
mod snapshot;
