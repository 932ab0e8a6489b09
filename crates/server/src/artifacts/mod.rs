//! Artifacts: what moves bytes, asks the policy, and puts away what is no longer needed.
//!
//! Never: makes bytes visible before the commit that says so.

pub mod collector;
pub mod upkeep;
