//! Logs: appended where they go on, read whole, followed, resumed.

use std::sync::Arc;
use std::time::Duration;

use decisions::Policy;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use store::{Memory, Store};

use crate::api::site::{PATIENCE, Site, Tenant, bearer, on_each_store, open};

on_each_store!(
    bytes_are_appended_where_the_log_goes_on,
    a_log_is_read_as_text_with_its_size_shown,
    a_follower_sees_the_log_grow_and_the_job_end,
    a_follower_goes_on_where_it_left_off,
    a_character_is_not_cut_between_two_events,
);

async fn bytes_are_appended_where_the_log_goes_on<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (_, lease) = site.active_job(&acme).await;
    assert_eq!(site.append(&acme, &lease, 0, b"hello ").await.expect(200), json!({"offset": 6}));
    for wrong in [0, 5, 7, 1_000] {
        let problem = site.append(&acme, &lease, wrong, b"hello ").await.refused(416, "log_offset");
        assert_eq!(problem["offset"], 6);
    }
    assert_eq!(site.append(&acme, &lease, 0, b"").await.expect(200), json!({"offset": 6}));
    assert_eq!(site.append(&acme, &lease, 6, b"world\n").await.expect(200), json!({"offset": 12}));
    let auth = bearer(&acme.runner);
    for (headers, status, code) in [
        (vec![("delta-offset", "0")], 400, "missing_header"),
        (vec![("delta-lease", lease.as_str())], 400, "missing_header"),
        (vec![("delta-lease", lease.as_str()), ("delta-offset", "-1")], 422, "invalid_input"),
        (vec![("delta-lease", lease.as_str()), ("delta-offset", "x")], 422, "invalid_input"),
        (
            vec![("delta-lease", lease.as_str()), ("delta-offset", "18446744073709551615")],
            422,
            "invalid_input",
        ),
    ] {
        let headers = [headers, vec![("authorization", auth.as_str())]].concat();
        site.send("POST", "/v1/runner/logs", &headers, "x".into()).await.refused(status, code);
    }
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    let late = site.append(&acme, &lease, 12, b"late").await.expect(409);
    assert_eq!(late["reason"], "LEASE_COMPLETED");
}

async fn a_log_is_read_as_text_with_its_size_shown<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let path = format!("{}/jobs/{job}", acme.path);
    assert_eq!(site.get(&acme.tenant, &format!("{path}/log")).await.text(), "");
    let chunk = "0123456789abcdef".repeat(4 * 1024); // 64 KiB
    for index in 0..5 {
        site.append(&acme, &lease, index * chunk.len() as u64, chunk.as_bytes()).await.expect(200);
    }
    let log = site.get(&acme.tenant, &format!("{path}/log")).await;
    assert_eq!((log.kind(), log.header("x-content-type-options")), ("text/plain", "nosniff"));
    assert!(log.text() == chunk.repeat(5), "the log is what was sent");
    let shown = site.get(&acme.tenant, &path).await.expect(200);
    let info = &shown["attempts"][0]["executions"][0]["log"];
    assert_eq!(*info, json!({"bytes": 5 * chunk.len(), "truncated": false}));
    site.get(&acme.tenant, &format!("{path}/log?follow=yes")).await.refused(422, "invalid_input");
}

async fn a_follower_sees_the_log_grow_and_the_job_end<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    site.append(&acme, &lease, 0, b"one\n").await.expect(200);
    let mut events = follow(&site, &acme, &job, None).await;
    let first = events.next().await;
    assert_eq!((first.name.as_str(), &first.data["attempt"]), ("execution", &json!(1)));
    let exec_id = first.data["exec_id"].clone();
    let one = events.next().await;
    assert_eq!(one.name, "log");
    assert_eq!(one.data, json!({"exec_id": exec_id, "offset": 0, "text": "one\n"}));
    site.append(&acme, &lease, 4, b"two\n").await.expect(200);
    assert_eq!(events.next().await.data, json!({"exec_id": exec_id, "offset": 4, "text": "two\n"}));
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    let end = events.next().await;
    assert_eq!((end.name.as_str(), end.data), ("end", json!({"state": "SUCCEEDED"})));
    assert!(events.ended().await, "nothing comes after the end");
}

async fn a_follower_goes_on_where_it_left_off<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    site.append(&acme, &lease, 0, b"one\n").await.expect(200);
    let mut events = follow(&site, &acme, &job, None).await;
    events.next().await;
    let seen = events.next().await;
    drop(events);
    site.append(&acme, &lease, 4, b"two\n").await.expect(200);
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    let mut events = follow(&site, &acme, &job, Some(&seen.id)).await;
    let next = events.next().await;
    assert_eq!((&next.data["offset"], &next.data["text"]), (&json!(4), &json!("two\n")));
    assert_eq!(events.next().await.name, "end");
    let mut all = follow(&site, &acme, &job, None).await;
    assert_eq!(all.next().await.name, "execution");
    assert_eq!(all.next().await.data["text"], "one\ntwo\n");
    let path = format!("{}/jobs/{job}/log?follow=1", acme.path);
    let headers = [("authorization", &*bearer(&acme.tenant)), ("last-event-id", "nonsense")];
    site.send("GET", &path, &headers, Default::default()).await.refused(422, "invalid_input");
}

async fn a_character_is_not_cut_between_two_events<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let mut events = follow(&site, &acme, &job, None).await;
    events.next().await;
    let text = "a€".as_bytes();
    site.append(&acme, &lease, 0, &text[..2]).await.expect(200);
    assert_eq!(events.next().await.data["text"], "a");
    site.append(&acme, &lease, 2, &text[2..]).await.expect(200);
    let euro = events.next().await;
    assert_eq!((&euro.data["offset"], &euro.data["text"]), (&json!(1), &json!("€")));
    site.append(&acme, &lease, 4, &text[1..2]).await.expect(200);
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    assert_eq!(events.next().await.data["text"], "\u{fffd}", "what is cut off for good is shown");
    assert_eq!(events.next().await.name, "end");
}

#[tokio::test]
async fn what_is_left_out_is_marked_where_it_is_missing() {
    let policy = Policy { log_head_bytes_max: 8, log_tail_bytes_max: 8, ..Policy::default() };
    let site: Site<Memory> = Site::open(Arc::default(), policy, None).await;
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    for index in 0..10 {
        let kept =
            site.append(&acme, &lease, index * 4, format!("l{index:02}\n").as_bytes()).await.expect(200);
        assert_eq!(kept.get("truncated"), (index >= 4).then_some(&json!(true)), "{kept}");
    }
    let log = site.get(&acme.tenant, &format!("{}/jobs/{job}/log", acme.path)).await.text();
    assert_eq!(log, "l00\nl01\n[delta-ci: 24 bytes left out here]\nl08\nl09\n");
    let mut events = follow(&site, &acme, &job, None).await;
    events.next().await;
    assert_eq!(events.next().await.data["text"], "l00\nl01\n");
    let gap = events.next().await;
    assert_eq!((gap.name.as_str(), &gap.data["offset"], &gap.data["bytes"]), ("gap", &json!(8), &json!(24)));
    assert_eq!(events.next().await.data["text"], "l08\nl09\n");
    let mut resumed = follow(&site, &acme, &job, Some(&gap.id)).await;
    assert_eq!(resumed.next().await.data["text"], "l08\nl09\n");
    let mut behind = follow(&site, &acme, &job, Some("0-4")).await;
    assert_eq!(behind.next().await.data["text"], "l01\n");
    assert_eq!(behind.next().await.name, "gap");
}

#[tokio::test]
async fn a_lost_lease_and_the_next_execution_are_marked() {
    let policy = Policy { lease_ttl: Duration::from_millis(200), ..Policy::default() };
    let site: Site<Memory> = Site::open(Arc::default(), policy, None).await;
    let acme = site.tenant("acme").await;
    let (job, first) = site.active_job(&acme).await;
    site.append(&acme, &first, 0, b"no newline").await.expect(200);
    let mut events = follow(&site, &acme, &job, None).await;
    let second = site.lease(&acme).await; // comes when the first has run out
    site.ack(&acme, &job, &second).await.expect(200);
    site.append(&acme, &second, 0, b"again\n").await.expect(200);
    let log = site.get(&acme.tenant, &format!("{}/jobs/{job}/log", acme.path)).await.text();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!((lines[0], lines[3]), ("no newline", "again"), "{log}");
    assert!(lines[1].starts_with("[delta-ci: the lease of exec_") && lines[1].contains("EXPIRED"), "{log}");
    assert!(lines[2].starts_with("[delta-ci: attempt 1, execution exec_"), "{log}");
    let mut names = Vec::new();
    for _ in 0..5 {
        names.push(events.next().await.name);
    }
    assert_eq!(names, ["execution", "log", "lost", "execution", "log"]);
}

/// A server-sent event.
#[derive(Debug, PartialEq)]
pub struct Event {
    pub name: String,
    id: String,
    pub data: Value,
}

pub struct Events {
    body: Incoming,
    /// Not read yet; it may end within a character.
    left: Vec<u8>,
}

pub async fn follow<S: Store>(site: &Site<S>, tenant: &Tenant, job: &str, after: Option<&str>) -> Events {
    let path = format!("{}/jobs/{job}/log?follow=1", tenant.path);
    let auth = bearer(&tenant.tenant);
    let mut headers = vec![("authorization", auth.as_str())];
    headers.extend(after.map(|after| ("last-event-id", after)));
    let response = open(site.address(), "GET", &path, &headers, Default::default()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    Events { body: response.into_body(), left: Vec::new() }
}

impl Events {
    /// The next event; comments are passed over.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(end) = self.left.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.left.drain(..end + 2).collect();
                if let Some(event) = parsed(std::str::from_utf8(&event).expect("events are text")) {
                    return event;
                }
                continue;
            }
            assert!(self.read().await, "the stream ended; {:?} is left", self.left);
        }
    }

    async fn ended(&mut self) -> bool {
        while self.read().await {}
        self.left.is_empty()
    }

    async fn read(&mut self) -> bool {
        let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("something comes");
        let Some(frame) = frame else { return false };
        let bytes = frame.expect("the stream holds").into_data().unwrap_or_default();
        self.left.extend_from_slice(&bytes);
        true
    }
}

fn parsed(text: &str) -> Option<Event> {
    let field = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_default().to_string()
    };
    let name = field("event");
    (!name.is_empty()).then(|| Event {
        name,
        id: field("id"),
        data: serde_json::from_str(&field("data")).expect("data is JSON"),
    })
}
