//! The runner from outside: real keepers, real processes.

mod executors;
mod keeper;
mod kept;
