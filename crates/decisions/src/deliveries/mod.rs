//! Deliveries: the outbox's side of every message. Claimed, told, tried again with growing pauses, given up, redriven.

mod claim;
mod delivered;
mod due;
mod failed;
mod redrive;

pub use claim::ClaimDelivery;
pub use delivered::DeliveryDelivered;
pub use due::DeliveryDue;
pub use failed::{DeliveryFailed, backoff};
pub use redrive::RedriveDelivery;
