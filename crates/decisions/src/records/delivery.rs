//! Delivery: one outbox message to one address; and who asked to be told.

use machines::delivery;
use wire::{MessageId, RunId, TenantId, Time};

use crate::draft::Stated;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: MessageId,
    pub tenant: TenantId,
    /// What happened, such as `job.finished`.
    pub event: String,
    /// Whom it is about.
    pub subject: String,
    pub url: String,
    pub body: String,
    pub state: Stated<delivery::State>,
    /// Tries since it was written, or since it was last redriven.
    pub tries: u32,
    /// Claims ever: the fence for results. An older claim's result is ignored.
    pub claims: u32,
    /// When it may be claimed, or when its claim runs out; nothing once it ended.
    pub due_at: Option<Time>,
    /// The run that is reported once this message ended.
    pub reports: Option<RunId>,
    pub last_error: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub delivered_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebhookKey {
    pub tenant: TenantId,
    pub name: String,
}

/// A subscriber of a tenant's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub key: WebhookKey,
    pub url: String,
    pub events: Vec<String>,
}
