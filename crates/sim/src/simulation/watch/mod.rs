//! Those who watch: a copy of all that was written, and what must hold between what was there and what comes.
//!
//! Looked at after every save, from outside: what a decision says about itself counts for nothing here. Never: a call of a
//! decision, a doctor's rule (those are asked apart, at the end).

mod bytes;
mod mirror;
mod told;
mod work;

pub use mirror::{Watch, Written};
