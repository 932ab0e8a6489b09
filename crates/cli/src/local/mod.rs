//! A pipeline on this machine, without a server.

// The engine that tells it is still to come.
#[cfg_attr(not(test), expect(dead_code))]
pub mod happening;
