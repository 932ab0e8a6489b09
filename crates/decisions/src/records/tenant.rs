//! Tenant: who everything belongs to.

use machines::tenant;
use wire::{TenantId, Time};

use crate::draft::Stated;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub name: String,
    pub state: Stated<tenant::State>,
    pub created_at: Time,
    pub updated_at: Time,
}
