//! What a message says of itself, how often it is tried, and when it is given up.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use decisions::Policy;
use decisions::deliveries::RedriveDelivery;
use decisions::tenants::RemoveWebhook;
use hmac::{Hmac, KeyInit, Mac};
use machines::delivery::State;

use super::rig::{Rig, hasty, until};
use super::sink::{Seen, Sink};
use crate::stores::{InFile, InMemory, Place};

/// As a subscriber does it, with nothing of ours.
fn is_signed(seen: &Seen, key: &str) -> bool {
    let text = |name: &str| seen.headers[name].to_str().unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&STANDARD.decode(key).unwrap()).unwrap();
    mac.update(format!("{}.{}.", text("webhook-id"), text("webhook-timestamp")).as_bytes());
    mac.update(&seen.body);
    text("webhook-signature") == format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn a_message_is_signed_and_keeps_its_id() {
    let sink = Sink::open(|_, before| (if before == 0 { 500 } else { 204 }, Duration::ZERO)).await;
    let place = InFile::new();
    let rig = Rig::start(place.open().await, hasty()).await;
    rig.subscribe("ops", sink.url(), "job.finished", false).await;
    let job = rig.job_ends().await;
    rig.all_are(State::Delivered).await;
    let seen = sink.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].id, seen[1].id);
    assert!(seen[0].id.starts_with("msg_"));
    for seen in &seen {
        assert!(is_signed(seen, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), "{:?}", seen.headers);
        assert_eq!(
            (seen.json()["type"].as_str(), &seen.json()["job_id"]),
            (Some("job.finished"), &job.to_string().into())
        );
        assert_eq!(seen.headers["content-type"], "application/json");
    }
    let delivery = rig.deliveries().await.remove(0);
    assert_eq!((delivery.tries, delivery.last_error.as_str()), (2, "answered 500"));
    rig.stop().await;
}

#[tokio::test]
async fn a_message_is_given_up_after_eight_tries_and_may_be_redriven() {
    let sink = Sink::open(|_, before| (if before < 8 { 503 } else { 200 }, Duration::ZERO)).await;
    let place = InFile::new();
    let rig = Rig::start(place.open().await, hasty()).await;
    rig.subscribe("ops", sink.url(), "run.finished", false).await;
    let run = rig.run_ends(0).await;
    rig.all_are(State::DeadLetter).await;
    let seen = sink.seen();
    assert_eq!(seen.len(), 8);
    let pauses: Vec<Duration> = seen.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    for (index, pause) in pauses.iter().enumerate() {
        // Doubling from ten milliseconds; jitter takes up to half.
        assert!(*pause >= Duration::from_millis(5 << index), "pause {index} was {pause:?}");
    }
    let stored = rig.engine.store();
    use store::Store;
    let reported = stored.run(run).await.unwrap().unwrap();
    assert_eq!(reported.state.get(), machines::run::State::Reported, "nobody waits for the dead");
    let metrics = async || rig.engine.metrics().text();
    until(async || metrics().await.contains("deltaci_outbox_dead_letters 1")).await;
    let text = metrics().await;
    assert!(text.contains(r#"deltaci_outbox_deliveries_total{result="failed"} 8"#), "{text}");
    let dead = rig.deliveries().await.remove(0);
    rig.must(RedriveDelivery { delivery: dead.id }).await;
    rig.all_are(State::Delivered).await;
    assert_eq!(sink.taken().len(), 1);
    until(async || metrics().await.contains("deltaci_outbox_dead_letters 0")).await;
    rig.stop().await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let sink = Sink::open(|_, _| (302, Duration::ZERO)).await;
    let policy = Policy { delivery_tries_max: 2, ..hasty() };
    let rig = Rig::start(InMemory::default().open().await, policy).await;
    rig.subscribe("ops", sink.url(), "job.finished", false).await;
    rig.job_ends().await;
    rig.all_are(State::DeadLetter).await;
    let error = rig.deliveries().await.remove(0).last_error;
    assert_eq!(error, "answered 302, and redirects are not followed");
    assert_eq!(sink.seen().len(), 2, "the address itself, and nothing else");
    rig.stop().await;
}

/// The subscriber takes longer than a claim lasts: another try is made, and the first one's word comes too late.
#[tokio::test]
async fn a_claim_that_runs_out_is_tried_again() {
    let slow = |_: &str, before| (200, Duration::from_millis(if before == 0 { 1_500 } else { 0 }));
    let sink = Sink::open(slow).await;
    let policy = Policy { delivery_claim_ttl: Duration::from_millis(200), ..hasty() };
    let place = InFile::new();
    let rig = Rig::start(place.open().await, policy).await;
    rig.subscribe("ops", sink.url(), "job.finished", false).await;
    rig.job_ends().await;
    until(async || sink.seen().len() == 2).await;
    rig.all_are(State::Delivered).await;
    let delivery = rig.deliveries().await.remove(0);
    assert_eq!((delivery.tries, delivery.claims), (2, 2));
    assert_eq!(delivery.last_error, "the worker did not report back in time");
    tokio::time::sleep(Duration::from_millis(1_500)).await; // the first one's word
    assert_eq!(rig.deliveries().await.remove(0), delivery);
    rig.stop().await;
}

#[tokio::test]
async fn what_is_left_of_a_removed_subscription_becomes_a_dead_letter() {
    let sink = Sink::open(|_, _| (500, Duration::ZERO)).await;
    let rig = Rig::start(InMemory::default().open().await, hasty()).await;
    rig.subscribe("ops", sink.url(), "job.finished", false).await;
    rig.job_ends().await;
    until(async || !sink.seen().is_empty()).await;
    rig.must(RemoveWebhook { tenant: rig.tenant, name: "ops".into() }).await;
    rig.all_are(State::DeadLetter).await;
    assert_eq!(rig.deliveries().await.remove(0).last_error, "the subscription was removed");
    assert!(sink.seen().len() < 8);
    rig.stop().await;
}
