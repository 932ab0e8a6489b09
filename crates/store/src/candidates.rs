//! Candidates for leases: how many of each queue a batch may need, and which of those found are worth loading.

use std::collections::{BTreeMap, BTreeSet};

use decisions::Ask;
use decisions::records::{QueueId, ReadyKey};

/// Ready attempts over some queues, for runners that can take all of them.
#[derive(Debug, Clone)]
pub struct ReadyAsk {
    pub queues: Vec<QueueId>,
    pub count: usize,
}

/// The asks of a batch that are for ready attempts.
pub fn ready_asks(asks: &[Ask]) -> Vec<ReadyAsk> {
    let mut ready = Vec::new();
    for ask in asks {
        if let Ask::Ready { queues, count } = ask {
            ready.push(ReadyAsk { queues: queues.clone(), count: *count });
        }
    }
    ready
}

/// In the worst case everybody is served from the same queue.
pub fn counts_by_queue(asks: &[ReadyAsk]) -> BTreeMap<QueueId, usize> {
    let mut counts = BTreeMap::new();
    for ask in asks {
        for queue in &ask.queues {
            *counts.entry(*queue).or_default() += ask.count;
        }
    }
    counts
}

/// Of many queues with many candidates each, those that can be leased: families of the others need not be read. The
/// first of each queue stays in, for the case that a better one turns out to belong to a run that is stopping.
pub fn best(asks: &[ReadyAsk], found: &[ReadyKey]) -> BTreeSet<ReadyKey> {
    let total: usize = asks.iter().map(|ask| ask.count).sum();
    let mut best = BTreeSet::new();
    for ask in asks {
        let queues: BTreeSet<QueueId> = ask.queues.iter().copied().collect();
        let mut of_queues: Vec<&ReadyKey> = found.iter().filter(|key| queues.contains(&key.queue)).collect();
        of_queues.sort_by_key(|key| (key.rank, key.since, key.attempt));
        let mut entered = BTreeSet::new();
        let places = of_queues.into_iter().enumerate();
        let chosen = places.filter(|(place, key)| entered.insert(key.queue) || *place < total);
        best.extend(chosen.map(|(_, key)| *key));
    }
    best
}

#[cfg(test)]
mod tests {
    use decisions::records::AttemptKey;
    use wire::{JobId, Time};

    use super::*;

    fn key(queue: i64, rank: i64, job: u128) -> ReadyKey {
        let attempt = AttemptKey { job: JobId::from_u128(job), index: 1 };
        ReadyKey { queue: QueueId(queue), rank, since: Time::from_seconds(0), attempt }
    }

    fn ask(queues: &[i64], count: usize) -> ReadyAsk {
        ReadyAsk { queues: queues.iter().map(|id| QueueId(*id)).collect(), count }
    }

    #[test]
    fn each_queue_must_be_able_to_serve_everybody() {
        let counts = counts_by_queue(&[ask(&[1, 2], 3), ask(&[2, 3], 2)]);
        assert_eq!(counts, BTreeMap::from([(QueueId(1), 3), (QueueId(2), 5), (QueueId(3), 2)]));
    }

    #[test]
    fn the_best_over_all_queues_and_the_first_of_each_are_kept() {
        let found = [key(1, 0, 1), key(1, 0, 2), key(1, 0, 3), key(2, 5, 4), key(2, 5, 5)];
        let kept = best(&[ask(&[1, 2], 2)], &found);
        assert_eq!(kept, BTreeSet::from([key(1, 0, 1), key(1, 0, 2), key(2, 5, 4)]));
    }

    #[test]
    fn two_asks_that_share_a_queue_do_not_share_candidates() {
        let found = [key(1, 0, 1), key(1, 0, 2), key(2, 5, 3)];
        let kept = best(&[ask(&[1], 1), ask(&[1, 2], 1)], &found);
        assert!(kept.contains(&key(1, 0, 2)));
    }
}
