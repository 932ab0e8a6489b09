//! A dead or slow subscriber is nobody else's problem.

use std::time::{Duration, Instant};

use store::Store;
use tokio::net::TcpListener;

use super::rig::{Rig, hasty, until};
use super::sink::Sink;
use crate::stores::{InFile, Place};

const BACKLOG: usize = 5_000;

/// What another subscriber may notice of a dead lane with that many messages.
const MOMENT: Duration = Duration::from_secs(2);

async fn backlog_of<S: Store>(rig: &Rig<S>, messages: usize) {
    rig.run_ends(messages).await;
    let open = async || rig.engine.store().outbox_counts().await.unwrap().open as usize >= messages;
    until(open).await;
}

/// The slowest of several messages to a living subscriber while another one is dead.
async fn slowest(dead: String) -> Duration {
    let sink = Sink::willing().await;
    let place = InFile::new();
    let rig = Rig::start(place.open().await, hasty()).await;
    rig.subscribe("dead", dead, "job.finished", false).await;
    backlog_of(&rig, BACKLOG).await;
    rig.subscribe("live", sink.url(), "run.finished", false).await;
    let mut slowest = Duration::ZERO;
    for count in 1..=10 {
        let began = Instant::now();
        rig.run_ends(0).await;
        until(async || sink.taken().len() >= count).await;
        slowest = slowest.max(began.elapsed());
    }
    rig.stop().await;
    slowest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_refuses_with_a_long_backlog_delays_nobody() {
    let slowest = slowest("http://127.0.0.1:1/".into()).await;
    println!("slowest beside a lane that refuses: {slowest:?}");
    assert!(slowest < MOMENT, "{slowest:?}");
}

/// It accepts and never answers: every try takes its full time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_hangs_with_a_long_backlog_delays_nobody() {
    let hole = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let slowest = slowest(format!("http://{}/", hole.local_addr().unwrap())).await;
    println!("slowest beside a lane that hangs: {slowest:?}");
    assert!(slowest < MOMENT, "{slowest:?}");
}

/// More dead lanes than there are hands for all of them at full strength.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_lanes_that_hang_delay_nobody() {
    let hole = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let sink = Sink::willing().await;
    let place = InFile::new();
    let rig = Rig::start(place.open().await, hasty()).await;
    for number in 0..40 {
        let url = format!("http://{}/{number}", hole.local_addr().unwrap());
        rig.subscribe(&format!("dead-{number:02}"), url, "job.finished", false).await;
    }
    rig.subscribe("live", sink.url(), "run.finished", false).await;
    rig.run_ends(20).await;
    let began = Instant::now();
    until(async || !sink.taken().is_empty()).await;
    println!("beside forty lanes that hang: {:?}", began.elapsed());
    assert!(began.elapsed() < MOMENT, "{:?}", began.elapsed());
    rig.stop().await;
}
