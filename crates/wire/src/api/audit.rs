//! A line of the audit log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::Time;

/// Who moved what from where to where, when, by which event, and why. Numbered in commit order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEvent {
    pub seq: i64,
    pub at: Time,
    pub machine: String,
    /// An id, such as `run_…`; of an attempt, `job_…/2`.
    pub entity: String,
    /// Null when the entity was created.
    pub from: Option<String>,
    pub event: String,
    pub to: String,
    pub owner: String,
    pub cause: String,
}
