//! Readers and the writer do not wait for each other, and other processes may look and even write.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use decisions::collections::StartCollection;
use decisions::records::Event;
use decisions::{Answer, Ask, Command};
use rusqlite::Connection;
use store::{Sqlite, Store, StoreError};
use tempfile::TempDir;
use wire::{CollectionId, Time};

use crate::commands::{ack, complete, heartbeat, job_id, lease, shared, submit};
use crate::desk::Desk;
use crate::stores::block_on;

async fn at_work() -> (TempDir, PathBuf, Desk<Sqlite>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deltaci.db");
    let desk = Desk::at(Sqlite::open(&path).unwrap()).open().await;
    desk.must(submit(1)).await;
    (folder, path, desk)
}

/// What a command is about to make is not looked for. If it is there, the batch is decided again with everything asked for.
#[test]
fn what_was_taken_for_new_and_is_not_is_a_conflict() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        desk.must(lease(1)).await;
        drop(desk);
        let desk = Desk::at(Sqlite::open(&path).unwrap());
        desk.must(submit(2)).await;
        for (again, key) in [(Command::from(submit(1)), "jobs.id"), (lease(1).into(), "executions.id")] {
            let refused = desk.perform([again]).await;
            assert!(
                matches!(&refused, Err(StoreError::Conflict(what)) if what.ends_with(key)),
                "{refused:?}"
            );
        }
    });
}

/// SQLite keeps its log beside the file, not beside a link to it.
#[test]
fn a_file_behind_a_link_is_as_good_as_any() {
    block_on(async {
        let (folder, path, desk) = at_work().await;
        drop(desk);
        let links = folder.path().join("links");
        std::fs::create_dir(&links).unwrap();
        let (link, dangling) = (links.join("deltaci.db"), links.join("new.db"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        std::os::unix::fs::symlink(folder.path().join("new.db"), &dangling).unwrap();
        for place in [link, dangling] {
            let desk = Desk::at(Sqlite::open(&place).unwrap()).open().await;
            desk.must(submit(2)).await;
            drop(desk);
            let again = Desk::at(Sqlite::open(&place).unwrap());
            assert_eq!(again.job(job_id(2)).await.job.id, job_id(2));
        }
    });
}

/// Whoever moves a database moves the link to it too; a server that is at work stays with what it opened.
#[test]
fn a_link_that_is_led_elsewhere_changes_nothing_for_who_is_at_work() {
    block_on(async {
        let (folder, path, desk) = at_work().await;
        drop(desk);
        let (link, elsewhere) = (folder.path().join("link.db"), folder.path().join("elsewhere.db"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let desk = Desk::at(Sqlite::open(&link).unwrap());
        drop(Sqlite::open(&elsewhere).unwrap());
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        assert_eq!(desk.contents().await.jobs.len(), 1);
    });
}

/// A batch that asks for it is split until whoever asks stands alone.
#[test]
fn a_row_that_cannot_be_read_is_no_trouble_of_the_store() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        desk.must(submit(2)).await;
        let raw = Connection::open(&path).unwrap();
        raw.execute("UPDATE jobs SET retry_on = 'nonsense' WHERE id = ?1", [job_id(1).to_string()]).unwrap();
        let afresh = Desk::at(Sqlite::open(&path).unwrap());
        let refused = afresh
            .store
            .load(&[Ask::Family(job_id(1)), Ask::Family(job_id(2))], Time::from_seconds(0))
            .await
            .map(drop);
        let Err(StoreError::Violation(what)) = refused else { panic!("{refused:?}") };
        assert!(what.contains("cannot be read"), "{what}");
        assert_eq!(afresh.book(&[Ask::Family(job_id(2))]).await.jobs.peek_all().count(), 1);
    });
}

fn reader(path: &Path) -> Connection {
    let raw = Connection::open(path).unwrap();
    raw.execute_batch("PRAGMA query_only = on; BEGIN").unwrap();
    raw
}

fn jobs(raw: &Connection) -> i64 {
    raw.query_row("SELECT count(*) FROM jobs", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_reader_that_takes_its_time_does_not_hold_the_writer_up() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let slow = reader(&path);
        assert_eq!(jobs(&slow), 1);
        for number in 2..=101 {
            desk.must(submit(number)).await;
        }
        assert_eq!(jobs(&slow), 1, "it still sees the moment it began");
        slow.execute_batch("COMMIT").unwrap();
        assert_eq!(jobs(&slow), 101);
        assert_eq!(desk.contents().await.jobs.len(), 101);
    });
}

#[test]
fn a_writer_that_takes_its_time_does_not_hold_readers_up() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let open = desk.prepare([submit(2)]).await.unwrap();
        for _ in 0..20 {
            assert_eq!(desk.contents().await.jobs.len(), 1);
            assert!(desk.store.due(desk.now(), 10).await.unwrap().is_empty());
        }
        assert_eq!(jobs(&reader(&path)), 1);
        desk.finish(open).await.unwrap();
        assert_eq!(desk.contents().await.jobs.len(), 2);
    });
}

#[test]
fn a_second_process_may_look_while_the_first_works() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let looking = Desk::at(Sqlite::open_existing(&path).unwrap());
        for number in 2..=20 {
            desk.must(submit(number)).await;
            assert_eq!(looking.contents().await.jobs.len() as u128, number);
        }
        assert_eq!(looking.store.integrity().await.unwrap(), [] as [&str; 0]);
    });
}

/// The log is packed; a person with a shell for SQLite sees it unpacked.
#[test]
fn the_log_can_be_read_with_sql() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let lease = lease(1);
        desk.must(lease.clone()).await;
        desk.must(ack(&lease)).await;
        desk.must(complete(&lease)).await;
        let sql = "SELECT seq, at, machine, entity, from_state, event, to_state, owner, cause FROM events ORDER BY seq";
        let raw = reader(&path);
        let mut statement = raw.prepare(sql).unwrap();
        let read = |row: &rusqlite::Row<'_>| {
            let at = Time::from_micros(row.get("at")?);
            Ok(Event {
                seq: row.get("seq")?,
                at,
                machine: row.get("machine")?,
                entity: row.get("entity")?,
                from: row.get("from_state")?,
                event: row.get("event")?,
                to: row.get("to_state")?,
                owner: row.get("owner")?,
                cause: row.get("cause")?,
            })
        };
        let seen: Vec<Event> = statement.query_map([], read).unwrap().map(Result::unwrap).collect();
        assert_eq!(seen, desk.store.events_after(0, 1_000).await.unwrap());
        let of_runner = seen.iter().filter(|event| event.owner == "Runner");
        assert!(of_runner.count() > 0, "an owner that is stored and one that is not: {seen:?}");
    });
}

/// Whatever is remembered, the file is the truth: what was decided on a memory that another process overtook is a
/// conflict, whether it writes or only looks, and the second try sees what is there.
#[test]
fn what_another_process_wrote_is_not_overlooked() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let lease = lease(1);
        desk.must(lease.clone()).await;
        desk.must(ack(&lease)).await;
        let raw = Connection::open(&path).unwrap();
        raw.execute_batch("UPDATE jobs SET tokens = 7; UPDATE attempts SET explanation = 'seen'").unwrap();
        let late = desk.perform([heartbeat(&lease)]).await;
        assert!(matches!(late, Err(StoreError::Conflict(_))), "{late:?}");
        let book = desk.book(&[Ask::Family(job_id(1))]).await;
        assert_eq!(book.jobs.peek(&job_id(1)).unwrap().tokens, 7);
        assert_eq!(book.attempts.peek_all().next().unwrap().explanation, "seen");
        raw.execute_batch("UPDATE jobs SET tokens = 1; UPDATE runners SET acks_missed = 2").unwrap();
        let looked = desk.load(&[Ask::Family(job_id(1))]).await;
        let unchanged = desk.store.save(looked.session, looked.book).await;
        assert!(matches!(unchanged, Err(StoreError::Conflict(_))), "{unchanged:?}");
        desk.must(heartbeat(&lease)).await;
        let book = desk.book(&[Ask::Family(job_id(1)), Ask::Runner(shared(lease.runner.as_str()))]).await;
        assert_eq!(book.jobs.peek(&job_id(1)).unwrap().tokens, 1);
        assert_eq!(book.runners.peek_all().next().unwrap().acks_missed, 2);
    });
}

/// When a book is refused, those that share its commit are written once more without it. Another process may come in between.
#[test]
fn what_another_process_writes_between_two_tries_is_not_overlooked() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        for round in 1..=50 {
            desk.must(submit(10 * round)).await;
            let held = Connection::open(&path).unwrap();
            held.execute_batch("BEGIN IMMEDIATE").unwrap();
            let mut saves = Vec::new();
            // The writer has the first in its hands and waits; the others share a commit behind it.
            for number in 1..=3 {
                let mut prepared = desk.prepare([submit(10 * round + number)]).await.unwrap();
                if number == 3 {
                    prepared.loaded.book.apply(an_orphan());
                }
                saves.push(tokio::spawn(finished(desk.clone(), prepared)));
            }
            let (open, begin) = (Connection::open(&path).unwrap(), Arc::new(Barrier::new(2)));
            let other = std::thread::spawn({
                let begin = begin.clone();
                move || overtake(&open, &begin, &format!("UPDATE jobs SET tokens = {round}"))
            });
            begin.wait();
            held.execute_batch("ROLLBACK").unwrap();
            for save in saves {
                let _ = save.await.unwrap(); // who was first is not ours to say
            }
            other.join().unwrap();
            let _ = desk.perform([submit(10 * round + 4)]).await; // a conflict, if it came after both tries
            let book = desk.book(&[Ask::Family(job_id(10 * round))]).await;
            assert_eq!(u128::from(book.jobs.peek(&job_id(10 * round)).unwrap().tokens), round);
        }
    });
}

/// Writes as soon as the writer lets go of the file for the second time.
fn overtake(raw: &Connection, begin: &Barrier, sql: &str) {
    raw.busy_timeout(Duration::ZERO).unwrap();
    let mut begin_to_write = raw.prepare("BEGIN IMMEDIATE").unwrap();
    begin.wait();
    let (mut was_free, mut taken) = (false, 0);
    for _ in 0..TRIES_MAX {
        if begin_to_write.execute([]).is_err() {
            taken += u32::from(was_free); // before it was free, it was held for the test's sake
            was_free = false;
            continue;
        }
        if taken == 2 {
            return raw.execute_batch(&format!("{sql}; COMMIT")).unwrap();
        }
        raw.execute_batch("ROLLBACK").unwrap();
        std::thread::sleep(Duration::from_micros(20)); // in which the writer may begin
        was_free = true;
    }
    raw.busy_timeout(Duration::from_secs(5)).unwrap();
    raw.execute_batch(sql).unwrap(); // late is an order, too
}

const TRIES_MAX: usize = 1_000;

/// A record that no database takes.
fn an_orphan() -> decisions::Changes {
    let mut forged = decisions::Changes::default();
    let orphan = crate::forged::bare_run(9, wire::TenantId::from_u128(404));
    forged.runs.insert(orphan.id, orphan);
    forged
}

/// Each batch is decided on what the one before it leaves, long before that is on disk.
#[test]
fn batches_follow_each_other_without_waiting_for_the_disk() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let held = Connection::open(&path).unwrap();
        held.execute_batch("BEGIN IMMEDIATE").unwrap(); // the writer waits; nothing can become durable
        let lease = lease(1);
        let granting = desk.prepare([lease.clone()]).await.unwrap();
        let granting = tokio::spawn(finished(desk.clone(), granting));
        let (mut keyed, mut again) = (submit(2), submit(3));
        (keyed.key, again.key) = (Some("mine".into()), Some("mine".into()));
        let acking = desk.prepare([decisions::Command::from(ack(&lease)), keyed.into()]).await.unwrap();
        assert!(acking.answers.iter().all(Result::is_ok), "{:?}", acking.answers);
        let acking = tokio::spawn(finished(desk.clone(), acking));
        let other = crate::commands::lease(2);
        let third = desk.prepare([decisions::Command::from(again), other.into()]).await.unwrap();
        assert!(matches!(third.answers[0], Ok(Answer::JobSubmitted { existing: true, .. })));
        let Ok(Answer::Granted(grant)) = &third.answers[1] else { panic!("{:?}", third.answers) };
        assert_eq!(grant.job, job_id(2), "the first job is leased, the second is there");
        let third = tokio::spawn(finished(desk.clone(), third));
        assert!(!granting.is_finished() && !acking.is_finished() && !third.is_finished());
        held.execute_batch("ROLLBACK").unwrap();
        for task in [granting, acking, third] {
            task.await.unwrap().unwrap();
        }
        let contents = desk.contents().await;
        assert_eq!((contents.jobs.len(), contents.problems()), (2, vec![]));
    });
}

/// Every upload asks for the collector: with one among them, the other commands of a batch would wait for the disk.
#[test]
fn the_collector_is_seen_on_its_way() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let (id, other) = (CollectionId::from_u128(1), CollectionId::from_u128(2));
        let held = Connection::open(&path).unwrap();
        held.execute_batch("BEGIN IMMEDIATE").unwrap(); // nothing can become durable
        let starting = desk.prepare([StartCollection { id, holder: 7 }]).await.unwrap();
        let starting = tokio::spawn(finished(desk.clone(), starting));
        let again = desk.prepare([StartCollection { id: other, holder: 8 }]).await.unwrap();
        let [Ok(Answer::CollectionIs { collection, existing: true })] = &again.answers[..] else {
            panic!("{:?}", again.answers)
        };
        assert_eq!((collection.id, collection.epoch), (id, 1));
        assert!(!starting.is_finished());
        let again = tokio::spawn(finished(desk.clone(), again));
        held.execute_batch("ROLLBACK").unwrap();
        starting.await.unwrap().unwrap();
        again.await.unwrap().unwrap();
        assert_eq!(desk.store.collector().await.unwrap().running, Some(id));
    });
}

/// What rests on a batch that was not written was never true.
#[test]
fn a_batch_on_top_of_one_that_failed_is_a_conflict() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let held = Connection::open(&path).unwrap();
        held.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut refused = desk.prepare([lease(1)]).await.unwrap();
        refused.loaded.book.apply(an_orphan());
        let refused = tokio::spawn(finished(desk.clone(), refused));
        let acking = desk.prepare([ack(&lease(1))]).await.unwrap();
        assert!(acking.answers[0].is_ok(), "as far as it can see");
        let acking = tokio::spawn(finished(desk.clone(), acking));
        let looking = desk.prepare([lease(2)]).await.unwrap();
        assert_eq!(looking.answers, [Ok(Answer::NoWork { barred_until: None })]);
        let looking = tokio::spawn(finished(desk.clone(), looking));
        held.execute_batch("ROLLBACK").unwrap();
        assert!(matches!(refused.await.unwrap(), Err(StoreError::Violation(_))));
        assert!(matches!(acking.await.unwrap(), Err(StoreError::Conflict(_))));
        assert!(matches!(looking.await.unwrap(), Err(StoreError::Conflict(_))), "an answer of nothing, too");
        desk.must_grant(lease(3)).await;
        assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
    });
}

/// Books that wait share a commit. One of them that cannot be written takes those behind it along, and none before it.
#[test]
fn a_batch_that_fails_leaves_what_shared_its_commit_before_it() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let held = Connection::open(&path).unwrap();
        held.execute_batch("BEGIN IMMEDIATE").unwrap();
        // The writer has the first in its hands and waits; the others are in line behind it.
        let mut saves = Vec::new();
        for number in 2..=4 {
            let mut prepared = desk.prepare([submit(number)]).await.unwrap();
            if number == 3 {
                prepared.loaded.book.apply(an_orphan());
            }
            saves.push(tokio::spawn(finished(desk.clone(), prepared)));
        }
        held.execute_batch("ROLLBACK").unwrap();
        let mut results = Vec::new();
        for save in saves {
            results.push(save.await.unwrap());
        }
        assert_eq!(results[0], Ok(()));
        assert!(matches!(results[1], Err(StoreError::Violation(_))), "{results:?}");
        assert!(matches!(results[2], Err(StoreError::Conflict(_))), "{results:?}");
        let contents = desk.contents().await;
        assert_eq!(contents.jobs.iter().map(|file| file.job.id).collect::<Vec<_>>(), [job_id(1), job_id(2)]);
        assert_eq!(contents.problems(), [] as [&str; 0]);
        desk.must(submit(4)).await;
    });
}

async fn finished(desk: Desk<Sqlite>, prepared: crate::desk::Prepared<Sqlite>) -> Result<(), StoreError> {
    desk.finish(prepared).await.map(drop)
}

/// What is loaded after a save is what a new process would load.
#[test]
fn what_the_writer_remembers_is_what_the_file_says() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let mut fine = submit(2);
        fine.timeout_seconds = Some(1.0 / 3.0);
        desk.must(fine).await;
        let leases = [lease(1), lease(2)];
        desk.must_all(leases.clone()).await;
        desk.must_all(leases.iter().map(ack)).await;
        desk.must(heartbeat(&leases[0])).await;
        desk.must(complete(&leases[1])).await;
        let afresh = Desk::at(Sqlite::open(&path).unwrap());
        for number in [1, 2] {
            let asks = [Ask::Family(job_id(number)), Ask::Spec(job_id(number))];
            let (remembered, read) = (desk.book(&asks).await, afresh.book(&asks).await);
            assert_eq!(remembered.jobs.peek(&job_id(number)), read.jobs.peek(&job_id(number)));
            assert!(remembered.attempts.peek_all().eq(read.attempts.peek_all()));
            assert!(remembered.executions.peek_all().eq(read.executions.peek_all()));
            assert_eq!(remembered.specs, read.specs);
        }
    });
}

/// A save that was refused or dropped leaves nothing behind in what the writer remembers.
#[test]
fn what_was_not_saved_is_not_remembered() {
    block_on(async {
        let (_folder, _path, desk) = at_work().await;
        drop(desk.prepare([lease(1)]).await.unwrap());
        let mut refused = desk.prepare([lease(2)]).await.unwrap();
        refused.loaded.book.apply(an_orphan());
        assert!(desk.finish(refused).await.is_err());
        let book = desk.book(&[Ask::Family(job_id(1))]).await;
        assert_eq!(book.jobs.peek(&job_id(1)).unwrap(), &desk.job(job_id(1)).await.job);
        assert_eq!(book.executions.peek_all().count(), 0);
        desk.must_grant(lease(3)).await;
        assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
    });
}

#[test]
fn the_engine_says_what_is_wrong_with_its_rows() {
    block_on(async {
        let (_folder, path, desk) = at_work().await;
        let raw = Connection::open(&path).unwrap();
        raw.execute_batch("PRAGMA foreign_keys = off; DELETE FROM ready; DELETE FROM tenants").unwrap();
        let problems = desk.store.integrity().await.unwrap();
        assert!(problems.iter().any(|problem| problem.contains("0 entries for 1 queued")), "{problems:?}");
        assert!(problems.iter().any(|problem| problem.contains("refers to tenants")), "{problems:?}");
    });
}
