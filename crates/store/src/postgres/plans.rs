//! Questions that ticks ask go through their partial indexes, on tables in which hardly anything is due.

use std::collections::BTreeMap;

use tokio_postgres::{Client, NoTls};

use crate::postgres::connect::SETTINGS;
use crate::postgres::scratch::with_tables;
use crate::postgres::{artifact_finders, files, lists, logs, questions};

/// So many that a planner who reads all of them is wrong.
const FILL: &str = "
    INSERT INTO tenants (id, name, state, status_message, desired_config, revision, created_at, updated_at)
    VALUES ('ten_1', 'one', 'ready', '', '{}', 1, now(), now());
    INSERT INTO blobs (id, digest, length, state, refs, barrier_until, epoch, created_at, updated_at)
    SELECT 'blob_' || i, sha256(i::text::bytea), 1, 'live', (i % 1000 > 0)::int, now(), 0, now(), now()
    FROM generate_series(1, 20000) i;
    INSERT INTO uploads (id, tenant_id, digest, length, blob_id, state, parts, etags, expires_at, litter, created_at,
        updated_at)
    SELECT 'upl_' || i, 'ten_1', sha256(i::text::bytea), 1, 'blob_' || i,
        CASE WHEN i % 1000 = 0 THEN 'initiated' ELSE 'committed' END, '[]', '[]', now(), i % 1000 = 1, now(), now()
    FROM generate_series(1, 20000) i;
    INSERT INTO versions (id, tenant_id, package, version, state, retention_until, purged, created_at, updated_at)
    SELECT 'ver_' || i, 'ten_1', 'p', i::text, CASE WHEN i % 1000 = 0 THEN 'tombstoned' ELSE 'published' END, now(),
        false, now(), now()
    FROM generate_series(1, 20000) i;
    INSERT INTO queues (id, tenant_id, requires) VALUES (1, 'ten_1', '[]');
    INSERT INTO runs (id, tenant_id, state, status_message, attempt, fail_fast, trust, group_name, group_id, supersede,
        jobs_total, jobs_open, required_failed, reports_open, created_at, updated_at, finished_at)
    SELECT 'run_' || i, 'ten_1', 'QUEUED', '', 1, false, 'trusted', 'main', sha256('main'), true, 0, 0, 0, 0, now(), now(),
        CASE WHEN i % 1000 > 0 THEN now() END
    FROM generate_series(1, 20000) i;
    INSERT INTO jobs (id, tenant_id, run_id, name, state, required, effect_once, priority, queue_id, attempts,
        attempts_max, retry_on, timeout_micros, tokens, needs_open, has_dependents, counted_failed, releasing,
        spec_digest, input_key, reusable, created_at, updated_at, spec)
    SELECT 'job_' || i, 'ten_1', 'run_' || i, 'a', CASE WHEN i % 2 = 0 THEN 'SUCCEEDED' ELSE 'FAILED' END, true, false, 0,
        1, 1, 1, '', 1, 1, 0, false, false, false, '', sha256((i % 7)::text::bytea), i % 2 = 0, now(), now(), '{}'
    FROM generate_series(1, 20000) i;
    INSERT INTO attempts (job_id, attempt, state, queue_id, priority, since, lost_leases, explanation, created_at, updated_at)
    SELECT 'job_' || i, 1, 'SUCCEEDED', 1, 0, now(), 0, '', now(), now() FROM generate_series(1, 20000) i;
    INSERT INTO executions (id, job_id, attempt, token, runner_id, runner_shared, lease_hash, lease_state, status,
        granted_at, expires_at, finished_at, commit_said, summary, artifacts)
    SELECT 'exec_' || i, 'job_' || i, 1, 1, 'r1', true, '', 'COMPLETED', 'DONE', now(), now(), now(), false, '', ''
    FROM generate_series(1, 20000) i;
    INSERT INTO logs (exec_id, received, head, tail_from, blob_id)
    SELECT 'exec_' || i, 1, 1, 1, CASE WHEN i % 1000 > 0 THEN 'blob_' || i END FROM generate_series(1, 20000) i;
    INSERT INTO ready (queue_id, rank, since, job_id, attempt)
    SELECT 1, 0, now(), 'job_' || i, 1 FROM generate_series(1, 20000) i;
    ANALYZE blobs, uploads, versions, runs, jobs, attempts, executions, logs, ready";

async fn explained(client: &Client, sql: &str) -> String {
    let rows = client.query(&format!("EXPLAIN {sql}"), &[]).await.unwrap();
    let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    plan.join("\n")
}

#[test]
fn what_is_due_is_found_by_its_index() {
    with_tables("plans", async |client, _| {
        client.batch_execute(FILL).await.unwrap();
        let of_groups = questions::RUNS_OF_GROUPS.replace("$1", "ARRAY[sha256('main')]");
        let successes = lists::SUCCESSES.replace("$1", "(SELECT 'ten_1')");
        let successes = successes.replace("$2", "ARRAY[sha256('1'), sha256('2')]");
        let logs_due =
            logs::DUE.replace("$1", "(SELECT 'exec_')").replace("$2", "(SELECT 1)").replace("$3", "100");
        let questions: BTreeMap<&str, &str> = BTreeMap::from([
            ("logs_in_chunks", logs_due.as_str()),
            ("runs_group", of_groups.as_str()),
            ("jobs_reusable", successes.as_str()),
            ("blobs_unreferenced", artifact_finders::BLOBS_UNREFERENCED.as_str()),
            ("uploads_expiring", artifact_finders::UPLOADS_DUE),
            ("uploads_litter", artifact_finders::LITTER.as_str()),
            ("versions_retained", artifact_finders::VERSIONS_DUE),
        ]);
        for (index, sql) in questions {
            // A value that the planner cannot see, as in a statement that is prepared once for all.
            let limit = if sql.contains("$2") { "$2" } else { "$1" };
            let sql = sql.replace(limit, "100").replace("$1", "(SELECT 'blob_')");
            let plan = explained(client, &sql).await;
            assert!(
                plan.contains(&format!("using {index} on")) || plan.contains(&format!("on {index}")),
                "{plan}"
            );
        }
    });
}

/// As a connection of ours plans it, for any jobs.
#[test]
fn a_look_at_one_job_does_not_walk_over_the_queue_that_it_waits_in() {
    with_tables("places", async |client, url| {
        client.batch_execute(FILL).await.unwrap();
        let (looking, driver) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(driver);
        looking.batch_execute(SETTINGS).await.unwrap();
        let prepared = format!("PREPARE entries (text[]) AS {}", *files::READY);
        looking.batch_execute(&prepared).await.unwrap();
        let plan = explained(&looking, "EXECUTE entries (ARRAY['job_7'])").await;
        let place = "Index Cond: ((queue_id = a.queue_id) AND (rank = ";
        let queue: Vec<&str> = plan.lines().skip_while(|line| !line.contains("on ready")).take(2).collect();
        assert!(
            matches!(queue[..], [scan, by] if scan.contains("ready_pkey") && by.contains(place)),
            "{plan}"
        );
        assert!(!plan.contains("Seq Scan"), "{plan}");
        let found = looking.query(files::READY.as_str(), &[&vec!["job_7", "job_8"]]).await.unwrap();
        assert_eq!(found.iter().map(|row| row.get::<_, &str>(3)).collect::<Vec<_>>(), ["job_7", "job_8"]);
    });
}
