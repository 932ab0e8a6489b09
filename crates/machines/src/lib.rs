//! The state machines of Delta CI, each declared once, as a table.
//!
//! Everything that must agree with a machine is made from its table: the state and event enums, [`Machine::next`], the
//! diagrams and matrices in `docs/machines.md`, the `CHECK` lists in the databases, and the exhaustive tests.
//!
//! Never: a guard, a timestamp, I/O. A command that may go two ways is two events here; whoever decides picks one.
//! Start at `lease.rs` for the smallest table, at `describe.rs` for what is made from the tables.

#[macro_use]
mod table;

pub mod attempt;
pub mod blob;
pub mod delivery;
pub mod describe;
pub mod execution;
pub mod job;
pub mod lease;
pub mod run;
pub mod tenant;
pub mod upload;
pub mod version;
pub mod workflow;

pub use describe::{Description, ROSTER, Row, Source, StateInfo};
pub use table::{Event, Illegal, Machine, Owner};
