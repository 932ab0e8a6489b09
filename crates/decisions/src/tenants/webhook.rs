//! Subscriptions, and the outbox messages they give rise to.

use machines::delivery;
use wire::{MessageId, RunId, TenantId};

use crate::draft::{Hint, Stated};
use crate::records::{Delivery, Webhook, WebhookKey};
use crate::tenants::require_ready;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct PutWebhook {
    pub tenant: TenantId,
    pub name: String,
    pub url: String,
    pub events: Vec<String>,
}

impl Decide for PutWebhook {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Tenant(self.tenant));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        require_ready(draft, self.tenant)?;
        draft.put(Webhook {
            key: WebhookKey { tenant: self.tenant, name: self.name.clone() },
            url: self.url.clone(),
            events: self.events.clone(),
        });
        Ok(Answer::WebhookPut)
    }
}

/// What an outbox message says, to whomever.
pub struct News<'a> {
    pub tenant: TenantId,
    pub event: &'static str,
    pub subject: String,
    pub body: &'a serde_json::Value,
    /// The run that is reported once the message ended.
    pub reports: Option<RunId>,
}

/// Writes one message for each subscriber of the event; returns how many.
pub fn tell(draft: &mut Draft<'_>, news: &News<'_>) -> u32 {
    let webhooks = draft.book().webhooks.peek_all();
    let subscribed: Vec<(String, String)> = webhooks
        .filter(|webhook| webhook.key.tenant == news.tenant)
        .filter(|webhook| webhook.events.iter().any(|event| event == news.event))
        .map(|webhook| (webhook.key.name.clone(), webhook.url.clone()))
        .collect();
    for (name, url) in &subscribed {
        send(draft, news, name, url.clone());
    }
    subscribed.len() as u32
}

/// Writes one message to one address. `name` tells it from others about the same thing.
pub fn send(draft: &mut Draft<'_>, news: &News<'_>, name: &str, url: String) {
    let cause = format!("{}/{}", news.subject, news.event);
    let delivery = Delivery {
        id: MessageId::derived(draft.now, &cause, name),
        tenant: news.tenant,
        event: news.event.into(),
        subject: news.subject.clone(),
        url,
        body: news.body.to_string(),
        state: Stated::initial(),
        tries: 0,
        claims: 0,
        due_at: Some(draft.now),
        reports: news.reports,
        last_error: String::new(),
        created_at: draft.now,
        updated_at: draft.now,
        delivered_at: None,
    };
    draft.born::<delivery::State>(&delivery, news.event);
    draft.put(delivery);
    draft.hint(Hint::Deliver);
}
