//! Logs that are archived: they read as before, from anywhere, also for those who were reading when it happened.

use std::sync::Arc;
use std::time::Duration;

use decisions::Policy;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use server::artifacts::archive::{Archive, Round};
use store::blobs::Blobs;
use store::{Memory, Store};

use crate::api::logs::{Event, follow};
use crate::api::site::{PATIENCE, Site, Tenant, bearer, on_each_store};

on_each_store!(an_archived_log_reads_as_before, what_a_reader_has_begun_goes_on_elsewhere);

/// What a server does by itself, now.
pub async fn archive<S: Store>(site: &Site<S>) {
    let blobs = Blobs::open(site.bytes.path().to_str().expect("a text")).await.expect("the site's own");
    let engine = site.server.engine().clone();
    let archive = Archive { engine, blobs, interval: Duration::from_millis(1), after: Duration::ZERO };
    assert_eq!(archive.round(None).await, Ok(Round { next: None, failed: false }));
    let logs = site.store.log_files_after(None, 100).await.expect("the store answers");
    assert!(logs.iter().all(|file| file.live || (file.log.blob.is_some() && file.chunked == 0)), "{logs:?}");
}

async fn followed<S: Store>(site: &Site<S>, tenant: &Tenant, job: &str, after: Option<&str>) -> Vec<Event> {
    let mut events = follow(site, tenant, job, after).await;
    let mut all = Vec::new();
    while all.last().is_none_or(|last: &Event| last.name != "end") {
        all.push(events.next().await);
    }
    all
}

/// What its `log` events say together; they follow each other.
fn text_of(events: &[Event]) -> String {
    let logs = events.iter().filter(|event| event.name == "log");
    let mut text = String::new();
    for event in logs {
        assert_eq!(event.data["offset"], text.len(), "{:?}", event.name);
        text.push_str(event.data["text"].as_str().expect("a text"));
    }
    text
}

/// In parts and pages that end in the middle of a character.
async fn an_archived_log_reads_as_before<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let path = format!("{}/jobs/{job}", acme.path);
    let text = "€".repeat(240 * 1024);
    let mut live = follow(&site, &acme, &job, None).await;
    let (mut offset, mut seen) = (0, vec![live.next().await]);
    for part in text.as_bytes().chunks(80 * 1024) {
        site.append(&acme, &lease, offset, part).await.expect(200);
        offset += part.len() as u64;
    }
    while text_of(&seen).len() < text.len() {
        seen.push(live.next().await);
    }
    assert!(text_of(&seen) == text, "as it grows");
    archive(&site).await; // passes by what runs
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    assert!(text_of(&followed(&site, &acme, &job, None).await) == text, "when it is over");
    let shown = site.get(&acme.tenant, &path).await.expect(200);
    archive(&site).await;
    assert!(text_of(&followed(&site, &acme, &job, None).await) == text, "and archived");
    let log = site.get(&acme.tenant, &format!("{path}/log")).await;
    assert_eq!((log.kind(), log.header("x-content-type-options")), ("text/plain", "nosniff"));
    assert!(log.text() == text, "the log is what was sent");
    assert_eq!(site.get(&acme.tenant, &path).await.expect(200), shown);
    let late = site.append(&acme, &lease, offset, b"late").await.expect(409);
    assert_eq!(late["reason"], "LEASE_COMPLETED");
}

/// Through a pipe that holds little, so that the server is not done before the reader is.
async fn what_a_reader_has_begun_goes_on_elsewhere<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let part: Vec<u8> = (0..=255u8).cycle().take(256 * 1024).collect();
    let mut sent = Vec::new();
    for index in 0..16u8 {
        let part: Vec<u8> = part.iter().map(|byte| byte.wrapping_add(index)).collect();
        site.append(&acme, &lease, sent.len() as u64, &part).await.expect(200);
        sent.extend(part);
    }
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(site.server.door().connect())).await.expect("somebody is behind it");
    tokio::spawn(connection);
    let request = Request::get(format!("{}/jobs/{job}/log", acme.path)).header("host", "inside");
    let request = request.header("authorization", bearer(&acme.tenant)).body(Empty::<Bytes>::new());
    let mut body = sender.send_request(request.expect("a request")).await.expect("an answer").into_body();
    let (mut read, mut moved) = (Vec::new(), false);
    while let Some(frame) = tokio::time::timeout(PATIENCE, body.frame()).await.expect("something comes") {
        read.extend(frame.expect("the stream holds").into_data().unwrap_or_default());
        if !std::mem::replace(&mut moved, true) {
            archive(&site).await;
        }
    }
    assert!(read == sent, "{} of {} bytes, or others", read.len(), sent.len());
}

/// Parts that reach over the bounds, cut out of the middle, read from every place.
#[tokio::test]
async fn what_is_left_out_is_marked_as_before() {
    let policy = Policy { log_head_bytes_max: 8, log_tail_bytes_max: 8, ..Policy::default() };
    let site: Site<Memory> = Site::open(Arc::default(), policy, None).await;
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    for index in 0..9 {
        site.append(&acme, &lease, index * 5, format!("l{index:03}\n").as_bytes()).await.expect(200);
    }
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    let path = format!("{}/jobs/{job}/log", acme.path);
    let mut before = vec![followed(&site, &acme, &job, None).await];
    let text = site.get(&acme.tenant, &path).await.text();
    assert_eq!(text, "l000\nl00\n[delta-ci: 27 bytes left out here]\nl007\nl008\n");
    for offset in 1..50 {
        before.push(followed(&site, &acme, &job, Some(&format!("0-{offset}"))).await);
    }
    archive(&site).await;
    assert_eq!(site.get(&acme.tenant, &path).await.text(), text);
    assert_eq!(followed(&site, &acme, &job, None).await, before[0]);
    for (offset, before) in before.iter().enumerate().skip(1) {
        assert_eq!(followed(&site, &acme, &job, Some(&format!("0-{offset}"))).await, *before, "{offset}");
    }
}
