//! Candidates for leases: the first of each queue that no other server is about to lease.

use std::collections::BTreeSet;
use std::mem::take;

use decisions::records::ReadyKey;

use crate::StoreError;
use crate::candidates::{ReadyAsk, best, counts_by_queue};
use crate::postgres::fault;
use crate::postgres::pool::{Lent, Pool};
use crate::postgres::round::{BEGIN, Round};
use crate::postgres::rows::{Cells, read_ready};

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

/// Whoever looks while others lease sees what was there when it began: they may have had all of it, and what came in the
/// meantime is theirs no more than ours. A second look shows it; what we hold is in it too.
const LOOKS_MAX: usize = 2;

/// Locks enough candidates for all asks, in a transaction that is left open on the connection.
pub async fn pick(writers: &Pool, asks: &[ReadyAsk]) -> Result<(Lent, BTreeSet<ReadyKey>), StoreError> {
    let lent = writers.take().await?;
    let counts = counts_by_queue(asks);
    let (queues, counts): (Vec<i64>, Vec<i64>) =
        counts.into_iter().map(|(queue, count)| (queue.0, count as i64)).unzip();
    let wanted: usize = asks.iter().map(|ask| ask.count).sum();
    let mut round = Round::default();
    round.push(BEGIN, vec![]);
    let mut locked = Vec::new();
    for _ in 0..LOOKS_MAX {
        round.push(PICK, vec![Box::new(queues.clone()), Box::new(counts.clone())]);
        let answers = lent.connection.run(take(&mut round)).await;
        let answers = answers.map_err(|failed| fault::not_written(&failed.error))?;
        let rows = answers.into_iter().flat_map(|answer| answer.rows);
        locked = rows.map(|row| read_ready(&mut Cells::of(&row))).collect::<Result<Vec<_>, _>>()?;
        if locked.len() >= wanted {
            break;
        }
    }
    Ok((lent, best(asks, &locked)))
}
