//! Several servers on one database: what one read, the other cannot change unseen.

use std::collections::BTreeSet;
use std::time::Duration;

use decisions::Command;
use decisions::doctor::check_job;
use decisions::jobs::CancelJob;
use decisions::leases::{Lease, Wanted};
use store::{Store, StoreError};
use wire::{JobId, Time};

use crate::postgres::database::{connect, with_database};
use crate::postgres::server::{
    Answers, Server, ack, complete, granted, heartbeat, lease, number, queue, run_of, submit, tenant,
};

/// What comes of a save if the one record that it rests on has moved.
fn moved<T>(table: &str) -> Result<T, StoreError> {
    Err(StoreError::Conflict(format!("40001: {table}: 1 of 1 rows moved")))
}

#[test]
fn two_servers_lease_different_jobs_from_one_queue() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let mut all = BTreeSet::new();
        for _ in 0..10 {
            all.insert(one.submit().await);
        }
        let leases = |name: &str| (0..6).map(|_| Command::from(lease(name))).collect::<Vec<_>>();
        let first = one.prepare(leases("r1")).await.unwrap();
        let second = two.prepare(leases("r2")).await.unwrap();
        let first = granted(&one.finish(first).await.unwrap());
        let second = granted(&two.finish(second).await.unwrap());
        assert_eq!((first.len(), second.len()), (6, 4));
        assert_eq!(first.into_iter().chain(second).collect::<BTreeSet<_>>(), all);
    });
}

#[test]
fn a_session_that_is_dropped_gives_its_candidates_back() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let job = one.submit().await;
        let held = one.prepare([lease("r1").into()]).await.unwrap();
        assert_eq!(granted(&two.perform([lease("r2").into()]).await.unwrap()), []);
        drop(held);
        let mut found = vec![];
        for _ in 0..100 {
            found = granted(&two.perform([lease("r2").into()]).await.unwrap());
            if !found.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await; // the server ends the transaction when it notices
        }
        assert_eq!(found, [job]);
    });
}

#[test]
fn a_decision_on_a_row_that_moved_is_not_saved() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let job = one.submit().await;
        let lease = lease("r1");
        one.must(lease.clone()).await;
        one.must(ack(&lease)).await;
        let late = one.prepare([complete(&lease).into()]).await.unwrap();
        two.must(CancelJob { tenant: tenant(), job }).await;
        let refused = one.finish(late).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
        assert_eq!(check_job(&one.store.job_file(job).await.unwrap().unwrap()), []);
    });
}

/// The run is only read by a heartbeat, and only written by a cancel.
#[test]
fn what_was_only_read_is_protected_too() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let run = run_of(1);
        one.must(run.clone()).await;
        let lease = lease("r1");
        one.must(lease.clone()).await;
        one.must(ack(&lease)).await;
        let late = one.prepare([heartbeat(&lease).into()]).await.unwrap();
        let reason = "enough".into();
        two.must(decisions::runs::CancelRun { tenant: tenant(), run: run.id, reason }).await;
        assert_eq!(one.finish(late).await, moved("runs"));
    });
}

#[test]
fn a_save_that_waited_for_a_row_sees_that_it_moved() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let job = server.submit().await;
        let late = server.prepare([CancelJob { tenant: tenant(), job }.into()]).await.unwrap();
        let client = connect(&url).await;
        client.batch_execute("BEGIN; UPDATE jobs SET updated_at = updated_at").await.unwrap();
        let saving = server.finish(late);
        let committing = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            client.batch_execute("COMMIT").await.unwrap();
        };
        let (saved, ()) = tokio::join!(saving, committing);
        assert_eq!(saved, moved("jobs"));
    });
}

/// As above, for a row that is only read and therefore only shared.
#[test]
fn a_save_that_waited_for_what_it_read_sees_that_it_moved() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let run = run_of(1);
        server.must(run.clone()).await;
        let lease = lease("r1");
        server.must(lease.clone()).await;
        server.must(ack(&lease)).await;
        let late = server.prepare([heartbeat(&lease).into()]).await.unwrap();
        let client = connect(&url).await;
        client.batch_execute("BEGIN; UPDATE runs SET updated_at = updated_at").await.unwrap();
        let committing = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            client.batch_execute("COMMIT").await.unwrap();
        };
        let (saved, ()) = tokio::join!(server.finish(late), committing);
        assert_eq!(saved, moved("runs"));
    });
}

/// Each server remembers what it wrote last; none believes its memory when the other has written since.
#[test]
fn what_another_server_wrote_is_seen_at_once() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let job = one.submit().await;
        let lease = lease("r1");
        two.must(lease.clone()).await;
        one.must(ack(&lease)).await;
        two.must(heartbeat(&lease)).await;
        one.must(heartbeat(&lease)).await;
        one.must(heartbeat(&lease)).await;
        two.must(complete(&lease)).await;
        assert_eq!(one.must(complete(&lease)).await, two.must(complete(&lease)).await); // said twice, everywhere
        assert_eq!(check_job(&one.store.job_file(job).await.unwrap().unwrap()), []);
    });
}

#[test]
fn a_row_that_was_changed_by_hand_is_read_again() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        let job = server.submit().await;
        let sql = "UPDATE jobs SET attempts_max = 7";
        connect(&url).await.batch_execute(sql).await.unwrap();
        let leased = Command::from(lease("r1"));
        let refused = server.perform([leased.clone()]).await;
        assert_eq!(refused, moved("jobs"));
        assert_eq!(granted(&server.perform([leased]).await.unwrap()), [job]);
        assert_eq!(server.store.job_file(job).await.unwrap().unwrap().job.attempts_max, 7);
    });
}

/// Whoever saves alone does not ask for what a command is about to make.
#[test]
fn what_was_taken_for_new_and_is_not_is_found_when_it_is_decided_again() {
    with_database(|url| async move {
        let (job, leased) = (submit(), lease("r1"));
        let before = Server::start(&url).await;
        before.must(job.clone()).await;
        before.must(leased.clone()).await;
        let known = before.perform([job.clone().into(), leased.clone().into()]).await.unwrap();
        drop(before);
        let after = Server::start(&url).await;
        let alone = || async {
            after.submit().await;
            after.submit().await;
        };
        let cases = [(Command::from(job), "jobs_pkey"), (leased.into(), "executions_pkey")];
        for ((again, key), answer) in cases.into_iter().zip(known) {
            alone().await;
            let refused = after.perform([again.clone()]).await;
            assert!(matches!(&refused, Err(StoreError::Conflict(what)) if what.contains(key)), "{refused:?}");
            assert_eq!(after.perform([again]).await.unwrap(), [answer]);
        }
    });
}

#[test]
fn an_entry_that_another_server_holds_is_not_waited_for() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let job = one.submit().await;
        let held = one.prepare([lease("r1").into()]).await.unwrap();
        let wanted = Lease { wanted: Wanted::Job(job), ..lease("r2") };
        let refused = two.perform([wanted.into()]).await;
        assert!(matches!(&refused, Err(StoreError::Conflict(what)) if what.contains("ready")), "{refused:?}");
        assert_eq!(granted(&one.finish(held).await.unwrap()), [job]);
    });
}

#[test]
fn the_same_key_from_two_servers_is_one_job() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let keyed = || {
            let mut command = submit();
            command.key = Some("mine".into());
            Command::from(command)
        };
        let first = one.prepare([keyed()]).await.unwrap();
        two.perform([keyed()]).await.unwrap();
        let refused = one.finish(first).await;
        assert!(
            matches!(&refused, Err(StoreError::Conflict(what)) if what.contains("jobs_key")),
            "{refused:?}"
        );
    });
}

/// Each of them waits a while before each job, so that both are in the middle at once.
#[test]
fn the_same_keys_in_opposite_orders_from_two_servers_do_not_wait_for_each_other() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        one.submit().await;
        let dawdle = "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                          'BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END';
                      CREATE TRIGGER dawdle BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION dawdle()";
        connect(&url).await.batch_execute(dawdle).await.unwrap();
        let keyed = |keys: [&str; 2]| {
            keys.map(|key| {
                let mut command = submit();
                command.key = Some(key.into());
                Command::from(command)
            })
        };
        let first = one.prepare(keyed(["a", "b"])).await.unwrap();
        let second = two.prepare(keyed(["b", "a"])).await.unwrap();
        let (first, second) = tokio::join!(one.finish(first), two.finish(second));
        let (saved, refused) = if first.is_ok() { (first, second) } else { (second, first) };
        assert!(saved.is_ok(), "{saved:?}");
        assert!(
            matches!(&refused, Err(StoreError::Conflict(what)) if what.contains("jobs_key")),
            "{refused:?}"
        );
    });
}

/// Two busy servers: every job runs once, the log has no gaps, and nobody is left waiting.
#[test]
fn two_busy_servers_agree() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        let run = run_of(60);
        one.must(run.clone()).await;
        let (left, right) = tokio::join!(work(&one, "r1"), work(&two, "r2"));
        let all: BTreeSet<JobId> = left.iter().chain(&right).copied().collect();
        assert_eq!((left.len() + right.len(), all.len()), (80, 80), "{} + {}", left.len(), right.len());
        let files = one.store.job_files_after(None, 1_000).await.unwrap();
        assert_eq!(files.iter().flat_map(check_job).collect::<Vec<_>>(), []);
        let runs = two.store.run_files_after(None, 10).await.unwrap();
        assert_eq!(runs.iter().flat_map(decisions::doctor::check_run).collect::<Vec<_>>(), []);
        let events = one.store.events_after(0, 100_000).await.unwrap();
        assert_eq!(events.last().map(|event| event.seq), Some(events.len() as i64));
        assert!(runs[0].run.jobs_open <= 1);
    });
}

/// Submits ten jobs and works until the queue is empty; returns what it completed.
async fn work(server: &Server, name: &str) -> Vec<JobId> {
    let jobs: Vec<Command> = (0..10).map(|_| submit().into()).collect();
    insist(server, jobs).await;
    let mut done = Vec::new();
    let mut idle = 0;
    while idle < 20 {
        let leases: Vec<Lease> = (0..4).map(|_| lease(&format!("{name}-{}", number()))).collect();
        let jobs = granted(&insist(server, leases.iter().cloned().map(Command::from).collect()).await);
        let held = &leases[..jobs.len()];
        insist(server, held.iter().map(|lease| ack(lease).into()).collect()).await;
        insist(server, held.iter().map(|lease| complete(lease).into()).collect()).await;
        if jobs.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        idle = if jobs.is_empty() { idle + 1 } else { 0 };
        done.extend(jobs);
    }
    done
}

/// Decides again for as long as somebody else was faster.
async fn insist(server: &Server, commands: Vec<Command>) -> Answers {
    for _ in 0..1_000 {
        match server.perform(commands.clone()).await {
            Ok(answers) => return answers,
            Err(StoreError::Conflict(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("never saved")
}

#[test]
fn a_waiting_queue_is_seen_by_the_other_server() {
    with_database(|url| async move {
        let (one, two) = (Server::start(&url).await, Server::start(&url).await);
        one.submit().await;
        assert_eq!(two.store.queues_named(vec![queue().id]).await.unwrap(), [queue()]);
        assert!(two.store.due(Time::from_seconds(0), 10).await.unwrap().is_empty());
    });
}
