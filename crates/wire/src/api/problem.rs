//! An error, as RFC 9457 writes it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What went wrong. `code` is stable; `title` and `detail` are for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A URN made from the code.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    pub code: String,
    /// The field of the request that is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub field: Option<String>,
    /// With `log_offset` and `upload_offset`: where the next byte goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub offset: Option<u64>,
}
