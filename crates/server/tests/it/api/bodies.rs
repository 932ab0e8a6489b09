//! Room for large bodies: who waits for something else gives it back.

use std::time::{Duration, Instant};

use hyper::body::Bytes;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::api::site::{ADMIN, PATIENCE, bearer, in_memory};

/// More than there is room for, if each of them kept the most that its route takes.
const POLLS: usize = 260;

/// A body of unknown length is taken for the largest that may come, and a poll lasts a minute.
#[tokio::test]
async fn runners_that_wait_for_work_hold_no_room() {
    let site = in_memory().await;
    let body = json!({"runner_id": "r1", "wait_seconds": 60}).to_string();
    let poll = format!(
        "POST /v1/runner/lease HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        bearer(ADMIN),
        body.len()
    );
    let mut polls = Vec::new();
    for _ in 0..POLLS {
        let mut stream = TcpStream::connect(site.address()).await.expect("the server listens");
        stream.write_all(poll.as_bytes()).await.expect("the request is sent");
        polls.push(stream);
    }
    let (all, began) = (format!("leases_waiting {POLLS}\n"), Instant::now());
    while !site.send("GET", "/metrics", &[], Bytes::new()).await.text().contains(&all) {
        assert!(began.elapsed() < PATIENCE, "some of them wait for room");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
