//! What a store knows of the time, for a server that starts.

use wire::Time;

/// Where our time stands against the machine's uptime. It holds until the machine is started again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The machine's own name for this start of it.
    pub boot: String,
    /// Our time when the uptime was nothing.
    pub epoch: Time,
    /// No tick ends a lease before: runners from before this start of the machine may be at work.
    pub leases_end_after: Option<Time>,
}

/// Whose time the deadlines of a store are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Timekeeping {
    /// The database's own, which is that of all its servers.
    Database { now: Time },
    /// That of the process which is at work on it: what earlier ones left.
    Process(Kept),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    pub anchor: Option<Anchor>,
    /// When the last event was.
    pub latest: Option<Time>,
    /// The last end of a lease that lives.
    pub leases_until: Option<Time>,
}
