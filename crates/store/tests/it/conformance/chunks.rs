//! Work on many jobs is brought in chunks, from where the last one ended.

use decisions::jobs::ReleaseDependents;
use decisions::policy::CHUNK;
use decisions::runs::SweepRun;
use decisions::{Answer, Ask};
use store::Store;
use wire::JobId;

use crate::commands::{ack, cancel_run, complete, fan_out, lease, run_id, wide_run};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    a_run_is_swept_chunk_by_chunk_past_jobs_that_stay_open,
    jobs_that_are_over_are_not_swept,
    dependents_are_released_chunk_by_chunk,
    a_full_last_chunk_is_followed_by_an_empty_one,
]);

/// Two full chunks and a part of a third.
const MANY: usize = 2 * CHUNK + 30;

async fn jobs_of<S: Store>(desk: &Desk<S>, number: u128) -> Vec<JobId> {
    let files = desk.store.run_files_after(None, 100).await.unwrap();
    let file = files.into_iter().find(|file| file.run.id == run_id(number)).unwrap();
    file.jobs.iter().map(|job| job.id).collect()
}

async fn lease_and_ack_all<S: Store>(desk: &Desk<S>, count: usize) {
    let leases: Vec<_> = (1..=count as u128).map(lease).collect();
    let answers = desk.must_all(leases.clone()).await;
    assert!(answers.iter().all(|answer| matches!(answer, Answer::Granted(_))));
    desk.must_all(leases.iter().map(ack)).await;
}

async fn a_run_is_swept_chunk_by_chunk_past_jobs_that_stay_open<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(wide_run(1, MANY)).await;
    let jobs = jobs_of(&desk, 1).await;
    lease_and_ack_all(&desk, MANY).await; // at work: they are only asked to stop
    desk.must(cancel_run(1)).await;
    for chunk in jobs.chunks(CHUNK) {
        let book = desk.book(&[Ask::Sweep(run_id(1))]).await;
        assert_eq!(book.sweeps[&run_id(1)], chunk);
        assert!(book.runs.has(&run_id(1)) && chunk.iter().all(|job| book.jobs.has(job)));
        assert_eq!(book.attempts.peek_all().count(), chunk.len());
        assert_eq!(book.executions.peek_all().count(), chunk.len());
        desk.must(SweepRun { run: run_id(1) }).await;
    }
    let run = desk.run(run_id(1)).await;
    assert_eq!((run.sweep, run.swept_to, run.jobs_open), (None, None, MANY as u32));
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn jobs_that_are_over_are_not_swept<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(wide_run(1, 3)).await;
    let lease = lease(1);
    let done = desk.must_grant(lease.clone()).await.job;
    desk.must(ack(&lease)).await;
    desk.must(complete(&lease)).await;
    let open: Vec<JobId> = jobs_of(&desk, 1).await.into_iter().filter(|job| *job != done).collect();
    assert_eq!(desk.book(&[Ask::Sweep(run_id(1))]).await.sweeps[&run_id(1)], open);
    desk.must(cancel_run(1)).await;
    desk.must(SweepRun { run: run_id(1) }).await;
    assert_eq!(desk.run(run_id(1)).await.jobs_open, 0);
    assert_eq!(desk.book(&[Ask::Sweep(run_id(1))]).await.sweeps[&run_id(1)], [] as [JobId; 0]);
}

/// Ends the job that all others need; returns it and the others, in the order of their ids.
async fn end_first<S: Store>(desk: &Desk<S>, width: usize) -> (JobId, Vec<JobId>) {
    desk.must(fan_out(1, width)).await;
    let lease = lease(1);
    let first = desk.must_grant(lease.clone()).await.job;
    desk.must(ack(&lease)).await;
    desk.must(complete(&lease)).await;
    let others = jobs_of(desk, 1).await.into_iter().filter(|job| *job != first).collect();
    (first, others)
}

async fn dependents_are_released_chunk_by_chunk<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let (first, others) = end_first(&desk, MANY).await;
    for chunk in others.chunks(CHUNK) {
        let book = desk.book(&[Ask::Release(first)]).await;
        assert_eq!(book.dependents[&first], chunk);
        assert!(book.jobs.has(&first) && chunk.iter().all(|job| book.jobs.has(job)));
        assert!(book.jobs.peek(&first).unwrap().releasing);
        desk.must(ReleaseDependents { job: first }).await;
    }
    let contents = desk.contents().await;
    assert!(!desk.job(first).await.job.releasing);
    assert_eq!(contents.jobs.iter().map(|file| file.ready.len()).sum::<usize>(), MANY);
    assert_eq!(contents.problems(), [] as [&str; 0]);
}

async fn a_full_last_chunk_is_followed_by_an_empty_one<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let (first, others) = end_first(&desk, CHUNK).await;
    desk.must(ReleaseDependents { job: first }).await;
    let book = desk.book(&[Ask::Release(first)]).await;
    assert_eq!((&book.dependents[&first], book.jobs.peek(&first).unwrap().releasing), (&vec![], true));
    assert_eq!(book.jobs.peek(&first).unwrap().released_to, others.last().copied());
    desk.must(ReleaseDependents { job: first }).await;
    assert!(!desk.job(first).await.job.releasing);

    desk.must(cancel_run(1)).await;
    desk.must(SweepRun { run: run_id(1) }).await;
    assert_eq!(desk.run(run_id(1)).await.jobs_open, 0);
}
