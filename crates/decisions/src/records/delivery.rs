//! Delivery: one outbox message to one address; and who asked to be told.

use machines::delivery;
use wire::{MessageId, RunId, TenantId, Time, WebhookSecret};

use crate::draft::Stated;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: MessageId,
    pub tenant: TenantId,
    /// Who it goes to: `hook:NAME` for a subscriber, `url:ORIGIN` for an address that a job named. Deliveries of one
    /// lane share its fate, those of different lanes do not.
    pub lane: String,
    /// Its place in an ordered lane, from 1; 0 where order does not matter.
    pub turn: i64,
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

impl Delivery {
    /// Not over: it waits, is being delivered, or pauses.
    pub fn is_open(&self) -> bool {
        match self.state.get() {
            delivery::State::Pending | delivery::State::Delivering | delivery::State::RetryWait => true,
            delivery::State::Delivered | delivery::State::DeadLetter => false,
        }
    }

    pub fn is_ordered(&self) -> bool {
        self.turn > 0
    }

    pub fn lane_key(&self) -> LaneKey {
        LaneKey { tenant: self.tenant, lane: self.lane.clone() }
    }
}

/// One subscriber of one tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneKey {
    pub tenant: TenantId,
    pub lane: String,
}

/// The lane of a subscriber begins with this; its name follows.
pub const LANE_HOOK: &str = "hook:";

/// The lane of an address that a job named begins with this; its origin follows.
pub const LANE_URL: &str = "url:";

impl LaneKey {
    /// The subscription behind it, if it is one's.
    pub fn webhook(&self) -> Option<WebhookKey> {
        let name = self.lane.strip_prefix(LANE_HOOK)?;
        Some(WebhookKey { tenant: self.tenant, name: name.into() })
    }
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
    pub secret: WebhookSecret,
    /// One delivery after the other, in the order of what happened.
    pub ordered: bool,
    /// Turns given out so far. Who gives out the next writes this row, so two servers never give out the same.
    pub turns: i64,
    /// Unsubscribed. The row stays for its turns, which never begin again; the secret does not.
    pub removed: bool,
}
