//! The session, line by line. How a script is read is in `script.rs`.

mod ack;
mod artifacts;
mod cancel;
mod final_word;
mod operator;
mod renewals;
mod stale;
mod trouble;
mod upload;
mod walks;
mod whole;
