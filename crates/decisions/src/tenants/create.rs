//! Create a tenant under a name that nobody has.

use serde_json::Value;
use wire::TenantId;

use crate::records::Tenant;
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
        let config: Option<Value> = serde_json::from_str(&self.desired_config).ok();
        if config != Some(Value::Object(serde_json::Map::new())) {
            let problem = "provisioning is not available yet: leave it out, or send {}".into();
            return Err(Refusal::InvalidInput { field: "desired_config", problem });
        }
        make_ready(draft, self.id, &self.name)?;
        Ok(Answer::TenantCreated { tenant: self.id, existing: false })
    }
}
