//! Claim: one worker takes one message that is due, for a bounded time.
//!
//! In an ordered lane only the first that is open may be claimed. What was over when the book was loaded stays over, unless
//! an operator redrives a dead letter, which the lane has passed already; so the head that was loaded is enough.

use machines::delivery;
use wire::MessageId;

use crate::records::Delivery;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct ClaimDelivery {
    pub delivery: MessageId,
}

impl Decide for ClaimDelivery {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Claim(self.delivery));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut delivery: Delivery = draft.get(&self.delivery).cloned().ok_or(Refusal::DeliveryNotFound)?;
        let waits = matches!(delivery.state.get(), delivery::State::Pending | delivery::State::RetryWait);
        if !waits || delivery.due_at.is_none_or(|due_at| due_at > draft.now) {
            return Ok(Answer::Claimed(None)); // another worker was faster
        }
        if delivery.is_ordered() && draft.book().lane_heads.get(&self.delivery) != Some(&self.delivery) {
            return Ok(Answer::Claimed(None)); // an earlier one of its lane is not over
        }
        if delivery.state.get() == delivery::State::RetryWait {
            draft.advance(&mut delivery, delivery::Event::TimeReached, "its pause is over");
        }
        draft.advance(&mut delivery, delivery::Event::Claim, "claimed by a worker");
        delivery.tries += 1;
        delivery.claims += 1;
        delivery.due_at = Some(draft.now.plus(draft.policy.delivery_claim_ttl));
        delivery.updated_at = draft.now;
        draft.put(delivery.clone());
        Ok(Answer::Claimed(Some(Box::new(delivery))))
    }
}
