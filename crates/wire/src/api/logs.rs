//! A job's log: what an append is answered, and what a follower is sent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::ExecId;

/// Where the next byte of the lease's log goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogOffset {
    pub offset: u64,
    /// The log is over its cap: its middle is no longer kept. Tell the job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// `event: log`. Bytes that are no UTF-8 are shown as U+FFFD; a character is never cut in two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogText {
    pub exec_id: ExecId,
    /// Of the text's first byte in the log of this execution.
    pub offset: u64,
    pub text: String,
}

/// `event: gap`: bytes that were received and are no longer kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogGap {
    pub exec_id: ExecId,
    pub offset: u64,
    pub bytes: u64,
}

/// `event: execution`: the log of another execution begins. `event: lost`: its lease was lost, so its log may lack
/// what the runner could no longer send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogExecution {
    pub exec_id: ExecId,
    pub attempt: u32,
    pub lease_state: String,
}

/// `event: end`: the job is over and all of its log was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogEnd {
    pub state: String,
}
