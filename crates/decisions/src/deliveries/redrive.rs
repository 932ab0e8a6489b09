//! Redrive: an operator sends a dead letter again, its tries counted from zero.

use machines::{Machine, delivery};
use wire::MessageId;

use crate::draft::Hint;
use crate::records::Delivery;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct RedriveDelivery {
    pub delivery: MessageId,
}

impl Decide for RedriveDelivery {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Delivery(self.delivery));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut delivery: Delivery = draft.get(&self.delivery).cloned().ok_or(Refusal::DeliveryNotFound)?;
        if delivery.state.get() != delivery::State::DeadLetter {
            return Err(Refusal::DeliveryNotDead { state: delivery.state.get().as_str() });
        }
        draft.advance(&mut delivery, delivery::Event::Redrive, "an operator sends it again");
        delivery.tries = 0;
        delivery.reports = None; // its run does not wait for it a second time
        delivery.due_at = Some(draft.now);
        delivery.updated_at = draft.now;
        draft.put(delivery);
        draft.hint(Hint::Deliver);
        Ok(Answer::Settled { moved: true })
    }
}
