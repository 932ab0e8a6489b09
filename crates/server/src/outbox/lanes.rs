//! Who may take the next message: a few at once in each lane, fewer in one that fails, and a bound on all together.
//!
//! Pure bookkeeping. What is found here is only a candidate: the claim decides.

use std::collections::{HashMap, HashSet, VecDeque};

use decisions::records::LaneKey;
use wire::MessageId;

/// Messages on their way, of all lanes.
pub const IN_FLIGHT_MAX: usize = 256;

/// Of one lane; and of one whose last message failed, so that the dead take no hands from the living.
const LANE_MAX: usize = 4;
const LANE_FAILING_MAX: usize = 1;

/// Candidates that one look into a lane brings.
pub const FOUND_MAX: usize = 32;

#[derive(Debug, Default)]
pub struct Lanes {
    lanes: HashMap<LaneKey, Lane>,
    in_flight: usize,
}

#[derive(Debug, Default)]
struct Lane {
    in_flight: HashSet<MessageId>,
    found: VecDeque<MessageId>,
    failing: bool,
}

impl Lane {
    fn has_room(&self) -> bool {
        self.in_flight.len() < if self.failing { LANE_FAILING_MAX } else { LANE_MAX }
    }
}

impl Lanes {
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub fn is_full(&self) -> bool {
        self.in_flight >= IN_FLIGHT_MAX
    }

    /// The lane could take a message and knows of none.
    pub fn wants(&self, lane: &LaneKey) -> bool {
        !self.is_full() && self.lanes.get(lane).is_none_or(|lane| lane.has_room() && lane.found.is_empty())
    }

    /// Candidates, oldest first. Says whether any is new.
    pub fn found(&mut self, lane: &LaneKey, ids: Vec<MessageId>) -> bool {
        let entry = self.lanes.entry(lane.clone()).or_default();
        let in_flight = &entry.in_flight;
        entry.found = ids.into_iter().filter(|id| !in_flight.contains(id)).collect();
        let any = !entry.found.is_empty();
        self.forget_idle(lane);
        any
    }

    /// The next message of the lane, which is on its way from now on.
    pub fn take(&mut self, lane: &LaneKey) -> Option<MessageId> {
        if self.is_full() {
            return None;
        }
        let lane = self.lanes.get_mut(lane).filter(|lane| lane.has_room())?;
        let id = lane.found.pop_front()?;
        lane.in_flight.insert(id);
        self.in_flight += 1;
        Some(id)
    }

    /// It is no longer on its way. `delivered` is unknown when it was not even claimed.
    pub fn done(&mut self, lane: &LaneKey, id: MessageId, delivered: Option<bool>) {
        let Some(entry) = self.lanes.get_mut(lane) else { return };
        self.in_flight -= usize::from(entry.in_flight.remove(&id));
        entry.failing = delivered.map_or(entry.failing, |delivered| !delivered);
        if delivered.is_none() {
            entry.found.clear(); // what was found is out of date
        }
        self.forget_idle(lane);
    }

    fn forget_idle(&mut self, lane: &LaneKey) {
        if self.lanes.get(lane).is_some_and(|lane| lane.in_flight.is_empty() && lane.found.is_empty()) {
            self.lanes.remove(lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::TenantId;

    use super::*;

    fn lane(name: &str) -> LaneKey {
        LaneKey { tenant: TenantId::from_u128(1), lane: name.into() }
    }

    fn ids(numbers: std::ops::Range<u128>) -> Vec<MessageId> {
        numbers.map(MessageId::from_u128).collect()
    }

    #[test]
    fn a_lane_takes_a_few_and_a_failing_one_takes_one() {
        let (mut lanes, ops) = (Lanes::default(), lane("ops"));
        assert!(lanes.wants(&ops));
        assert!(lanes.found(&ops, ids(0..10)));
        let taken: Vec<_> = std::iter::from_fn(|| lanes.take(&ops)).collect();
        assert_eq!(taken, ids(0..4));
        assert!(!lanes.wants(&ops), "four are on their way");
        lanes.done(&ops, taken[0], Some(false));
        assert_eq!(lanes.take(&ops), None, "it fails, and three are on their way");
        taken[1..].iter().for_each(|id| lanes.done(&ops, *id, Some(false)));
        assert_eq!(lanes.take(&ops), Some(MessageId::from_u128(4)));
        assert_eq!(lanes.take(&ops), None);
        lanes.done(&ops, MessageId::from_u128(4), Some(true));
        assert_eq!(std::iter::from_fn(|| lanes.take(&ops)).count(), 4, "it works again");
    }

    #[test]
    fn what_is_on_its_way_is_no_candidate() {
        let (mut lanes, ops) = (Lanes::default(), lane("ops"));
        lanes.found(&ops, ids(0..1));
        lanes.take(&ops);
        assert!(!lanes.found(&ops, ids(0..1)));
        assert!(lanes.found(&ops, ids(0..2)));
        assert_eq!(lanes.take(&ops), Some(MessageId::from_u128(1)));
    }

    #[test]
    fn all_lanes_together_have_a_bound_and_leave_nothing_behind() {
        let mut lanes = Lanes::default();
        let names: Vec<LaneKey> = (0..100).map(|number| lane(&number.to_string())).collect();
        let mut taken = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let first = index as u128 * 100;
            lanes.found(name, ids(first..first + 10));
            taken.extend(std::iter::from_fn(|| lanes.take(name)).map(|id| (name.clone(), id)));
        }
        assert_eq!((taken.len(), lanes.is_full()), (IN_FLIGHT_MAX, true));
        for (name, id) in taken {
            lanes.done(&name, id, None);
        }
        lanes.lanes.values_mut().for_each(|lane| lane.found.clear());
        for name in &names {
            lanes.found(name, vec![]);
        }
        assert_eq!((lanes.in_flight(), lanes.lanes.len()), (0, 0));
    }
}
