//! Failed: the message is tried again after a growing pause, or given up after its last try.

use std::time::Duration;

use machines::delivery;
use wire::MessageId;

use crate::deliveries::delivered::{count_report, require_claim};
use crate::policy::{Policy, TEXT_BYTES_MAX, shortened};
use crate::records::Delivery;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct DeliveryFailed {
    pub delivery: MessageId,
    pub claim: u32,
    pub error: String,
    /// Between 0 and 1, from the one place that makes randomness.
    pub jitter: f64,
}

impl Decide for DeliveryFailed {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Delivery(self.delivery));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let delivery: Delivery = draft.get(&self.delivery).cloned().ok_or(Refusal::DeliveryNotFound)?;
        require_claim(&delivery, self.claim)?;
        let events = (delivery::Event::FailWithTriesLeft, delivery::Event::FailForGood);
        give_back(draft, delivery, events, shortened(&self.error, TEXT_BYTES_MAX), self.jitter);
        Ok(Answer::Settled { moved: true })
    }
}

/// A try is over without success, by its handler's word or by its claim's end.
pub fn give_back(
    draft: &mut Draft<'_>,
    mut delivery: Delivery,
    (with_tries_left, for_good): (delivery::Event, delivery::Event),
    error: &str,
    jitter: f64,
) {
    delivery.last_error = error.into();
    delivery.updated_at = draft.now;
    if delivery.tries < draft.policy.delivery_tries_max {
        draft.advance(&mut delivery, with_tries_left, error.to_owned());
        delivery.due_at = Some(draft.now.plus(backoff(draft.policy, delivery.tries, jitter)));
        draft.put(delivery);
    } else {
        draft.advance(&mut delivery, for_good, error.to_owned());
        delivery.due_at = None;
        draft.put(delivery.clone());
        count_report(draft, &delivery, "undeliverable");
    }
}

/// Doubles from the first pause up to the longest; the jitter takes away up to half, so that many do not come at once.
pub fn backoff(policy: &Policy, tries: u32, jitter: f64) -> Duration {
    let doubled = policy.delivery_backoff_first.saturating_mul(1 << tries.saturating_sub(1).min(30));
    doubled.min(policy.delivery_backoff_max).mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
}
