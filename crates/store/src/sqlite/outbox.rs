//! What the outbox asks: which lanes have work, what of a lane may be claimed, who subscribed.

use decisions::records::{Delivery, LaneKey, Webhook, WebhookKey};
use machines::{Machine, delivery};
use rusqlite::{Connection, params};
use wire::{MessageId, TenantId, Time};

use crate::OutboxCounts;
use crate::lanes::{LaneHead, merged};
use crate::sqlite::known::Known;
use crate::sqlite::rows;

/// Jumps from lane to lane by the index: the first entry of each says when the lane has work. A lane without order is
/// ready with whatever is due first, an ordered one only with its first message.
const LANES_WAITING: &str = "
    SELECT tenant_id, lane, due_at, 0 FROM deliveries
    WHERE turn = 0 AND due_at IS NOT NULL AND state <> 'delivering' AND (tenant_id, lane) > (?1, ?2)
    ORDER BY tenant_id, lane, due_at LIMIT 1";
const LANES_ORDERED: &str = "
    SELECT tenant_id, lane, due_at, state = 'delivering' FROM deliveries
    WHERE turn > 0 AND due_at IS NOT NULL AND (tenant_id, lane) > (?1, ?2)
    ORDER BY tenant_id, lane, turn LIMIT 1";

const READY_OF: &str = "
    SELECT id FROM deliveries
    WHERE turn = 0 AND due_at IS NOT NULL AND state <> 'delivering' AND tenant_id = ?1 AND lane = ?2 AND due_at <= ?3
    ORDER BY due_at, id LIMIT ?4";
const READY_HEAD_OF: &str = "
    SELECT id FROM (
        SELECT id, state, due_at FROM deliveries
        WHERE turn > 0 AND due_at IS NOT NULL AND tenant_id = ?1 AND lane = ?2 ORDER BY turn LIMIT 1)
    WHERE state <> 'delivering' AND due_at <= ?3";

const OPEN_OF: &str =
    " WHERE turn > 0 AND due_at IS NOT NULL AND tenant_id = ?1 AND lane = ?2 ORDER BY turn LIMIT ?3";

pub fn lanes_ready(
    connection: &Connection,
    now: Time,
    after: Option<&LaneKey>,
    limit: usize,
) -> rusqlite::Result<Vec<LaneKey>> {
    let waiting = walk(connection, LANES_WAITING, now, after, limit)?;
    let ordered = walk(connection, LANES_ORDERED, now, after, limit)?;
    Ok(merged(waiting, ordered, limit))
}

fn walk(
    connection: &Connection,
    sql: &str,
    now: Time,
    after: Option<&LaneKey>,
    limit: usize,
) -> rusqlite::Result<Vec<LaneKey>> {
    let (mut tenant, mut lane) =
        after.map_or_else(Default::default, |after| (after.tenant.to_string(), after.lane.clone()));
    let mut ready = Vec::new();
    while ready.len() < limit {
        let Some(head) = rows::one(connection, sql, (&tenant, &lane), read_head)? else { break };
        (tenant, lane) = (head.lane.tenant.to_string(), head.lane.lane.clone());
        ready.extend(head.ready(now));
    }
    Ok(ready)
}

fn read_head(row: &rusqlite::Row<'_>) -> rusqlite::Result<LaneHead> {
    Ok(LaneHead {
        lane: LaneKey { tenant: rows::id(row, 0)?, lane: row.get(1)? },
        due_at: rows::time(row, 2)?,
        is_claimed: row.get(3)?,
    })
}

pub fn deliveries_ready_of(
    connection: &Connection,
    lane: &LaneKey,
    now: Time,
    limit: usize,
) -> rusqlite::Result<Vec<MessageId>> {
    let tenant = lane.tenant.to_string();
    let mut ready: Vec<MessageId> =
        rows::all(connection, READY_HEAD_OF, params![tenant, lane.lane, now.as_micros()], rows::read_id)?;
    let params = params![tenant, lane.lane, now.as_micros(), limit as i64];
    ready.extend(rows::all(connection, READY_OF, params, rows::read_id::<MessageId>)?);
    ready.truncate(limit);
    Ok(ready)
}

/// The first that is open in an ordered lane, as the books on their way leave it.
pub fn lane_head(
    connection: &Connection,
    known: &Known,
    asked: &Delivery,
) -> rusqlite::Result<Option<MessageId>> {
    let flying: Vec<_> = known.all_flying::<Delivery>().collect();
    let sql = [rows::DELIVERY, OPEN_OF].concat();
    // Each of those on their way may hide one that is still in the table.
    let tenant = asked.tenant.text();
    let params = params![tenant.as_str(), asked.lane, flying.len() as i64 + 1];
    let stored: Vec<Delivery> = rows::all(connection, &sql, params, rows::read_delivery)?;
    let newest = |id: MessageId| known.flying::<Delivery>(&id);
    let stored = stored.iter().filter(|it| newest(it.id).is_none()).map(|it| (it.turn, it.id));
    let same_lane = |it: &&Delivery| it.tenant == asked.tenant && it.lane == asked.lane && it.is_ordered();
    let flying = flying.iter().filter_map(|it| newest(it.id)).map(|it| &**it).filter(same_lane);
    let open = flying.filter(|it| it.is_open()).map(|it| (it.turn, it.id));
    Ok(stored.chain(open).min().map(|(_, id)| id))
}

pub fn deliveries_in(
    connection: &Connection,
    state: delivery::State,
    after: Option<MessageId>,
    limit: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    use delivery::State;
    // The text of the condition chooses the index.
    let condition = match state {
        State::Pending => "due_at IS NOT NULL AND state = 'pending'",
        State::Delivering => "due_at IS NOT NULL AND state = 'delivering'",
        State::RetryWait => "due_at IS NOT NULL AND state = 'retry_wait'",
        State::DeadLetter => "state = 'dead_letter'",
        State::Delivered => "state = 'delivered'",
    };
    debug_assert!(condition.contains(state.as_str()));
    let sql = format!("{} WHERE {condition} AND id > ?1 ORDER BY id LIMIT ?2", rows::DELIVERY);
    let after = after.map(|id| id.to_string()).unwrap_or_default();
    rows::all(connection, &sql, params![after, limit as i64], rows::read_delivery)
}

pub fn outbox_counts(connection: &Connection) -> rusqlite::Result<OutboxCounts> {
    let sql = "SELECT (SELECT count(*) FROM deliveries WHERE due_at IS NOT NULL), \
               (SELECT count(*) FROM deliveries WHERE state = 'dead_letter')";
    connection.prepare_cached(sql)?.query_row([], |row| {
        Ok(OutboxCounts {
            open: row.get::<_, i64>(0)?.unsigned_abs(),
            dead: row.get::<_, i64>(1)?.unsigned_abs(),
        })
    })
}

pub fn webhook(connection: &Connection, key: &WebhookKey) -> rusqlite::Result<Option<Webhook>> {
    let sql = [rows::WEBHOOK, " WHERE tenant_id = ?1 AND name = ?2"].concat();
    rows::one(connection, &sql, (key.tenant.text().as_str(), &key.name), rows::read_webhook)
}

pub fn webhooks_of(
    connection: &Connection,
    tenant: TenantId,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<Webhook>> {
    let sql = [rows::WEBHOOK, " WHERE tenant_id = ?1 AND name > ?2 AND NOT removed ORDER BY name LIMIT ?3"];
    let tenant = tenant.text();
    let params = params![tenant.as_str(), after.unwrap_or(""), limit as i64];
    rows::all(connection, &sql.concat(), params, rows::read_webhook)
}
