//! Models of machines. To add one: write a [`Play`](play::Play) (who acts, what they send, what must hold), add the kinds
//! of records it needs to `records.rs` with their canonical form, and pin its number of worlds in a test.

mod canonical;
mod load;
pub mod outbox;
pub mod play;
pub mod records;
pub mod search;
pub mod story;
pub mod work;
pub mod world;
