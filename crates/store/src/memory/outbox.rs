//! What the outbox asks of the tables.

use std::collections::{BTreeMap, BTreeSet};

use decisions::records::{Delivery, LaneKey, Webhook};
use machines::delivery;
use wire::{MessageId, TenantId, Time};

use super::{Tables, earliest};
use crate::OutboxCounts;

impl Tables {
    pub fn lanes_ready(&self, now: Time, after: Option<&LaneKey>, limit: usize) -> Vec<LaneKey> {
        let ready: BTreeSet<LaneKey> = self.claimable(now).map(|(_, it)| it.lane_key()).collect();
        ready.into_iter().filter(|lane| after.is_none_or(|after| lane > after)).take(limit).collect()
    }

    pub fn deliveries_ready_of(&self, lane: &LaneKey, now: Time, limit: usize) -> Vec<MessageId> {
        let of_lane = self.claimable(now).filter(|(_, it)| it.tenant == lane.tenant && it.lane == lane.lane);
        earliest(of_lane.map(|(due_at, it)| (due_at, it.id)), limit)
    }

    /// What waits and is due; in an ordered lane only if it is the first.
    fn claimable(&self, now: Time) -> impl Iterator<Item = (Time, &Delivery)> {
        let mut heads: BTreeMap<LaneKey, (i64, MessageId)> = BTreeMap::new();
        for it in self.deliveries.all().filter(|it| it.is_ordered() && it.due_at.is_some()) {
            let head = heads.entry(it.lane_key()).or_insert((it.turn, it.id));
            *head = (*head).min((it.turn, it.id));
        }
        let waiting = self.deliveries.all().filter(|it| it.state.get() != delivery::State::Delivering);
        let due = waiting.filter_map(move |it| Some((it.due_at.filter(|at| *at <= now)?, it)));
        due.filter(move |(_, it)| !it.is_ordered() || heads[&it.lane_key()].1 == it.id)
    }

    /// The first that is open in the lane of a delivery, if that lane is in order.
    pub fn lane_head(&self, id: MessageId) -> Option<MessageId> {
        let asked = self.deliveries.get(&id).filter(|it| it.is_ordered())?;
        let same_lane = |it: &&Delivery| it.tenant == asked.tenant && it.lane == asked.lane;
        let open =
            self.deliveries.all().filter(same_lane).filter(|it| it.is_ordered() && it.due_at.is_some());
        open.map(|it| (it.turn, it.id)).min().map(|(_, id)| id)
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
