//! The audit log: numbered from 1 in commit order, without a gap, and never skipping a reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use decisions::records::Event;
use store::{LogBounds, Store};
use wire::Time;

use crate::commands::{
    ack, cancel_run, commit, complete, job_id, lease, lease_job, plan_job, run, run_id, submit, tenant,
    webhook,
};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    an_empty_log_has_no_rows,
    events_are_numbered_without_a_gap,
    events_are_read_in_pages,
    events_are_filed_under_their_root,
    an_event_says_who_moved_what_from_where_to_where_when_and_why,
    what_is_not_saved_takes_no_number,
    a_reader_that_goes_on_from_the_last_number_misses_nothing,
]);

async fn events<S: Store>(desk: &Desk<S>) -> Vec<Event> {
    desk.store.events_after(0, usize::MAX).await.unwrap()
}

async fn bounds<S: Store>(desk: &Desk<S>) -> (i64, i64) {
    let LogBounds { rows, last_seq } = desk.store.log_bounds().await.unwrap();
    (rows, last_seq)
}

async fn an_empty_log_has_no_rows<S: Store>(desk: Desk<S>) {
    assert_eq!(bounds(&desk).await, (0, 0));
    assert_eq!(events(&desk).await, []);
    assert_eq!(desk.store.events_after(5, 5).await, Ok(vec![]));
    assert_eq!(desk.store.events_after(-5, 5).await, Ok(vec![]));
}

async fn events_are_numbered_without_a_gap<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all([submit(1), submit(2)]).await;
    desk.must(submit(2)).await; // said twice: nothing moved
    desk.must(run(1, vec![plan_job("a", &[])])).await;
    desk.must(cancel_run(1)).await;
    let events = events(&desk).await;
    let last = events.len() as i64;
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=last).collect::<Vec<_>>());
    assert_eq!(bounds(&desk).await, (last, last));
    assert_eq!((events[0].machine.as_str(), events[0].event.as_str()), ("tenant", "Create"));
}

async fn events_are_read_in_pages<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all((1..=10).map(submit)).await;
    let all = events(&desk).await;
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let after = seen.last().map_or(0, |event| event.seq);
        let page = desk.store.events_after(after, 4).await.unwrap();
        assert!(page.len() <= 4);
        if page.is_empty() {
            break;
        }
        seen.extend(page);
    }
    assert_eq!(seen, all);
    let last = all.len() as i64;
    assert_eq!(desk.store.events_after(last - 1, 4).await.unwrap(), all[all.len() - 1..]);
    assert_eq!(desk.store.events_after(last, 4).await, Ok(vec![]));
    assert_eq!(desk.store.events_after(i64::MAX, 4).await, Ok(vec![]));
    assert_eq!(desk.store.events_after(i64::MIN, 4).await.unwrap(), all[..4]);
}

async fn events_are_filed_under_their_root<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(webhook("ops", &["job.finished"])).await;
    desk.must(run(1, vec![plan_job("a", &[])])).await;
    let lease = lease(1);
    let job = desk.must_grant(lease.clone()).await.job;
    desk.must(ack(&lease)).await;
    desk.must(complete(&lease)).await;
    let delivery = desk.contents().await.deliveries[0].id;
    let machines_of = async |root: String| {
        let events = desk.store.events_of(&root).await.unwrap();
        assert!(events.is_sorted_by_key(|event| event.seq));
        let mut machines: Vec<String> = events.into_iter().map(|event| event.machine).collect();
        machines.sort();
        machines.dedup();
        machines
    };
    assert_eq!(machines_of(tenant().to_string()).await, ["tenant"]);
    assert_eq!(machines_of(run_id(1).to_string()).await, ["run"]);
    assert_eq!(machines_of(job.to_string()).await, ["attempt", "execution", "lease"]);
    assert_eq!(machines_of(delivery.to_string()).await, ["delivery"]);
    assert_eq!(machines_of(format!("{job}/1")).await, [] as [&str; 0], "an attempt is filed under its job");
}

async fn an_event_says_who_moved_what_from_where_to_where_when_and_why<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run(1, vec![plan_job("a", &[])])).await;
    let mut cancel = cancel_run(1);
    cancel.reason = crate::forged::HARD.into();
    desk.must(cancel).await;
    let stored = desk.run(run_id(1)).await;
    let said = desk.store.events_of(&run_id(1).to_string()).await.unwrap();
    let born = &said[0];
    assert_eq!((born.from.as_deref(), born.event.as_str(), born.to.as_str()), (None, "Create", "CREATED"));
    let last = said.last().unwrap();
    let expected = Event {
        seq: last.seq,
        at: stored.updated_at,
        machine: "run".into(),
        entity: run_id(1).to_string(),
        from: Some("QUEUED".into()),
        event: "RequestCancel".into(),
        to: "CANCEL_REQUESTED".into(),
        owner: "Orchestrator".into(),
        cause: crate::forged::HARD.into(),
    };
    assert_eq!(*last, expected);
    assert!(last.at > Time::from_seconds(1_700_000_000));
}

async fn what_is_not_saved_takes_no_number<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let (rows, _) = bounds(&desk).await;
    drop(desk.prepare([submit(2)]).await.unwrap());
    let mut prepared = desk.prepare([submit(3)]).await.unwrap();
    let twice = desk.job(job_id(1)).await.job;
    let mut forged = decisions::Changes::default();
    forged.jobs.insert(twice.id, twice);
    prepared.loaded.book.apply(forged); // an id that is taken
    assert!(desk.finish(prepared).await.is_err());
    assert_eq!(bounds(&desk).await, (rows, rows));
    desk.must(submit(4)).await;
    assert_eq!(bounds(&desk).await, (rows + 2, rows + 2));
}

/// Several writers, and a reader that follows: every number it sees is the one after the last.
async fn a_reader_that_goes_on_from_the_last_number_misses_nothing<S: Store>(desk: Desk<S>) {
    const WRITERS: u128 = 4;
    const EACH: u128 = 15;
    let desk = desk.open().await;
    let running = Arc::new(AtomicUsize::new(WRITERS as usize));
    let mut writers = Vec::new();
    for writer in 1..=WRITERS {
        let (desk, running) = (desk.clone(), running.clone());
        writers.push(tokio::spawn(async move {
            for number in 0..EACH {
                let job = writer * 1_000 + number;
                desk.must(submit(job)).await;
                let mut lease = lease_job(job, job_id(job));
                lease.runner = crate::commands::runner(&format!("r{writer}"));
                desk.must(lease.clone()).await;
                desk.must_all([decisions::Command::from(ack(&lease)), commit(&lease, vec![]).into()]).await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
        }));
    }
    let mut last = 0;
    loop {
        let is_last_look = running.load(Ordering::SeqCst) == 0;
        let page = desk.store.events_after(last, 50).await.unwrap();
        for event in &page {
            assert_eq!(event.seq, last + 1, "a number was skipped");
            last = event.seq;
        }
        if is_last_look && page.is_empty() {
            break;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(bounds(&desk).await, (last, last));
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}
