//! Runners: who is alive, what they hold.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{ExecId, RunId};
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunnerView {
    pub id: String,
    /// `alive`, `silent` (nothing was heard for a while) or `barred` (it took leases and did not acknowledge them).
    pub state: String,
    /// It serves all tenants.
    pub shared: bool,
    pub capabilities: Vec<String>,
    pub last_seen_at: Time,
    pub barred_until: Option<Time>,
    /// Its live leases, of this tenant.
    pub holds: Vec<Held>,
}

/// A live lease, by what is no secret about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Held {
    pub exec_id: ExecId,
    pub job_id: String,
    pub run_id: Option<RunId>,
    pub lease_state: String,
    pub granted_at: Time,
    pub expires_at: Time,
}
