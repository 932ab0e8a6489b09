//! Delivered: the subscriber has the message.

use machines::delivery;
use wire::MessageId;

use crate::records::{Delivery, Run};
use crate::runs::report;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct DeliveryDelivered {
    pub delivery: MessageId,
    /// The claim this is the result of; an older one's is ignored.
    pub claim: u32,
}

impl Decide for DeliveryDelivered {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Delivery(self.delivery));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut delivery: Delivery = draft.get(&self.delivery).cloned().ok_or(Refusal::DeliveryNotFound)?;
        if delivery.state.get() == delivery::State::Delivered && delivery.claims == self.claim {
            return Ok(Answer::Settled { moved: false }); // said twice
        }
        require_claim(&delivery, self.claim)?;
        draft.advance(&mut delivery, delivery::Event::Succeed, "the subscriber has it");
        delivery.due_at = None;
        delivery.delivered_at = Some(draft.now);
        delivery.updated_at = draft.now;
        draft.put(delivery.clone());
        count_report(draft, &delivery, "its final status is delivered");
        Ok(Answer::Settled { moved: true })
    }
}

/// Only the newest claim may say how it went.
pub fn require_claim(delivery: &Delivery, claim: u32) -> Result<(), Refusal> {
    if delivery.state.get() == delivery::State::Delivering && delivery.claims == claim {
        return Ok(());
    }
    Err(Refusal::ClaimLost)
}

/// A run is reported when the last message about its end has ended.
pub fn count_report(draft: &mut Draft<'_>, delivery: &Delivery, cause: &'static str) {
    let Some(mut run) = delivery.reports.and_then(|id| draft.get::<Run>(&id)).cloned() else { return };
    run.reports_open -= 1;
    run.updated_at = draft.now;
    if run.reports_open == 0 {
        report(draft, &mut run, cause);
    }
    draft.put(run);
}
