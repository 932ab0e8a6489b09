//! What the outbox asks: which lanes have work, what of a lane may be claimed, who subscribed.

use std::sync::LazyLock;

use decisions::records::{Delivery, LaneKey, Webhook, WebhookKey};
use machines::{Machine, delivery};
use wire::{MessageId, TenantId};

use crate::lanes::merged;
use crate::postgres::finders::{after_text, ask, ask_one, bound, cells};
use crate::postgres::pool::Pool;
use crate::postgres::round::Param;
use crate::postgres::rows::Cells;
use crate::postgres::tables::{record, selected};
use crate::{OutboxCounts, StoreError};

/// Jumps from lane to lane by the index: the first entry of each says when the lane has work.
const LANES_WAITING: &str = "
    WITH RECURSIVE lane AS (
        (SELECT tenant_id, lane, due_at FROM deliveries
         WHERE turn = 0 AND due_at IS NOT NULL AND state <> 'delivering' AND (tenant_id, lane) > ($1, $2)
         ORDER BY tenant_id, lane, due_at LIMIT 1)
        UNION ALL
        SELECT n.* FROM lane CROSS JOIN LATERAL (
            SELECT t.tenant_id, t.lane, t.due_at FROM deliveries t
            WHERE t.turn = 0 AND t.due_at IS NOT NULL AND t.state <> 'delivering'
                AND (t.tenant_id, t.lane) > (lane.tenant_id, lane.lane)
            ORDER BY t.tenant_id, t.lane, t.due_at LIMIT 1) n)
    SELECT tenant_id, lane FROM lane WHERE due_at <= (SELECT clock_timestamp()) LIMIT $3";
/// Likewise; only its first message makes an ordered lane ready.
const LANES_ORDERED: &str = "
    WITH RECURSIVE lane AS (
        (SELECT tenant_id, lane, due_at, state FROM deliveries
         WHERE turn > 0 AND due_at IS NOT NULL AND (tenant_id, lane) > ($1, $2)
         ORDER BY tenant_id, lane, turn LIMIT 1)
        UNION ALL
        SELECT n.* FROM lane CROSS JOIN LATERAL (
            SELECT t.tenant_id, t.lane, t.due_at, t.state FROM deliveries t
            WHERE t.turn > 0 AND t.due_at IS NOT NULL AND (t.tenant_id, t.lane) > (lane.tenant_id, lane.lane)
            ORDER BY t.tenant_id, t.lane, t.turn LIMIT 1) n)
    SELECT tenant_id, lane FROM lane
    WHERE state <> 'delivering' AND due_at <= (SELECT clock_timestamp()) LIMIT $3";

const READY_OF: &str = "
    SELECT id FROM deliveries
    WHERE turn = 0 AND due_at IS NOT NULL AND state <> 'delivering' AND tenant_id = $1 AND lane = $2
        AND due_at <= (SELECT clock_timestamp())
    ORDER BY due_at, id LIMIT $3";
const READY_HEAD_OF: &str = "
    SELECT id FROM (
        SELECT id, state, due_at FROM deliveries
        WHERE turn > 0 AND due_at IS NOT NULL AND tenant_id = $1 AND lane = $2 ORDER BY turn LIMIT 1) t
    WHERE state <> 'delivering' AND due_at <= (SELECT clock_timestamp())";

/// The text of the condition chooses the index.
static PENDING: LazyLock<String> = LazyLock::new(|| in_state("due_at IS NOT NULL AND state = 'pending'"));
static DELIVERING: LazyLock<String> =
    LazyLock::new(|| in_state("due_at IS NOT NULL AND state = 'delivering'"));
static RETRY_WAIT: LazyLock<String> =
    LazyLock::new(|| in_state("due_at IS NOT NULL AND state = 'retry_wait'"));
static DEAD_LETTER: LazyLock<String> = LazyLock::new(|| in_state("state = 'dead_letter'"));
static DELIVERED: LazyLock<String> = LazyLock::new(|| in_state("state = 'delivered'"));

const COUNTS: &str = "
    SELECT (SELECT count(*) FROM deliveries WHERE due_at IS NOT NULL),
           (SELECT count(*) FROM deliveries WHERE state = 'dead_letter')";

static WEBHOOK: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM webhooks t WHERE tenant_id = $1 AND name = $2", selected::<Webhook>("t"))
});
static WEBHOOKS_OF: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM webhooks t WHERE tenant_id = $1 AND name > $2 AND NOT removed ORDER BY name LIMIT $3",
        selected::<Webhook>("t")
    )
});

fn in_state(condition: &str) -> String {
    format!(
        "SELECT {} FROM deliveries t WHERE {condition} AND id > $1 ORDER BY id LIMIT $2",
        selected::<Delivery>("t")
    )
}

pub async fn lanes_ready(
    readers: &Pool,
    after: Option<&LaneKey>,
    limit: usize,
) -> Result<Vec<LaneKey>, StoreError> {
    let statements = [LANES_WAITING, LANES_ORDERED].map(|sql| {
        let tenant = after_text(after.map(|after| after.tenant));
        let lane = after.map(|after| after.lane.clone()).unwrap_or_default();
        (sql, vec![Box::new(tenant) as Param<'static>, Box::new(lane), Box::new(bound(limit))])
    });
    let mut answers = Vec::new();
    for rows in ask(readers, statements.into()).await? {
        let lane = |row| {
            let mut cells = Cells::of(row);
            Ok(LaneKey { tenant: cells.next()?, lane: cells.next()? })
        };
        answers.push(rows.iter().map(lane).collect::<Result<Vec<LaneKey>, StoreError>>()?);
    }
    let ordered = answers.pop().unwrap_or_default();
    Ok(merged(answers.pop().unwrap_or_default(), ordered, limit))
}

pub async fn deliveries_ready_of(
    readers: &Pool,
    lane: &LaneKey,
    limit: usize,
) -> Result<Vec<MessageId>, StoreError> {
    let of_lane =
        || -> Vec<Param<'static>> { vec![Box::new(lane.tenant.to_string()), Box::new(lane.lane.clone())] };
    let mut with_limit = of_lane();
    with_limit.push(Box::new(bound(limit)));
    let answers = ask(readers, vec![(READY_HEAD_OF, of_lane()), (READY_OF, with_limit)]).await?;
    let mut ready: Vec<MessageId> = Vec::new();
    for rows in &answers {
        ready.extend(cells::<MessageId>(rows)?);
    }
    ready.truncate(limit);
    Ok(ready)
}

pub async fn deliveries_in(
    readers: &Pool,
    state: delivery::State,
    after: Option<MessageId>,
    limit: usize,
) -> Result<Vec<Delivery>, StoreError> {
    let sql: &'static str = match state {
        delivery::State::Pending => &PENDING,
        delivery::State::Delivering => &DELIVERING,
        delivery::State::RetryWait => &RETRY_WAIT,
        delivery::State::DeadLetter => &DEAD_LETTER,
        delivery::State::Delivered => &DELIVERED,
    };
    debug_assert!(sql.contains(state.as_str()));
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    ask_one(readers, sql, params).await?.iter().map(record).collect()
}

pub async fn outbox_counts(readers: &Pool) -> Result<OutboxCounts, StoreError> {
    let rows = ask_one(readers, COUNTS, vec![]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Unavailable("an aggregate without a row".into()))?;
    let mut cells = Cells::of(row);
    Ok(OutboxCounts { open: cells.next()?, dead: cells.next()? })
}

pub async fn webhook(readers: &Pool, key: &WebhookKey) -> Result<Option<Webhook>, StoreError> {
    let params: Vec<Param<'static>> = vec![Box::new(key.tenant.to_string()), Box::new(key.name.clone())];
    ask_one(readers, &WEBHOOK, params).await?.first().map(record).transpose()
}

pub async fn webhooks_of(
    readers: &Pool,
    tenant: TenantId,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Webhook>, StoreError> {
    let params: Vec<Param<'static>> =
        vec![Box::new(tenant.to_string()), Box::new(after_text(after)), Box::new(bound(limit))];
    ask_one(readers, &WEBHOOKS_OF, params).await?.iter().map(record).collect()
}
