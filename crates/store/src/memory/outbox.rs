//! What the outbox asks of the tables.

use std::collections::BTreeSet;
use std::ops::Bound;

use decisions::records::{Delivery, LaneKey, Webhook};
use machines::delivery;
use wire::{MessageId, TenantId, Time};

use super::{Tables, earliest};
use crate::OutboxCounts;

/// What is open in a lane.
#[derive(Debug, Default, Clone)]
pub struct OpenLane {
    in_no_order: BTreeSet<MessageId>,
    by_turn: BTreeSet<(i64, MessageId)>,
}

impl OpenLane {
    fn first_in_order(&self) -> Option<MessageId> {
        self.by_turn.first().map(|(_, id)| *id)
    }
}

impl Tables {
    pub fn lanes_ready(&self, now: Time, after: Option<&LaneKey>, limit: usize) -> Vec<LaneKey> {
        let later = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let lanes = self.open_deliveries.range::<LaneKey, _>(later);
        let ready = lanes.filter(|(_, open)| self.claimable(open, now).next().is_some());
        ready.map(|(lane, _)| lane.clone()).take(limit).collect()
    }

    pub fn deliveries_ready_of(&self, lane: &LaneKey, now: Time, limit: usize) -> Vec<MessageId> {
        let open = self.open_deliveries.get(lane);
        earliest(open.into_iter().flat_map(|open| self.claimable(open, now)), limit)
    }

    /// What waits in a lane and is due; of those in order only the first.
    fn claimable(&self, open: &OpenLane, now: Time) -> impl Iterator<Item = (Time, MessageId)> {
        let candidates = open.in_no_order.iter().copied().chain(open.first_in_order());
        let deliveries = candidates.filter_map(|id| self.deliveries.get(&id));
        let waiting = deliveries.filter(|it| it.state.get() != delivery::State::Delivering);
        waiting.filter_map(move |it| Some((it.due_at.filter(|at| *at <= now)?, it.id)))
    }

    /// The first that is open in the lane of a delivery, if that lane is in order.
    pub fn lane_head(&self, id: MessageId) -> Option<MessageId> {
        let asked = self.deliveries.get(&id).filter(|it| it.is_ordered())?;
        self.open_deliveries.get(&asked.lane_key())?.first_in_order()
    }

    pub fn note_open(&mut self, delivery: &Delivery) {
        let lane = self.open_deliveries.entry(delivery.lane_key()).or_default();
        let place = (delivery.turn, delivery.id);
        match (delivery.due_at.is_some(), delivery.is_ordered()) {
            (true, true) => lane.by_turn.insert(place),
            (true, false) => lane.in_no_order.insert(delivery.id),
            (false, true) => lane.by_turn.remove(&place),
            (false, false) => lane.in_no_order.remove(&delivery.id),
        };
    }

    pub fn deliveries_in(
        &self,
        state: delivery::State,
        after: Option<MessageId>,
        limit: usize,
    ) -> Vec<Delivery> {
        let in_state = self.deliveries.all().filter(|it| it.state.get() == state);
        in_state.filter(|it| after.is_none_or(|after| it.id > after)).take(limit).cloned().collect()
    }

    pub fn outbox_counts(&self) -> OutboxCounts {
        let dead = self.deliveries.all().filter(|it| it.state.get() == delivery::State::DeadLetter);
        OutboxCounts {
            open: self.deliveries.all().filter(|it| it.due_at.is_some()).count() as u64,
            dead: dead.count() as u64,
        }
    }

    pub fn webhooks_of(&self, tenant: TenantId, after: Option<&str>, limit: usize) -> Vec<Webhook> {
        let of_tenant = self.webhooks.all().filter(|it| it.key.tenant == tenant && !it.removed);
        let later = of_tenant.filter(|it| after.is_none_or(|after| it.key.name.as_str() > after));
        later.take(limit).cloned().collect()
    }
}
