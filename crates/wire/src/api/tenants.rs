//! Tenants.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::ids::TenantId;
use crate::schema::TenantConfig;
use crate::time::Time;

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CreateTenant {
    /// 1 to 63 of the characters a-z, 0-9 and -.
    #[schema(pattern = "^[a-z0-9-]{1,63}$")]
    pub name: String,
    #[serde(default = "nothing")]
    #[schema(value_type = TenantConfig, required = false)]
    pub desired_config: Value,
}

fn nothing() -> Value {
    Value::Object(serde_json::Map::new())
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TenantView {
    pub id: TenantId,
    pub name: String,
    pub state: String,
    pub status_message: String,
    #[schema(value_type = Object)]
    pub desired_config: Value,
    pub config_hash: String,
    /// Null while nothing is being provisioned.
    pub workflow: Option<WorkflowView>,
    pub version: i64,
    pub created_at: Time,
    pub updated_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowView {
    pub execution_id: String,
    pub sub_state: String,
    pub config_hash: String,
    pub retry_count: u32,
}
