//! One server: what is written is what is read, and what is asked for is what comes.

use std::time::Duration;

use decisions::doctor::{check_job, check_run};
use decisions::jobs::ReleaseDependents;
use decisions::leases::{Commit, ExecutionDue, Lease, Wanted};
use decisions::records::RunnerKey;
use decisions::runs::{CancelRun, SweepRun};
use decisions::tenants::PutWebhook;
use decisions::{Ask, Command};
use store::{LogBounds, Store, StoreError};
use wire::runner::Effect;
use wire::{ExecId, JobId, MessageId, RunId, Time};

use crate::postgres::database::{connect, with_database};
use crate::postgres::server::{
    Server, ack, complete, granted, heartbeat, lease, queue, run_of, runner, submit, tenant,
};

const NOW: Time = Time::from_seconds(0);

#[test]
fn what_does_not_exist_is_not_in_the_book() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let asks = [
            Ask::Run(RunId::from_u128(7)),
            Ask::Plan(RunId::from_u128(7)),
            Ask::Succeeded(RunId::from_u128(7)),
            Ask::Sweep(RunId::from_u128(7)),
            Ask::Family(JobId::from_u128(7)),
            Ask::Release(JobId::from_u128(7)),
            Ask::Spec(JobId::from_u128(7)),
            Ask::Execution(ExecId::from_u128(7)),
            Ask::Runner(RunnerKey { tenant: None, id: runner("nobody") }),
            Ask::Trigger(tenant(), "none".into()),
            Ask::JobKey(tenant(), "none".into()),
            Ask::TenantName("none".into()),
            Ask::Ready { queues: vec![queue().id], count: 3 },
            Ask::Delivery(MessageId::from_u128(7)),
        ];
        let loaded = server.store.load(&asks, NOW).await.unwrap();
        assert!(loaded.now > Time::from_seconds(1_700_000_000), "the database's clock, not the argument");
        let book = &loaded.book;
        assert!(book.runs.peek_all().next().is_none() && book.jobs.peek_all().next().is_none());
        assert!(book.ready.is_empty() && book.job_keys.is_empty());
        assert!(book.is_unchanged());
        server.store.save(loaded.session, loaded.book).await.unwrap();
    });
}

#[test]
fn a_job_is_read_back_as_it_was_written() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        server
            .must(PutWebhook {
                tenant: tenant(),
                name: "ops".into(),
                url: "http://localhost/".into(),
                events: vec!["job.finished".into()],
                secret: "a secret of some length".to_owned().into(),
                ordered: false,
            })
            .await;
        let mut command = submit();
        (command.key, command.priority) = (Some("mine".into()), -3);
        let job = command.id;
        server.must(command.clone()).await;
        server.must(command).await; // again: found by its key
        let lease = lease("r1");
        server.must(lease.clone()).await;
        server.must(ack(&lease)).await;
        server.must(heartbeat(&lease)).await;
        let effects = vec![Effect::Result { value: serde_json::json!({"a": 1}) }];
        server.must(Commit { lease: lease.lease.key(), runner: lease.runner.clone(), effects }).await;
        server.must(complete(&lease)).await;

        let file = server.store.job_file(job).await.unwrap().unwrap();
        assert_eq!(check_job(&file), []);
        assert_eq!((file.job.key.as_deref(), file.job.priority, file.effects.len()), (Some("mine"), -3, 1));
        assert_eq!(server.store.job_files_after(None, 10).await.unwrap(), std::slice::from_ref(&file));
        assert_eq!(server.store.job_files_after(Some(job), 10).await.unwrap(), []);
        assert_eq!(server.store.execution_job(lease.execution).await, Ok(Some(job)));
        assert_eq!(server.store.events_of(&job.to_string()).await.unwrap(), file.events);
        assert_eq!(server.store.queues_named(vec![queue().id]).await.unwrap(), [queue()]);
        let lanes = server.store.lanes_ready(NOW, None, 10).await.unwrap();
        let waiting = server.store.deliveries_ready_of(&lanes[0], NOW, 10).await.unwrap();
        let deliveries = server.store.deliveries_after(None, 10).await.unwrap();
        assert_eq!(waiting, deliveries.iter().map(|delivery| delivery.id).collect::<Vec<_>>());
        assert_eq!(waiting.len(), 1);
        check_log(&server).await;
    });
}

/// A job's own entries are looked for where its attempts say that they are.
#[test]
fn an_entry_that_is_not_where_its_attempt_says_is_counted() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let (waiting, stray) = (server.submit().await, server.submit().await);
        let client = connect(&url).await;
        let second = "INSERT INTO ready SELECT queue_id, rank, since, job_id, 2 FROM ready WHERE job_id = $1";
        client.execute(second, &[&waiting.to_string()]).await.unwrap();
        let entries = async |job| server.store.job_file(job).await.unwrap().unwrap().ready.len();
        assert_eq!((entries(waiting).await, entries(stray).await), (2, 1));
        let elsewhere =
            "INSERT INTO ready SELECT 7, rank, since, job_id, attempt FROM ready WHERE job_id = $1";
        client.execute(elsewhere, &[&stray.to_string()]).await.unwrap();
        let problem = "the queues have 4 entries for 2 queued attempts".to_owned();
        assert_eq!(server.store.integrity().await, Ok(vec![problem]));
    });
}

/// As long as a database's calendar, and longer.
#[test]
fn however_long_caches_are_kept_those_beyond_the_bound_are_due() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let job = server.submit().await;
        let saved = format!(
            "INSERT INTO blobs (id, digest, length, state, refs, barrier_until, epoch, created_at, updated_at)
                 VALUES ('{blob}', sha256('a'), 9, 'live', 1, now(), 0, now(), now());
             INSERT INTO caches VALUES ('{tenant}', 'trusted', 'cargo', '{cache}', '{blob}', sha256('a'), 9, '{job}',
                 now() - interval '99 years', now() - interval '99 years', false)",
            tenant = tenant(),
            blob = wire::BlobId::from_u128(1),
            cache = wire::CacheId::from_u128(1),
        );
        connect(&url).await.batch_execute(&saved).await.unwrap();
        for ttl in [Duration::from_secs(9_999_999 * 24 * 3600), Duration::MAX] {
            let due = server.store.caches_due(NOW, ttl, 8, 10).await.unwrap();
            assert_eq!((due.unused.len(), due.beyond.len()), (0, 1), "{ttl:?}");
            assert_eq!(server.store.logs_due(NOW, ttl, None, 10).await, Ok(vec![]), "{ttl:?}");
        }
    });
}

#[test]
fn a_damaged_row_is_named() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let job = server.submit().await;
        let damage = "ALTER TABLE jobs DROP CONSTRAINT jobs_state_check; UPDATE jobs SET state = 'LOST'";
        connect(&url).await.batch_execute(damage).await.unwrap();
        let problem = format!("a row ({job}) is damaged in column `state`: it holds `LOST`");
        assert_eq!(server.store.job_file(job).await, Err(StoreError::Violation(problem)));
    });
}

/// The log is packed; a person with psql sees it unpacked.
#[test]
fn the_log_can_be_read_with_sql() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let job = server.submit().await;
        server.must(lease("r1")).await;
        let sql =
            "SELECT seq, at::text, machine, entity, from_state, event, to_state, owner, cause FROM events
                   WHERE root = $1 ORDER BY seq";
        let rows = connect(&url).await.query(sql, &[&job.to_string()]).await.unwrap();
        let events = server.store.events_of(&job.to_string()).await.unwrap();
        assert_eq!((rows.len(), events.len()), (5, 5));
        for (row, event) in rows.iter().zip(&events) {
            assert_eq!(row.get::<_, i64>("seq"), event.seq);
            assert_eq!(row.get::<_, Option<String>>("from_state"), event.from);
            let columns = ["machine", "entity", "event", "to_state", "owner", "cause"];
            let fields = [&event.machine, &event.entity, &event.event, &event.to, &event.owner, &event.cause];
            for (column, field) in columns.into_iter().zip(fields) {
                assert_eq!(row.get::<_, &str>(column), field);
            }
        }
        let first = events[0].seq;
        let after = server.store.events_after(first, 2).await.unwrap();
        assert_eq!(after.iter().map(|event| event.seq).collect::<Vec<_>>(), [first + 1, first + 2]);
    });
}

async fn check_log(server: &Server) {
    let events = server.store.events_after(0, 100_000).await.unwrap();
    let numbers: Vec<i64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as i64).collect::<Vec<_>>());
    let last = events.len() as i64;
    assert_eq!(server.store.log_bounds().await, Ok(LogBounds { rows: last, last_seq: last }));
    assert_eq!(server.store.integrity().await, Ok(vec![]));
}

/// More than one chunk, so that the cursors are read back.
#[test]
fn a_run_is_released_and_swept_in_chunks() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let run = run_of(230);
        server.must(run.clone()).await;
        let leases: Vec<_> = (0..230).map(|_| lease("r1")).collect();
        let granted = granted(&server.perform(leases.iter().cloned().map(Command::from)).await.unwrap());
        assert_eq!(granted.len(), 230);
        server.perform(leases[..30].iter().map(|lease| ack(lease).into())).await.unwrap();
        server.perform(leases[..30].iter().map(|lease| complete(lease).into())).await.unwrap();
        let due = server.store.due(NOW, 1_000).await.unwrap();
        assert_eq!((due.releases.len(), due.sweeps.len()), (30, 0));
        server.perform(due.releases.iter().map(|job| ReleaseDependents { job: *job }.into())).await.unwrap();
        assert_eq!(server.store.due(NOW, 1_000).await.unwrap().releases, []);

        server.must(CancelRun { tenant: tenant(), run: run.id, reason: "enough".into() }).await;
        let mut sweeps = 0;
        while server.store.due(NOW, 10).await.unwrap().sweeps == [run.id] {
            server.must(SweepRun { run: run.id }).await;
            sweeps += 1;
        }
        assert_eq!(sweeps, 3);
        let files = server.store.run_files_after(None, 10).await.unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!(check_run(&files[0]), []);
        assert_eq!(server.store.run(run.id).await.unwrap().unwrap().jobs_open, 0);
        let jobs = server.store.job_files_after(None, 1_000).await.unwrap();
        assert_eq!(jobs.iter().flat_map(check_job).collect::<Vec<_>>(), []);
        check_log(&server).await;
    });
}

#[test]
fn a_lease_that_ends_makes_room_for_the_next_in_the_same_batch() {
    with_database(|url| async move {
        let mut server = Server::start(&url).await;
        server.policy.ack_timeout = Duration::ZERO;
        let job = server.submit().await;
        let first = lease("r1");
        server.must(first.clone()).await;
        assert_eq!(server.store.due(NOW, 10).await.unwrap().executions, [first.execution]);
        let second = Lease { wanted: Wanted::Job(job), ..lease("r2") };
        let batch = [ExecutionDue { execution: first.execution }.into(), second.into()];
        let answers = server.perform(batch).await.unwrap();
        assert_eq!(granted(&answers), [job]);
        assert_eq!(check_job(&server.store.job_file(job).await.unwrap().unwrap()), []);
    });
}

#[test]
fn a_value_that_cannot_be_stored_is_a_violation_of_one_record() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        server.submit().await;
        let lease = lease("r1");
        server.must(lease.clone()).await;
        server.must(ack(&lease)).await;
        let mut complete = complete(&lease);
        complete.summary = "a zero byte: \0".into();
        let refused = server.perform([complete.into()]).await;
        assert!(matches!(refused, Err(StoreError::Violation(_))), "{refused:?}");
    });
}

#[test]
fn a_connection_that_breaks_before_the_save_leaves_nothing_written() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        // Twice before, so that every statement is prepared: then the first that is sent is one of the save's.
        for _ in 0..2 {
            server.submit().await;
            server.must(lease("r1")).await;
        }
        let job = server.submit().await;
        let prepared = server.prepare([lease("r1").into()]).await.unwrap();
        end_connections(&url).await;
        let refused = server.finish(prepared).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        // The pool notices, and the entry is free again.
        assert_eq!(granted(&retried(&server, lease("r1").into()).await), [job]);
    });
}

#[test]
fn a_commit_without_an_answer_may_have_happened() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        connect(&url)
            .await
            .batch_execute(
                "CREATE FUNCTION fall() RETURNS trigger LANGUAGE plpgsql AS
                     'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                 CREATE CONSTRAINT TRIGGER fall AFTER INSERT ON event_groups DEFERRABLE INITIALLY DEFERRED
                     FOR EACH ROW EXECUTE FUNCTION fall();",
            )
            .await
            .unwrap();
        let refused = server.perform([submit().into()]).await;
        assert!(matches!(refused, Err(StoreError::Unknown(_))), "{refused:?}");
    });
}

async fn end_connections(url: &str) {
    let client = connect(url).await;
    let others = "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client.execute(others, &[]).await.unwrap();
}

/// The first try may meet a connection that is dead and does not know it yet.
async fn retried(server: &Server, command: Command) -> crate::postgres::server::Answers {
    for _ in 0..5 {
        if let Ok(answers) = server.perform([command.clone()]).await {
            return answers;
        }
    }
    panic!("the store stays unavailable")
}
