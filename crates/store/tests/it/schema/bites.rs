//! Rows that must not be, written past the store by plain SQL: the database refuses them.

use rusqlite::Connection;
use store::{Postgres, Sqlite, Store};
use tokio_postgres::Client;
use wire::runner::Effect;

use crate::commands::{
    ack, append, commit, ensure_tenant, fail, job_id, lease_job, plan_job, run, submit, token, webhook,
};
use crate::desk::Desk;
use crate::stores::{Database, block_on, connect};

/// Two of everything, so that the second can be made like the first.
async fn fill<S: Store>(store: S) -> Desk<S> {
    let desk = Desk::at(store);
    let second = decisions::tenants::EnsureTenant { id: wire::TenantId::from_u128(2), name: "second".into() };
    desk.must_all([ensure_tenant(), second]).await;
    desk.must(webhook("ops", &["run.finished"])).await;
    for (number, key) in [(1, "push-1"), (2, "push-2")] {
        let mut create = run(number, vec![plan_job("a", &[]), plan_job("b", &["a"])]);
        create.trigger_key = Some(key.into());
        desk.must(create).await;
        let mut keyed = submit(number);
        keyed.key = Some(key.into());
        desk.must(keyed).await;
    }
    desk.must(run(3, vec![])).await; // over at once, and told
    let (first, second) = (lease_job(1, job_id(1)), lease_job(2, job_id(1)));
    desk.must(first.clone()).await;
    desk.must(ack(&first)).await;
    desk.must(fail(&first, "connection reset")).await;
    desk.must(second.clone()).await;
    desk.must(ack(&second)).await;
    desk.must(append(&second, 0, b"one")).await;
    desk.must(append(&second, 3, b"two")).await;
    desk.must_all([token(1), token(2)]).await;
    desk.must(commit(&second, vec![Effect::Result { value: 1.into() }])).await;
    desk
}

/// What must be refused, and the word by which the database names its reason.
const REFUSED: &[(&str, &str)] = &[
    // What may exist once.
    ("UPDATE tenants SET name = 'default'", "unique"),
    ("UPDATE runs SET trigger_key = 'push-1'", "unique"),
    ("UPDATE jobs SET job_key = 'push-1' WHERE job_key IS NOT NULL", "unique"),
    ("UPDATE executions SET attempt = 1, lease_state = 'GRANTED', finished_at = NULL", "unique"),
    ("UPDATE executions SET attempt = 2, lease_state = 'ACTIVE', finished_at = NULL", "unique"),
    ("UPDATE executions SET status = 'COMMITTED'", "unique"),
    ("UPDATE executions SET status = 'DONE'", "unique"),
    ("UPDATE executions SET token = 1", "unique"),
    ("UPDATE log_chunks SET \"offset\" = 7", "unique"),
    // Names that no machine has.
    ("UPDATE tenants SET state = 'READY'", "check"),
    ("UPDATE runs SET state = 'DONE'", "check"),
    ("UPDATE runs SET outcome = 'REPORTED'", "check"),
    ("UPDATE runs SET sweep = ''", "check"),
    ("UPDATE jobs SET state = 'QUEUED'", "check"),
    ("UPDATE attempts SET state = 'pending'", "check"),
    ("UPDATE attempts SET failure_class = 'unknown'", "check"),
    ("UPDATE executions SET lease_state = 'LOST'", "check"),
    ("UPDATE executions SET status = 'RUNNING'", "check"),
    ("UPDATE executions SET status = 'ABORTED', commit_said = (1 = 1)", "check"),
    ("UPDATE executions SET outcome = 'CANCELED', exit_code = 1", "check"),
    ("UPDATE effects SET kind = 'deploy'", "check"),
    ("UPDATE tokens SET kind = 'root'", "check"),
    ("UPDATE deliveries SET state = 'DELIVERED'", "check"),
    // Counters and halves.
    ("UPDATE runs SET jobs_open = -1", "check"),
    ("UPDATE runs SET jobs_open = jobs_total + 1", "check"),
    ("UPDATE runs SET required_failed = -1", "check"),
    ("UPDATE runs SET reports_open = -1", "check"),
    ("UPDATE runs SET attempt = 0", "check"),
    ("UPDATE jobs SET attempts = attempts_max + 1", "check"),
    ("UPDATE jobs SET attempts = 0", "check"),
    ("UPDATE jobs SET needs_open = -1", "check"),
    ("UPDATE attempts SET attempt = 0 WHERE exec_id IS NULL", "check"),
    ("UPDATE executions SET outcome = 'FAILED', exit_code = NULL", "check"),
    ("UPDATE executions SET outcome = NULL, exit_code = 0", "check"),
    ("UPDATE tenants SET revision = 0", "check"),
    ("UPDATE tokens SET kind = 'admin'", "check"),
    ("UPDATE tokens SET tenant_id = NULL", "check"),
    ("UPDATE logs SET head = -1, tail_from = 0", "check"),
    ("UPDATE logs SET tail_from = head - 1", "check"),
    ("UPDATE logs SET tail_from = received + 1", "check"),
    ("UPDATE log_chunks SET \"offset\" = -1", "check"),
    ("UPDATE tokens SET hash = NULL", "not null"),
    ("UPDATE jobs SET name = NULL", "not null"),
    ("UPDATE executions SET lease_hash = NULL", "not null"),
    // References.
    (
        "INSERT INTO webhooks (tenant_id, name, url, events, secret, ordered, turns, removed)
         VALUES ('ten_none', 'a', 'b', '[]', 's', false, 0, false)",
        "foreign key",
    ),
    ("INSERT INTO queues (id, tenant_id, requires) VALUES (7, 'ten_none', '[]')", "foreign key"),
    ("INSERT INTO run_plans (run_id, plan) VALUES ('run_none', '[]')", "foreign key"),
    ("UPDATE runs SET tenant_id = 'ten_none'", "foreign key"),
    ("UPDATE runs SET rerun_of = 'run_none'", "foreign key"),
    ("UPDATE jobs SET tenant_id = 'ten_none', job_key = NULL", "foreign key"),
    ("UPDATE jobs SET run_id = 'run_none'", "foreign key"),
    ("UPDATE jobs SET queue_id = 7", "foreign key"),
    ("UPDATE job_needs SET needed_id = 'job_none' || dependent_id", "foreign key"),
    ("UPDATE job_needs SET dependent_id = 'job_none' || needed_id", "foreign key"),
    ("UPDATE attempts SET job_id = 'job_none' || job_id", "foreign key"),
    ("UPDATE executions SET attempt = 9", "foreign key"),
    ("UPDATE effects SET exec_id = 'exec_none'", "foreign key"),
    ("UPDATE effects SET job_id = 'job_none'", "foreign key"),
    ("UPDATE deliveries SET tenant_id = 'ten_none'", "foreign key"),
    ("UPDATE deliveries SET reports = 'run_none'", "foreign key"),
    ("UPDATE tokens SET tenant_id = 'ten_none'", "foreign key"),
    ("UPDATE logs SET exec_id = 'exec_none'", "foreign key"),
    ("UPDATE logs SET blob_id = 'blob_none'", "foreign key"),
    ("UPDATE log_chunks SET exec_id = 'exec_none'", "foreign key"),
    ("DELETE FROM logs", "foreign key"),
    ("DELETE FROM tenants", "foreign key"),
    ("DELETE FROM runs", "foreign key"),
    ("DELETE FROM jobs", "foreign key"),
    ("DELETE FROM attempts", "foreign key"),
    ("DELETE FROM executions", "foreign key"),
];

/// What may be: without it, a refusal above might have another reason than the one it is there for.
const ACCEPTED: &[&str] = &[
    "UPDATE runs SET trigger_key = NULL",
    "UPDATE tokens SET kind = 'runner', tenant_id = NULL",
    "UPDATE tokens SET kind = 'admin'",
    "UPDATE logs SET tail_from = received",
    "UPDATE jobs SET job_key = NULL",
    "UPDATE executions SET outcome = 'FAILED', exit_code = 1",
    "UPDATE runs SET jobs_open = jobs_total",
    "UPDATE executions SET lease_state = 'REVOKED', status = 'ABORTED', finished_at = granted_at, commit_said = (1 = 0)",
    "UPDATE executions SET lease_state = 'ACTIVE', finished_at = NULL", // of two attempts
    "UPDATE executions SET attempt = 1, lease_state = 'EXPIRED', finished_at = granted_at",
    "UPDATE executions SET status = 'DONE' WHERE token = 1",
];

pub(super) fn check(sql: &str, expected: &str, result: Result<(), String>) {
    match result {
        Ok(()) => assert_eq!(expected, "", "{sql} was taken"),
        Err(text) => assert!(!expected.is_empty() && text.to_lowercase().contains(expected), "{sql}: {text}"),
    }
}

#[test]
fn sqlite_refuses_what_must_not_be() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deltaci.db");
        let _desk = fill(Sqlite::open(&path).unwrap()).await;
        let raw = Connection::open(&path).unwrap();
        raw.pragma_update(None, "foreign_keys", true).unwrap();
        let of_sqlite = [("INSERT INTO job_specs (job_id, spec) VALUES ('job_none', '{}')", "foreign key")];
        for (sql, expected) in REFUSED.iter().chain(&of_sqlite) {
            check(sql, expected, on_sqlite(&raw, sql));
        }
        ACCEPTED.iter().for_each(|sql| check(sql, "", on_sqlite(&raw, sql)));
    });
}

pub(super) fn on_sqlite(raw: &Connection, sql: &str) -> Result<(), String> {
    raw.execute_batch(sql).map_err(|error| error.to_string())
}

#[test]
fn postgres_refuses_what_must_not_be() {
    block_on(async {
        let database = Database::make().await;
        let _desk = fill(Postgres::open(&database.url).await.unwrap()).await;
        let raw = connect(&database.url).await;
        let elsewhere =
            "UPDATE jobs SET job_key = NULL, tenant_id = (SELECT id FROM tenants WHERE name = 'second')";
        let of_postgres = [(elsewhere, "foreign key")]; // its queue is another tenant's
        for (sql, expected) in REFUSED.iter().chain(&of_postgres) {
            let expected = if *expected == "not null" { "not-null" } else { expected };
            check(sql, expected, on_postgres(&raw, sql).await);
        }
        for sql in ACCEPTED {
            check(sql, "", on_postgres(&raw, sql).await);
        }
        database.drop().await;
    });
}

pub(super) async fn on_postgres(raw: &Client, sql: &str) -> Result<(), String> {
    let refused = |error: tokio_postgres::Error| error.as_db_error().unwrap().message().to_owned();
    raw.batch_execute(sql).await.map_err(refused)
}

/// Not only a connection of ours in a test: the store's own writer is held to its references, too.
#[test]
fn the_stores_own_connections_are_held_to_references() {
    crate::stores::sqlite(a_job_of_nobody);
    crate::stores::postgres(a_job_of_nobody);
}

async fn a_job_of_nobody<S: Store>(desk: Desk<S>) {
    let nobody = wire::TenantId::from_u128(404);
    let mut changes = decisions::Changes::default();
    let orphan = crate::forged::bare_job(1, nobody, crate::commands::queue(&[]));
    changes.jobs.insert(orphan.id, orphan);
    let refused = desk.forge(changes).await;
    assert!(matches!(refused, Err(store::StoreError::Violation(_))), "{refused:?}");
    assert_eq!(desk.store.job_file(job_id(1)).await, Ok(None));
}
