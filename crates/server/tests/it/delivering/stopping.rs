//! A server that stops gives its claims back; the next one delivers.

use std::time::{Duration, Instant};

use machines::delivery::State;

use super::rig::{Rig, hasty, until};
use super::sink::Sink;
use crate::stores::{InFile, Place};

#[tokio::test]
async fn a_stop_gives_claims_back_and_the_next_start_delivers() {
    let slow = |_: &str, before| (200, Duration::from_secs(if before == 0 { 30 } else { 0 }));
    let sink = Sink::open(slow).await;
    let place = InFile::new();
    let rig = Rig::start(place.open().await, hasty()).await;
    rig.subscribe("ops", sink.url(), "job.finished", false).await;
    rig.job_ends().await;
    until(async || !sink.seen().is_empty()).await;
    let began = Instant::now();
    let store = place.open().await;
    rig.stop().await;
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    let rig = Rig::start(store, hasty()).await;
    rig.all_are(State::Delivered).await;
    let delivery = rig.deliveries().await.remove(0);
    assert_eq!(delivery.last_error, "the server stopped before the answer came");
    assert_eq!(sink.taken().len(), 1);
    rig.stop().await;
}
