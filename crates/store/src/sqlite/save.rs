//! Writes what a batch changed, table by table, parents before children.

use decisions::Book;
use decisions::book::{Appended, Shelf};
use decisions::records::{Attempt, Delivery, Execution, Job, Queue, ReadyKey, Run, Runner, Tenant, Webhook};
use machines::Machine;
use rusqlite::{Connection, Statement, params};
use wire::Time;

use crate::log_groups::Group;
use crate::sqlite::rows::{complete_status, scope};
use crate::sqlite::{blobs, bundles, caches, collections, groups, logs, tokens, uploads, versions};

pub fn save(connection: &Connection, book: &Book, events: &[Group]) -> rusqlite::Result<()> {
    book.tenants.writes().try_for_each(|(before, tenant)| write_tenant(connection, before, tenant))?;
    book.webhooks.writes().try_for_each(|(_, webhook)| write_webhook(connection, webhook))?;
    book.queues.writes().try_for_each(|(_, queue)| write_queue(connection, queue))?;
    book.runners.writes().try_for_each(|(_, runner)| write_runner(connection, runner))?;
    groups::write(connection, &book.groups)?;
    book.runs.writes().try_for_each(|(before, run)| write_run(connection, before, run))?;
    write_jobs(connection, &book.jobs)?;
    write_attempts(connection, &book.attempts)?;
    write_executions(connection, &book.executions)?;
    book.deliveries
        .writes()
        .try_for_each(|(before, delivery)| write_delivery(connection, before, delivery))?;
    tokens::write(connection, &book.tokens)?;
    blobs::write(connection, &book.blobs)?;
    blobs::write_bytes(connection, &book.appended)?;
    logs::write(connection, &book.logs, &book.appended)?;
    blobs::write_possessions(connection, &book.possessions)?;
    blobs::write_usages(connection, &book.usages)?;
    uploads::write(connection, &book.uploads)?;
    versions::write(connection, &book.versions)?;
    bundles::write(connection, &book.bundles)?;
    caches::write(connection, &book.caches)?;
    collections::write(connection, &book.collections)?;
    collections::write_collector(connection, &book.collector)?;
    append(connection, &book.appended)?;
    log(connection, events)
}

fn write_tenant(connection: &Connection, before: Option<&Tenant>, it: &Tenant) -> rusqlite::Result<()> {
    let sql = match before {
        None => {
            "INSERT INTO tenants (name, state, updated_at, id, created_at, status_message, desired_config, revision) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        }
        Some(_) => {
            "UPDATE tenants SET name = ?1, state = ?2, updated_at = ?3, status_message = ?6, desired_config = ?7, \
             revision = ?8 WHERE id = ?4 AND created_at = ?5"
        }
    };
    let id = it.id.text();
    connection.prepare_cached(sql)?.execute(params![
        it.name,
        it.state.get().as_str(),
        micros(it.updated_at),
        id.as_str(),
        micros(it.created_at),
        it.status_message,
        it.desired_config,
        it.version,
    ])?;
    Ok(())
}

fn write_webhook(connection: &Connection, it: &Webhook) -> rusqlite::Result<()> {
    let sql = "INSERT INTO webhooks (tenant_id, name, url, events, secret, ordered, turns, removed) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET url = excluded.url, \
               events = excluded.events, secret = excluded.secret, ordered = excluded.ordered, \
               turns = excluded.turns, removed = excluded.removed";
    let tenant = it.key.tenant.text();
    connection.prepare_cached(sql)?.execute(params![
        tenant.as_str(),
        it.key.name,
        it.url,
        list(&it.events),
        it.secret.expose(),
        it.ordered,
        it.turns,
        it.removed,
    ])?;
    Ok(())
}

fn write_queue(connection: &Connection, it: &Queue) -> rusqlite::Result<()> {
    let sql = "INSERT INTO queues (id, tenant_id, requires) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    let tenant = it.tenant.text();
    connection.prepare_cached(sql)?.execute(params![it.id.0, tenant.as_str(), list(&it.requires)])?;
    Ok(())
}

fn write_runner(connection: &Connection, it: &Runner) -> rusqlite::Result<()> {
    let sql = "INSERT INTO runners (id, acks_missed, barred_until, last_seen_at, tenant_id, capabilities) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
               ON CONFLICT DO UPDATE SET acks_missed = excluded.acks_missed, barred_until = excluded.barred_until, \
               last_seen_at = excluded.last_seen_at, capabilities = excluded.capabilities";
    connection.prepare_cached(sql)?.execute(params![
        it.key.id.as_str(),
        it.acks_missed,
        it.barred_until.map(micros),
        micros(it.last_seen_at),
        scope(it.key.tenant),
        list(&it.capabilities),
    ])?;
    Ok(())
}

fn write_run(connection: &Connection, before: Option<&Run>, it: &Run) -> rusqlite::Result<()> {
    if before.is_none() {
        insert_run(connection, it)?;
    }
    let sql = "UPDATE runs SET state = ?2, outcome = ?3, status_message = ?4, jobs_total = ?5, jobs_open = ?6, \
               required_failed = ?7, reports_open = ?8, sweep = ?9, swept_to = ?10, due_at = ?11, updated_at = ?12, \
               finished_at = ?13, group_name = ?14, group_id = ?15, supersede = ?16, \
               fail_fast = ?17 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        it.state.get().as_str(),
        it.outcome.map(Machine::as_str),
        it.status_message,
        it.jobs_total,
        it.jobs_open,
        it.required_failed,
        it.reports_open,
        it.sweep.map(|sweep| sweep.as_str()),
        it.swept_to.map(|id| id.to_string()),
        it.due_at.map(micros),
        micros(it.updated_at),
        it.finished_at.map(micros),
        it.group,
        it.group_id().map(|id| id.0),
        it.supersede,
        it.fail_fast,
    ])?;
    Ok(())
}

/// The columns that never change; `write_run` fills the others in the same transaction.
fn insert_run(connection: &Connection, it: &Run) -> rusqlite::Result<()> {
    let sql = "INSERT INTO runs (id, tenant_id, attempt, rerun_of, trigger_key, repository, git_ref, commit_id, base, \
               fail_fast, created_at, state, status_message, jobs_total, jobs_open, required_failed, reports_open, \
               updated_at, trust, supersede) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'CREATED', '', 0, 0, \
               0, 0, ?11, ?12, 0)";
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        it.tenant.text().as_str(),
        it.attempt,
        it.rerun_of.map(|id| id.to_string()),
        it.trigger_key,
        it.repository,
        it.git_ref,
        it.commit,
        it.base,
        it.fail_fast,
        micros(it.created_at),
        it.trust.as_str(),
    ])?;
    Ok(())
}

/// The hot tables prepare their statements once per batch.
fn write_jobs(connection: &Connection, jobs: &Shelf<Job>) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(INSERT_JOB)?;
    let mut progress = connection.prepare_cached(PROGRESS_JOB)?;
    let mut update = connection.prepare_cached(UPDATE_JOB)?;
    jobs.writes().try_for_each(|(before, job)| match before {
        None => insert_job(&mut insert, job),
        Some(before) if is_step(before, job) => progress_job(&mut progress, job),
        Some(_) => update_job(&mut update, job),
    })
}

/// A lease, an end: nothing that an index asks for changes. SQLite goes by the columns a statement names.
const PROGRESS_JOB: &str = "UPDATE jobs SET state = ?2, tokens = ?3, updated_at = ?4 WHERE id = ?1";

fn is_step(before: &Job, it: &Job) -> bool {
    (before.attempts, before.attempts_max, before.needs_open) == (it.attempts, it.attempts_max, it.needs_open)
        && (before.counted_failed, before.reusable) == (it.counted_failed, it.reusable)
        && (before.releasing, before.released_to, before.free_at)
            == (it.releasing, it.released_to, it.free_at)
}

fn progress_job(progress: &mut Statement<'_>, it: &Job) -> rusqlite::Result<()> {
    progress.execute(params![it.id.text().as_str(), it.state.as_str(), it.tokens, micros(it.updated_at)])?;
    Ok(())
}

const UPDATE_JOB: &str = "UPDATE jobs SET state = ?2, attempts = ?3, attempts_max = ?4, tokens = ?5, needs_open = ?6, \
     counted_failed = ?7, releasing = ?8, released_to = ?9, updated_at = ?10, reusable = ?11, \
     free_at = ?12 WHERE id = ?1";

fn update_job(update: &mut Statement<'_>, it: &Job) -> rusqlite::Result<()> {
    update.execute(params![
        it.id.text().as_str(),
        it.state.as_str(),
        it.attempts,
        it.attempts_max,
        it.tokens,
        it.needs_open,
        it.counted_failed,
        it.releasing,
        it.released_to.map(|id| id.to_string()),
        micros(it.updated_at),
        it.reusable,
        it.free_at.map(micros),
    ])?;
    Ok(())
}

const INSERT_JOB: &str = "INSERT INTO jobs (id, tenant_id, run_id, name, job_key, state, required, effect_once, priority, \
               queue_id, attempts, attempts_max, retry_on, timeout_micros, tokens, needs_open, has_dependents, \
               counted_failed, releasing, released_to, spec_digest, created_at, updated_at, input_key, reusable, \
               free_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, \
               ?21, ?22, ?23, ?24, ?25, ?26)";

fn insert_job(insert: &mut Statement<'_>, it: &Job) -> rusqlite::Result<()> {
    let run = it.run.map(|run| run.text());
    insert.execute(params![
        it.id.text().as_str(),
        it.tenant.text().as_str(),
        run.as_ref().map(|run| run.as_str()),
        it.name,
        it.key,
        it.state.as_str(),
        it.required,
        it.effect_once,
        it.priority,
        it.queue.0,
        it.attempts,
        it.attempts_max,
        it.retry_on.to_text(),
        it.timeout.as_micros() as i64,
        it.tokens,
        it.needs_open,
        it.has_dependents,
        it.counted_failed,
        it.releasing,
        it.released_to.map(|id| id.to_string()),
        it.spec_digest,
        micros(it.created_at),
        micros(it.updated_at),
        it.input_key.as_ref().map(|key| key.as_bytes()),
        it.reusable,
        it.free_at.map(micros),
    ])?;
    Ok(())
}

fn write_attempts(connection: &Connection, attempts: &Shelf<Attempt>) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(INSERT_ATTEMPT)?;
    let mut progress = connection.prepare_cached(PROGRESS_ATTEMPT)?;
    let mut update = connection.prepare_cached(UPDATE_ATTEMPT)?;
    let mut enter = connection.prepare_cached(ENTER_QUEUE)?;
    let mut leave = connection.prepare_cached(LEAVE_QUEUE)?;
    for (before, attempt) in attempts.writes() {
        match before {
            None => insert_attempt(&mut insert, attempt)?,
            Some(before) if is_on_its_way(before, attempt) => progress_attempt(&mut progress, attempt)?,
            Some(_) => update_attempt(&mut update, attempt)?,
        }
        // The queue table holds exactly the attempts in QUEUED.
        let (left, entered) = (before.and_then(Attempt::ready_key), attempt.ready_key());
        if left != entered {
            left.map_or(Ok(()), |key| move_in_queue(&mut leave, key))?;
            entered.map_or(Ok(()), |key| move_in_queue(&mut enter, key))?;
        }
    }
    Ok(())
}

const INSERT_ATTEMPT: &str = "INSERT INTO attempts (job_id, attempt, state, queue_id, priority, since, lost_leases, \
     exec_id, failure_class, explanation, created_at, updated_at, finished_at) VALUES \
     (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

fn insert_attempt(insert: &mut Statement<'_>, it: &Attempt) -> rusqlite::Result<()> {
    let execution = it.execution.map(|id| id.text());
    insert.execute(params![
        it.key.job.text().as_str(),
        it.key.index,
        it.state.get().as_str(),
        it.queue.0,
        it.priority,
        micros(it.since),
        it.lost_leases,
        execution.as_ref().map(|text| text.as_str()),
        it.failure_class.map(|class| class.as_str()),
        it.explanation,
        micros(it.created_at),
        micros(it.updated_at),
        it.finished_at.map(micros),
    ])?;
    Ok(())
}

/// It has a lease and goes on. SQLite looks at every name that `failure_class` may have whenever a statement names it.
const PROGRESS_ATTEMPT: &str =
    "UPDATE attempts SET state = ?3, exec_id = ?4, updated_at = ?5 WHERE job_id = ?1 AND attempt = ?2";

fn is_on_its_way(before: &Attempt, it: &Attempt) -> bool {
    (before.lost_leases, before.failure_class, before.finished_at)
        == (it.lost_leases, it.failure_class, it.finished_at)
        && before.explanation == it.explanation
}

fn progress_attempt(progress: &mut Statement<'_>, it: &Attempt) -> rusqlite::Result<()> {
    let execution = it.execution.map(|id| id.text());
    progress.execute(params![
        it.key.job.text().as_str(),
        it.key.index,
        it.state.get().as_str(),
        execution.as_ref().map(|text| text.as_str()),
        micros(it.updated_at),
    ])?;
    Ok(())
}

const UPDATE_ATTEMPT: &str = "UPDATE attempts SET state = ?3, lost_leases = ?4, exec_id = ?5, failure_class = ?6, \
     explanation = ?7, updated_at = ?8, finished_at = ?9 WHERE job_id = ?1 AND attempt = ?2";

fn update_attempt(update: &mut Statement<'_>, it: &Attempt) -> rusqlite::Result<()> {
    let execution = it.execution.map(|id| id.text());
    update.execute(params![
        it.key.job.text().as_str(),
        it.key.index,
        it.state.get().as_str(),
        it.lost_leases,
        execution.as_ref().map(|text| text.as_str()),
        it.failure_class.map(|class| class.as_str()),
        it.explanation,
        micros(it.updated_at),
        it.finished_at.map(micros),
    ])?;
    Ok(())
}

const LEAVE_QUEUE: &str =
    "DELETE FROM ready WHERE queue_id = ?1 AND rank = ?2 AND since = ?3 AND job_id = ?4 AND attempt = ?5";
const ENTER_QUEUE: &str =
    "INSERT INTO ready (queue_id, rank, since, job_id, attempt) VALUES (?1, ?2, ?3, ?4, ?5)";

fn move_in_queue(statement: &mut Statement<'_>, key: ReadyKey) -> rusqlite::Result<()> {
    let job = key.attempt.job.text();
    statement.execute(params![key.queue.0, key.rank, micros(key.since), job.as_str(), key.attempt.index])?;
    Ok(())
}

fn write_executions(connection: &Connection, executions: &Shelf<Execution>) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(INSERT_EXECUTION)?;
    let mut progress = connection.prepare_cached(PROGRESS_EXECUTION)?;
    let mut update = connection.prepare_cached(UPDATE_EXECUTION)?;
    // First those that are there: a lease that ends makes room for the attempt's next one in the same batch.
    executions.writes().try_for_each(|(before, execution)| match before {
        None => Ok(()),
        Some(before) if is_progress(before, execution) => progress_execution(&mut progress, execution),
        Some(_) => update_execution(&mut update, execution),
    })?;
    let mut new = executions.writes().filter(|(before, _)| before.is_none());
    new.try_for_each(|(_, execution)| insert_execution(&mut insert, execution))
}

/// An acknowledgement, a heartbeat, a commit: the lease lives on, and no index on its deadlines moves. SQLite goes by the
/// columns a statement names, not by whether they change.
const PROGRESS_EXECUTION: &str = "UPDATE executions SET lease_state = ?2, status = ?3, expires_at = ?4, \
     timeout_at = ?5, started_at = ?6, commit_said = ?7 WHERE id = ?1";

fn is_progress(before: &Execution, it: &Execution) -> bool {
    (before.due_at, before.cancel_by, before.finished_at) == (it.due_at, it.cancel_by, it.finished_at)
        && before.outcome == it.outcome
        && (&before.summary, &before.artifacts) == (&it.summary, &it.artifacts)
}

fn progress_execution(progress: &mut Statement<'_>, it: &Execution) -> rusqlite::Result<()> {
    progress.execute(params![
        it.id.text().as_str(),
        it.lease.get().as_str(),
        it.status.get().as_str(),
        micros(it.expires_at),
        it.timeout_at.map(micros),
        it.started_at.map(micros),
        it.commit_said,
    ])?;
    Ok(())
}

const INSERT_EXECUTION: &str = "INSERT INTO executions (id, job_id, attempt, run_id, token, runner_id, lease_hash, \
     lease_state, status, granted_at, expires_at, timeout_at, cancel_by, due_at, started_at, finished_at, outcome, \
     exit_code, summary, artifacts, runner_shared, commit_said) VALUES \
     (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";

fn insert_execution(insert: &mut Statement<'_>, it: &Execution) -> rusqlite::Result<()> {
    let run = it.run.map(|run| run.text());
    insert.execute(params![
        it.id.text().as_str(),
        it.attempt.job.text().as_str(),
        it.attempt.index,
        run.as_ref().map(|run| run.as_str()),
        it.token,
        it.runner.as_str(),
        it.lease_hash.as_bytes(),
        it.lease.get().as_str(),
        it.status.get().as_str(),
        micros(it.granted_at),
        micros(it.expires_at),
        it.timeout_at.map(micros),
        it.cancel_by.map(micros),
        it.due_at.map(micros),
        it.started_at.map(micros),
        it.finished_at.map(micros),
        it.outcome.map(|outcome| complete_status(outcome.status)),
        it.outcome.map(|outcome| outcome.exit_code),
        it.summary,
        it.artifacts,
        it.runner_shared,
        it.commit_said,
    ])?;
    Ok(())
}

const UPDATE_EXECUTION: &str = "UPDATE executions SET lease_state = ?2, status = ?3, expires_at = ?4, \
     timeout_at = ?5, cancel_by = ?6, due_at = ?7, started_at = ?8, finished_at = ?9, outcome = ?10, exit_code = ?11, \
     summary = ?12, artifacts = ?13, commit_said = ?14 WHERE id = ?1";

fn update_execution(update: &mut Statement<'_>, it: &Execution) -> rusqlite::Result<()> {
    update.execute(params![
        it.id.text().as_str(),
        it.lease.get().as_str(),
        it.status.get().as_str(),
        micros(it.expires_at),
        it.timeout_at.map(micros),
        it.cancel_by.map(micros),
        it.due_at.map(micros),
        it.started_at.map(micros),
        it.finished_at.map(micros),
        it.outcome.map(|outcome| complete_status(outcome.status)),
        it.outcome.map(|outcome| outcome.exit_code),
        it.summary,
        it.artifacts,
        it.commit_said,
    ])?;
    Ok(())
}

fn write_delivery(connection: &Connection, before: Option<&Delivery>, it: &Delivery) -> rusqlite::Result<()> {
    let reports = it.reports.map(|run| run.to_string());
    if before.is_some() {
        let sql = "UPDATE deliveries SET state = ?2, tries = ?3, claims = ?4, due_at = ?5, reports = ?6, \
                   last_error = ?7, updated_at = ?8, delivered_at = ?9 WHERE id = ?1";
        connection.prepare_cached(sql)?.execute(params![
            it.id.text().as_str(),
            it.state.get().as_str(),
            it.tries,
            it.claims,
            it.due_at.map(micros),
            reports,
            it.last_error,
            micros(it.updated_at),
            it.delivered_at.map(micros),
        ])?;
        return Ok(());
    }
    let sql = "INSERT INTO deliveries (id, tenant_id, event, subject, url, body, state, tries, claims, due_at, reports, \
               last_error, created_at, updated_at, delivered_at, lane, turn) VALUES \
               (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        it.tenant.text().as_str(),
        it.event,
        it.subject,
        it.url,
        it.body,
        it.state.get().as_str(),
        it.tries,
        it.claims,
        it.due_at.map(micros),
        reports,
        it.last_error,
        micros(it.created_at),
        micros(it.updated_at),
        it.delivered_at.map(micros),
        it.lane,
        it.turn,
    ])?;
    Ok(())
}

fn append(connection: &Connection, rows: &Appended) -> rusqlite::Result<()> {
    for (run, plan) in &rows.plans {
        let sql = "INSERT INTO run_plans (run_id, plan) VALUES (?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![run.text().as_str(), &**plan])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO job_specs (job_id, spec) VALUES (?1, ?2)")?;
    for (job, spec) in &rows.specs {
        insert.execute(params![job.text().as_str(), &**spec])?;
    }
    for (needed, dependent) in &rows.needs {
        let sql = "INSERT INTO job_needs (needed_id, dependent_id) VALUES (?1, ?2)";
        connection
            .prepare_cached(sql)?
            .execute(params![needed.text().as_str(), dependent.text().as_str()])?;
    }
    for effect in &rows.effects {
        let sql = "INSERT INTO effects (job_id, position, exec_id, kind, body) VALUES (?1, ?2, ?3, ?4, ?5)";
        let (job, execution) = (effect.job.text(), effect.execution.text());
        let params = params![job.as_str(), effect.position, execution.as_str(), effect.kind, effect.body];
        connection.prepare_cached(sql)?.execute(params)?;
    }
    Ok(())
}

/// One writer, so numbers follow commit order and leave no gap.
fn log(connection: &Connection, groups: &[Group]) -> rusqlite::Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let last = "SELECT coalesce(max(seq), 0) FROM event_groups";
    let mut seq: i64 = connection.prepare_cached(last)?.query_row([], |row| row.get(0))?;
    let sql = "INSERT INTO event_groups (seq, size, at, root, entries) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = connection.prepare_cached(sql)?;
    for group in groups {
        seq += i64::from(group.size);
        insert.execute(params![seq, group.size, micros(group.at), group.root.as_str(), group.entries])?;
    }
    Ok(())
}

fn micros(time: Time) -> i64 {
    time.as_micros()
}

fn list(texts: &[String]) -> String {
    serde_json::to_string(texts).expect("texts are JSON")
}
