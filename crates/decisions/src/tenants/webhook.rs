//! Subscriptions, and the outbox messages they give rise to.

use machines::delivery;
use wire::{MessageId, RunId, TenantId, WebhookSecret};

use crate::draft::{Hint, Stated};
use crate::policy::shortened;
use crate::records::{Delivery, LANE_HOOK, LANE_URL, Webhook, WebhookKey};
use crate::tenants::require_ready;
use crate::{Answer, Ask, Decide, Draft, Refusal};

/// What one can subscribe to.
pub const EVENTS: [&str; 7] = [
    "upload.committed",
    "version.published",
    "version.quarantined",
    "version.tombstoned",
    "version.restored",
    "job.finished",
    "run.finished",
];

#[derive(Debug, Clone)]
pub struct PutWebhook {
    pub tenant: TenantId,
    pub name: String,
    pub url: String,
    pub events: Vec<String>,
    pub secret: WebhookSecret,
    pub ordered: bool,
}

impl Decide for PutWebhook {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Tenant(self.tenant)); // and with it its webhooks
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        require_ready(draft, self.tenant)?;
        if let Some(unknown) = self.events.iter().find(|event| !EVENTS.contains(&event.as_str())) {
            let problem = format!("`{unknown}` is no event; there are {}", EVENTS.join(", "));
            return Err(Refusal::InvalidInput { field: "events", problem });
        }
        let key = WebhookKey { tenant: self.tenant, name: self.name.clone() };
        let turns = draft.get::<Webhook>(&key).map_or(0, |before| before.turns);
        draft.put(Webhook {
            key,
            url: self.url.clone(),
            events: self.events.clone(),
            secret: self.secret.clone(),
            ordered: self.ordered,
            turns,
            removed: false,
        });
        Ok(Answer::WebhookPut)
    }
}

/// Unsubscribes. What is on its way can no longer be signed: unless the subscription comes back, it becomes a dead letter.
#[derive(Debug, Clone)]
pub struct RemoveWebhook {
    pub tenant: TenantId,
    pub name: String,
}

impl Decide for RemoveWebhook {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Tenant(self.tenant));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let key = WebhookKey { tenant: self.tenant, name: self.name.clone() };
        let webhook = draft.get::<Webhook>(&key).filter(|webhook| !webhook.removed).cloned();
        let webhook = webhook.ok_or(Refusal::WebhookNotFound)?;
        draft.put(Webhook { removed: true, secret: String::new().into(), ..webhook });
        Ok(Answer::WebhookRemoved)
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
    let subscribed: Vec<&Webhook> = webhooks
        .filter(|webhook| webhook.key.tenant == news.tenant && !webhook.removed)
        .filter(|webhook| webhook.events.iter().any(|event| event == news.event))
        .collect();
    for webhook in &subscribed {
        let turn = if webhook.ordered { next_turn(draft, &webhook.key) } else { 0 };
        let lane = format!("{LANE_HOOK}{}", webhook.key.name);
        write(draft, news, &webhook.key.name, webhook.url.clone(), lane, turn);
    }
    subscribed.len() as u32
}

/// Places are given out in commit order: whoever gives one out has read and written the subscriber's row.
fn next_turn(draft: &mut Draft<'_>, key: &WebhookKey) -> i64 {
    let mut webhook: Webhook = draft.copy(key);
    webhook.turns += 1;
    let turn = webhook.turns;
    draft.put(webhook);
    turn
}

/// Writes one message to an address that a job named. `name` tells it from others about the same thing.
pub fn send(draft: &mut Draft<'_>, news: &News<'_>, name: &str, url: String) {
    let lane = format!("{LANE_URL}{}", origin(&url));
    write(draft, news, name, url, lane, 0);
}

fn write(draft: &mut Draft<'_>, news: &News<'_>, name: &str, url: String, lane: String, turn: i64) {
    let cause = format!("{}/{}", news.subject, news.event);
    let delivery = Delivery {
        id: MessageId::derived(draft.now, &cause, name),
        tenant: news.tenant,
        lane,
        turn,
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

const ORIGIN_BYTES_MAX: usize = 300;

/// `scheme://host:port` of an address, for those of one server to share a lane; as much as can be made out.
fn origin(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        return shortened(&scheme.to_ascii_lowercase(), ORIGIN_BYTES_MAX).into();
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or("");
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let scheme = scheme.to_ascii_lowercase();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|it| it.is_ascii_digit()));
    let port = match scheme.as_str() {
        "http" if !has_port => ":80",
        "https" if !has_port => ":443",
        "nats" if !has_port => ":4222",
        _ => "",
    };
    let origin = format!("{scheme}://{}{port}", host.to_ascii_lowercase());
    shortened(&origin, ORIGIN_BYTES_MAX).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_server_have_one_origin() {
        for (url, expected) in [
            ("https://Example.org/a?b#c", "https://example.org:443"),
            ("https://example.org:443", "https://example.org:443"),
            ("http://user:pass@example.org/x", "http://example.org:80"),
            ("HTTP://[2001:DB8::1]/x", "http://[2001:db8::1]:80"),
            ("http://[::1]:8080/x", "http://[::1]:8080"),
            ("nats://broker/subject", "nats://broker:4222"),
            ("nats:subject.a", "nats"),
            ("log:", "log"),
            ("nonsense", ""),
            ("", ""),
        ] {
            assert_eq!(origin(url), expected, "{url}");
        }
        assert!(origin(&format!("https://{}ü", "a".repeat(5_000))).len() <= ORIGIN_BYTES_MAX);
    }
}
