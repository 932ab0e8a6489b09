//! Ordered lanes: one message after the other, in the order of what happened, whoever delivers.

use std::time::Duration;

use machines::delivery::State;
use store::Store;

use super::rig::{Rig, hasty, until};
use super::sink::Sink;
use crate::stores::{InDatabase, InFile, InMemory, Place};

const JOBS: usize = 24;

/// Every third message fails at first; every other one is slow.
async fn moody() -> Sink {
    Sink::open(|id, before| {
        let mood = id.bytes().map(usize::from).sum::<usize>();
        let status = if mood.is_multiple_of(3) && before == 0 { 503 } else { 200 };
        (status, Duration::from_millis(if mood.is_multiple_of(2) { 15 } else { 0 }))
    })
    .await
}

async fn jobs_end<S: Store>(rig: &Rig<S>) -> Vec<String> {
    let mut jobs = Vec::new();
    for _ in 0..JOBS {
        jobs.push(rig.job_ends().await.to_string());
    }
    jobs
}

fn taken(sink: &Sink) -> Vec<String> {
    sink.taken().iter().map(|seen| seen.json()["job_id"].as_str().unwrap().to_owned()).collect()
}

async fn in_order(place: impl Place) {
    let sink = moody().await;
    let rig = Rig::start(place.open().await, hasty()).await;
    rig.subscribe("ops", sink.url(), "job.finished", true).await;
    let jobs = jobs_end(&rig).await;
    rig.all_are(State::Delivered).await;
    assert_eq!(taken(&sink), jobs);
    assert_eq!(sink.most_at_once(), 1);
    assert!(sink.seen().len() > JOBS, "some failed at first");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordered_subscriber_is_told_in_order_from_memory() {
    in_order(InMemory::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordered_subscriber_is_told_in_order_from_a_file() {
    in_order(InFile::new()).await;
}

/// Both see the same lane; events come from both, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_keep_the_order_of_one_database() {
    let (sink, place) = (moody().await, InDatabase::new());
    let a = Rig::start(place.open().await, hasty()).await;
    let b = Rig::start(place.open().await, hasty()).await;
    a.subscribe("ops", sink.url(), "job.finished", true).await;
    let mut jobs = Vec::new();
    for number in 0..JOBS {
        let rig = if number % 2 == 0 { &a } else { &b };
        jobs.push(rig.job_ends().await.to_string());
    }
    a.all_are(State::Delivered).await;
    assert_eq!(taken(&sink), jobs);
    assert_eq!(sink.most_at_once(), 1);
    tokio::join!(a.stop(), b.stop());
}

/// Without order several go at once, and a message that fails holds up nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_order_several_go_at_once() {
    let sink = Sink::open(|_, _| (200, Duration::from_millis(40))).await;
    let place = InFile::new();
    let rig = Rig::start(place.open().await, hasty()).await;
    rig.subscribe("ops", sink.url(), "job.finished", false).await;
    rig.run_ends(40).await;
    until(async || sink.taken().len() == 40).await;
    assert!((2..=4).contains(&sink.most_at_once()), "{}", sink.most_at_once());
    rig.stop().await;
}
