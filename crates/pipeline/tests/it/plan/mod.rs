//! Plans.

mod golden;
mod property;
mod script;
mod speed;
