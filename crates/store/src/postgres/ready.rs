//! Candidates for leases: the first of each queue that no other server is about to lease.

use std::collections::{BTreeMap, BTreeSet};

use decisions::records::{QueueId, ReadyKey};

use crate::StoreError;
use crate::postgres::fault;
use crate::postgres::pool::Lent;
use crate::postgres::pool::Pool;
use crate::postgres::round::{BEGIN, Round};
use crate::postgres::rows::{Cells, read_ready};
use crate::postgres::wanted::ReadyAsk;

/// Each queue is entered at its head by the primary key. Rows that another server has locked are passed over, so two
/// servers get different ones; ours stay locked until the save.
const PICK: &str = "
    SELECT r.queue_id, r.rank, r.since, r.job_id, r.attempt
    FROM unnest($1::bigint[], $2::bigint[]) AS u (queue_id, count)
    CROSS JOIN LATERAL (
        SELECT * FROM ready
        WHERE ready.queue_id = u.queue_id
        ORDER BY rank, since, job_id, attempt
        LIMIT u.count
        FOR UPDATE SKIP LOCKED
    ) r";

/// Locks enough candidates for all asks, in a transaction that is left open on the connection.
pub async fn pick(writers: &Pool, asks: &[ReadyAsk]) -> Result<(Lent, BTreeSet<ReadyKey>), StoreError> {
    let lent = writers.take().await?;
    let (queues, counts): (Vec<i64>, Vec<i64>) = counts_by_queue(asks).into_iter().unzip();
    let mut round = Round::default();
    round.push(BEGIN, vec![]);
    round.push(PICK, vec![Box::new(queues), Box::new(counts)]);
    let answers = lent.connection.run(round).await.map_err(|failed| fault::not_written(&failed.error))?;
    let rows = answers.into_iter().flat_map(|answer| answer.rows);
    let locked: Vec<ReadyKey> = rows.map(|row| read_ready(&mut Cells::of(&row))).collect::<Result<_, _>>()?;
    Ok((lent, best(asks, &locked)))
}

/// In the worst case everybody is served from the same queue.
fn counts_by_queue(asks: &[ReadyAsk]) -> BTreeMap<i64, i64> {
    let mut counts = BTreeMap::new();
    for ask in asks {
        for queue in &ask.queues {
            *counts.entry(queue.0).or_default() += ask.count as i64;
        }
    }
    counts
}

/// Of many queues with many candidates each, those that can be leased: families of the others need not be read. The
/// first of each queue stays in, for the case that a better one turns out to belong to a run that is stopping.
fn best(asks: &[ReadyAsk], locked: &[ReadyKey]) -> BTreeSet<ReadyKey> {
    let total: usize = asks.iter().map(|ask| ask.count).sum();
    let mut best = BTreeSet::new();
    for ask in asks {
        let queues: BTreeSet<QueueId> = ask.queues.iter().copied().collect();
        let mut of_queues: Vec<&ReadyKey> = locked.iter().filter(|key| queues.contains(&key.queue)).collect();
        of_queues.sort_by_key(|key| (key.rank, key.since, key.attempt));
        let mut entered = BTreeSet::new();
        let chosen = of_queues
            .into_iter()
            .enumerate()
            .filter(|(place, key)| entered.insert(key.queue) || *place < total);
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
        assert_eq!(counts, BTreeMap::from([(1, 3), (2, 5), (3, 2)]));
    }

    #[test]
    fn the_best_over_all_queues_and_the_first_of_each_are_kept() {
        let locked = [key(1, 0, 1), key(1, 0, 2), key(1, 0, 3), key(2, 5, 4), key(2, 5, 5)];
        let kept = best(&[ask(&[1, 2], 2)], &locked);
        assert_eq!(kept, BTreeSet::from([key(1, 0, 1), key(1, 0, 2), key(2, 5, 4)]));
    }

    #[test]
    fn two_asks_that_share_a_queue_do_not_share_candidates() {
        let locked = [key(1, 0, 1), key(1, 0, 2), key(2, 5, 3)];
        let kept = best(&[ask(&[1], 1), ask(&[1, 2], 1)], &locked);
        assert!(kept.contains(&key(1, 0, 2)));
    }
}
