//! Runner: who asked for work, and whether it keeps its word.

use wire::{RunnerId, TenantId, Time};

/// Runners of different tenants may choose the same name: they are different runners.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunnerKey {
    /// `None` for a runner that all tenants share.
    pub tenant: Option<TenantId>,
    pub id: RunnerId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    pub key: RunnerKey,
    /// What it last said that it can do.
    pub capabilities: Vec<String>,
    /// Leases in a row that it took and never acknowledged.
    pub acks_missed: u32,
    /// No leases before this moment.
    pub barred_until: Option<Time>,
    pub last_seen_at: Time,
}
