//! Decisions without a store: every order in which commands can come, on the real functions.

mod artifacts;
