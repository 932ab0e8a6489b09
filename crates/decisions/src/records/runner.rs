//! Runner: who asked for work, and whether it keeps its word.

use wire::{RunnerId, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    pub id: RunnerId,
    /// Leases in a row that it took and never acknowledged.
    pub acks_missed: u32,
    /// No leases before this moment.
    pub barred_until: Option<Time>,
    pub last_seen_at: Time,
}
