//! Create a tenant under a name that nobody has.

use std::collections::BTreeMap;

use serde_json::Value;
use wire::TenantId;

use crate::records::{Tenant, quota_bound};
use crate::tenants::ensure::make_ready;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct CreateTenant {
    /// Minted at the edge.
    pub id: TenantId,
    pub name: String,
    /// JSON, in any form.
    pub desired_config: String,
}

impl Decide for CreateTenant {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Tenant(self.id), Ask::TenantName(self.name.clone())]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        if draft.get::<Tenant>(&self.id).is_some_and(|known| known.name == self.name) {
            return Ok(Answer::TenantCreated { tenant: self.id, existing: true }); // said twice
        }
        if draft.book().tenant_names.contains_key(&self.name) {
            return Err(Refusal::TenantExists);
        }
        let config = self.config()?;
        make_ready(draft, self.id, &self.name, config)?;
        Ok(Answer::TenantCreated { tenant: self.id, existing: false })
    }
}

impl CreateTenant {
    /// What needs nothing provisioned: bounds. As canonical JSON.
    fn config(&self) -> Result<String, Refusal> {
        let refuse =
            |problem: &str| Refusal::InvalidInput { field: "desired_config", problem: problem.into() };
        let config: BTreeMap<String, Value> =
            serde_json::from_str(&self.desired_config).map_err(|_| refuse("an object"))?;
        for (key, value) in &config {
            let sound = match key.as_str() {
                "quota" => is_quota(value),
                "retention_seconds" => value.as_f64().is_some_and(|seconds| seconds > 0.0 && seconds <= 1e11),
                _ => {
                    return Err(refuse(
                        "provisioning is not available yet: only `quota.storage_bytes` and `retention_seconds` are",
                    ));
                }
            };
            if !sound {
                return Err(refuse(&format!("`{key}` is not sound")));
            }
        }
        Ok(serde_json::to_string(&config).expect("what was JSON is JSON"))
    }
}

fn is_quota(value: &Value) -> bool {
    let Some(quota) = value.as_object() else { return false };
    quota.iter().all(|(key, bound)| key == "storage_bytes" && quota_bound(bound).is_some())
}
