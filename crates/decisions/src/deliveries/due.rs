//! A claim ran out: its worker is gone. Counted as a failed try.

use machines::delivery;
use wire::MessageId;

use crate::deliveries::failed::give_back;
use crate::records::Delivery;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct DeliveryDue {
    pub delivery: MessageId,
    pub jitter: f64,
}

impl Decide for DeliveryDue {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Delivery(self.delivery));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let delivery: Delivery = draft.get(&self.delivery).cloned().ok_or(Refusal::DeliveryNotFound)?;
        let claimed = delivery.state.get() == delivery::State::Delivering;
        if !claimed || delivery.due_at.is_none_or(|due_at| due_at > draft.now) {
            return Ok(Answer::Settled { moved: false });
        }
        let events = (delivery::Event::ClaimExpiredWithTriesLeft, delivery::Event::ClaimExpiredForGood);
        give_back(draft, delivery, events, "the worker did not report back in time", self.jitter);
        Ok(Answer::Settled { moved: true })
    }
}
