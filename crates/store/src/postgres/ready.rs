//! Candidates for leases: the first of each queue that no other server is about to lease.

use std::collections::BTreeSet;
use std::mem::take;

use decisions::records::ReadyKey;

use crate::StoreError;
use crate::candidates::{ReadyAsk, best, counts_by_queue};
use crate::postgres::fault;
use crate::postgres::moment::{MOMENT, Moment};
use crate::postgres::pool::Lent;
use crate::postgres::round::{Answer, BEGIN, Round};
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

/// What a trip brought: the candidates that were picked, if any were asked for, and what came along.
pub struct Picked {
    pub candidates: BTreeSet<ReadyKey>,
    pub answers: Vec<Answer>,
    /// After they were locked and everything was answered: whatever it shows, they are queued in it.
    pub moment: Moment,
}

/// Locks enough candidates for all asks, in a transaction that is left open on the connection, and asks some questions on the
/// way.
pub async fn pick(writer: &Lent, asks: &[ReadyAsk], questions: Round<'_>) -> Result<Picked, StoreError> {
    let counts = counts_by_queue(asks);
    let (queues, counts): (Vec<i64>, Vec<i64>) =
        counts.into_iter().map(|(queue, count)| (queue.0, count as i64)).unzip();
    let wanted: usize = asks.iter().map(|ask| ask.count).sum();
    let mut round = questions;
    let asked = round.len();
    round.push(BEGIN, vec![]);
    let (mut answers, mut looks) = (Vec::new(), 0);
    loop {
        round.push(PICK, vec![Box::new(queues.clone()), Box::new(counts.clone())]);
        round.push(MOMENT, vec![]);
        let come = writer.connection.run(take(&mut round)).await;
        answers.extend(come.map_err(|failed| fault::not_written(&failed.error))?);
        looks += 1;
        let [.., picked, moment] = &answers[..] else { unreachable!("one answer a statement") };
        let locked = picked.iter().map(|row| read_ready(&mut Cells::of(row)));
        let locked = locked.collect::<Result<Vec<_>, _>>()?;
        if locked.len() >= wanted || looks == LOOKS_MAX {
            let (candidates, moment) = (best(asks, &locked), Moment::shown(moment)?);
            answers.truncate(asked);
            return Ok(Picked { candidates, answers, moment });
        }
    }
}
