//! Discovery.

mod golden;
mod nasty;
mod repository;
mod speed;
