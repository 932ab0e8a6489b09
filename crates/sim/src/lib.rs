//! Proof by trying: models that go through every order in which things can happen, and histories of what clients saw.
//!
//! A model has a store, servers that load and save, a network that loses, repeats and reorders, and actors that crash. It
//! knows what must hold, never how it is made to hold: every change of a record comes from `decisions::decide`.
//!
//! Never: a copy of a rule, a clock, randomness. Start at `models/play.rs`; the model of uploads, publications and
//! collections is older and lives with the decisions' own tests.

pub mod history;
pub mod models;
