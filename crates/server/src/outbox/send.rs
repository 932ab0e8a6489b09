//! One message to one address, by whichever way the address names.

use std::time::Duration;

use decisions::records::Delivery;
use hyper::HeaderMap;
use hyper::header::HeaderValue;
use store::Store;
use wire::WebhookSecret;

use std::sync::Arc;

use crate::engine::Engine;
use crate::outbox::http::{Http, WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP};
use crate::outbox::nats::Nats;
use crate::outbox::sign::signature;
use crate::outbox::target::{NamedBy, Rules, Target};

/// How long a subscriber may take.
pub const SEND_TIME_MAX: Duration = Duration::from_secs(10);

/// All ways there are.
pub struct Sender {
    rules: Arc<Rules>,
    http: Http,
    nats: Nats,
}

impl Sender {
    pub fn new(rules: Arc<Rules>) -> Sender {
        Sender { http: Http::new(rules.resolver()), nats: Nats::default(), rules }
    }

    /// The subscriber has it, or why not, in a few words.
    pub async fn send<S: Store>(&self, engine: &Engine<S>, delivery: &Delivery) -> Result<(), String> {
        let sent = tokio::time::timeout(SEND_TIME_MAX, self.try_send(engine, delivery));
        sent.await.unwrap_or_else(|_| Err(format!("no answer within {} s", SEND_TIME_MAX.as_secs())))
    }

    async fn try_send<S: Store>(&self, engine: &Engine<S>, delivery: &Delivery) -> Result<(), String> {
        let secret = secret_of(engine.store(), delivery).await?;
        let named_by = if secret.is_some() { NamedBy::Subscription } else { NamedBy::Job };
        let id = delivery.id.to_string();
        match self.rules.target(&delivery.url, named_by)? {
            Target::Http(uri) => {
                let headers = headers(engine, delivery, &id, secret.as_ref())?;
                self.http.post(&uri, headers, &delivery.body).await
            }
            Target::OwnNats { subject } => {
                self.nats.publish_own(&self.rules, &subject, &id, &delivery.body).await
            }
            Target::Nats { host, port, subject } => {
                self.nats.publish_to(&self.rules, (&host, port), &subject, &id, &delivery.body).await
            }
            Target::Log => {
                let Delivery { event, subject, body, tenant, .. } = delivery;
                tracing::info!(message_id = id, %tenant, event, subject, body, "an event");
                Ok(())
            }
        }
    }
}

/// Looked up now, so that a new secret counts at once and a message holds none. Nothing for an address that a job named.
async fn secret_of<S: Store>(store: &S, delivery: &Delivery) -> Result<Option<WebhookSecret>, String> {
    let Some(key) = delivery.lane_key().webhook() else { return Ok(None) };
    match store.webhook(&key).await {
        Ok(Some(webhook)) if !webhook.removed => Ok(Some(webhook.secret)),
        Ok(_) => Err("the subscription was removed".into()),
        Err(error) => Err(format!("the subscription cannot be read: {error}")),
    }
}

fn headers<S: Store>(
    engine: &Engine<S>,
    delivery: &Delivery,
    id: &str,
    secret: Option<&WebhookSecret>,
) -> Result<HeaderMap, String> {
    let text = |text: &str| HeaderValue::from_str(text).map_err(|_| "it fits into no header".to_owned());
    let timestamp = engine.clock().now().as_micros() / 1_000_000;
    let mut headers = HeaderMap::new();
    headers.insert(WEBHOOK_ID, text(id)?);
    headers.insert(WEBHOOK_TIMESTAMP, timestamp.into());
    if let Some(secret) = secret {
        let signature = signature(secret, id, timestamp, delivery.body.as_bytes());
        headers.insert(WEBHOOK_SIGNATURE, text(&signature.ok_or("the secret is no base64")?)?);
    }
    Ok(headers)
}
