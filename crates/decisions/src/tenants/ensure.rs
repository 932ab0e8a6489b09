//! Make sure that a tenant without runners of its own exists and is ready.

use machines::tenant;
use wire::TenantId;

use crate::draft::Stated;
use crate::records::Tenant;
use crate::records::tenant::CONFIG_EMPTY;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct EnsureTenant {
    pub id: TenantId,
    pub name: String,
}

const NAME_LENGTH_MAX: usize = 63;

impl Decide for EnsureTenant {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::TenantName(self.name.clone()));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        if let Some(id) = draft.book().tenant_names.get(&self.name) {
            return Ok(Answer::TenantReady(*id));
        }
        make_ready(draft, self.id, &self.name, CONFIG_EMPTY.into())?;
        Ok(Answer::TenantReady(self.id))
    }
}

/// A new tenant that wants nothing provisioned is ready at once.
pub fn make_ready(
    draft: &mut Draft<'_>,
    id: TenantId,
    name: &str,
    desired_config: String,
) -> Result<(), Refusal> {
    let label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !(1..=NAME_LENGTH_MAX).contains(&name.len()) || !name.bytes().all(label) {
        let problem = format!("a tenant's name has 1 to {NAME_LENGTH_MAX} of the characters a-z, 0-9 and -");
        return Err(Refusal::InvalidInput { field: "name", problem });
    }
    let mut tenant = Tenant {
        id,
        name: name.into(),
        state: Stated::initial(),
        status_message: String::new(),
        desired_config,
        version: 1,
        created_at: draft.now,
        updated_at: draft.now,
    };
    draft.born(&tenant, "asked for");
    draft.advance(&mut tenant, tenant::Event::Provision, "nothing to provision");
    draft.advance(&mut tenant, tenant::Event::Finish, "nothing to provision");
    draft.put(tenant);
    Ok(())
}

/// Work is taken only for a tenant that is ready.
pub fn require_ready(draft: &Draft<'_>, id: TenantId) -> Result<(), Refusal> {
    use machines::Machine;
    let tenant: &Tenant = draft.get(&id).ok_or(Refusal::TenantNotFound)?;
    match tenant.state.get() {
        tenant::State::Ready | tenant::State::Updating => Ok(()),
        state @ (tenant::State::Requested
        | tenant::State::Planning
        | tenant::State::Provisioning
        | tenant::State::Deleting
        | tenant::State::Archived
        | tenant::State::Failed) => Err(Refusal::TenantNotReady { state: state.as_str() }),
    }
}
