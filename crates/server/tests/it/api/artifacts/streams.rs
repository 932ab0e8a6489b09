//! One stream: announced, sent, committed; broken off and gone on with; other bytes than were announced.

use std::time::Duration;

use decisions::Policy;
use hyper::body::Bytes;
use serde_json::json;
use store::{Memory, Store};

use crate::api::artifacts::{digest_of, on_each_place, text};
use crate::api::site::{ADMIN, Site, bearer, in_memory, on_each_store};

on_each_place!(
    a_stream_is_announced_sent_and_committed,
    other_bytes_than_announced_are_refused_and_nothing_is_kept,
    an_upload_that_ended_takes_nothing_more,
    nothing_is_a_blob_too,
);

on_each_store!(
    a_length_that_does_not_fit_ends_the_upload,
    what_a_tenant_has_is_not_sent_again,
    the_quota_bounds_what_is_announced,
);

async fn a_stream_is_announced_sent_and_committed<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let bytes: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
    let upload = site.announce(&acme, &bytes).await;
    assert_eq!((&upload["state"], &upload["received"]), (&json!("initiated"), &json!(0)));
    let id = text(&upload["id"]);
    site.step(&acme, &id, "commit", json!({})).await.refused(409, "upload_not_ready");
    let sent = site.stream(&acme, &id, &bytes).await.expect(200);
    assert_eq!((&sent["state"], &sent["received"]), (&json!("pending_commit"), &json!(bytes.len())));
    site.read(&acme, &digest_of(&bytes)).await.refused(404, "blob_not_found");
    let done = site.step(&acme, &id, "commit", json!({})).await.expect(200);
    assert_eq!(done["state"], "committed");
    assert!(text(&done["blob_id"]).starts_with("blob_"));
    assert_eq!(site.read(&acme, &digest_of(&bytes)).await.body, bytes);
    assert_eq!(site.look(&acme, &id).await["state"], "committed");
    let told = site.get(&acme.tenant, &format!("{}/events?entity={id}", acme.path)).await.expect(200);
    let states: Vec<_> = told["items"].as_array().expect("a list").iter().map(|it| text(&it["to"])).collect();
    assert_eq!(states, ["initiated", "parts_uploading", "pending_commit", "committed"]);
}

async fn other_bytes_than_announced_are_refused_and_nothing_is_kept<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let id = text(&site.announce(&acme, b"these bytes").await["id"]);
    let sent = site.stream(&acme, &id, b"other bytes").await.expect(200);
    assert_eq!(sent["state"], "pending_commit");
    site.step(&acme, &id, "commit", json!({})).await.refused(422, "digest_mismatch");
    assert_eq!(site.look(&acme, &id).await["state"], "aborted");
    for digest in [digest_of(b"these bytes"), digest_of(b"other bytes")] {
        site.read(&acme, &digest).await.refused(404, "blob_not_found");
    }
    site.step(&acme, &id, "commit", json!({})).await.refused(409, "upload_ended");
    // The same bytes, sent as announced, are as good as new.
    site.bring(&acme, b"these bytes").await;
}

async fn an_upload_that_ended_takes_nothing_more<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let id = text(&site.announce(&acme, b"never sent").await["id"]);
    let path = format!("{}/uploads/{id}", acme.path);
    assert_eq!(site.delete(&acme.tenant, &path).await.expect(200)["state"], "aborted");
    site.delete(&acme.tenant, &path).await.refused(409, "upload_ended");
    site.stream(&acme, &id, b"never sent").await.refused(409, "upload_ended");
    let lengths = json!({"part_lengths": [10]});
    site.step(&acme, &id, "parts", lengths).await.refused(409, "upload_ended");
    let parts = json!({"parts": [{"number": 1, "etag": "x"}]});
    site.step(&acme, &id, "complete", parts).await.refused(409, "upload_ended");
    site.step(&acme, &id, "commit", json!({})).await.refused(409, "upload_ended");
}

async fn nothing_is_a_blob_too<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let id = text(&site.announce(&acme, b"").await["id"]);
    site.stream(&acme, &id, b"").await.expect(200);
    site.step(&acme, &id, "commit", json!({})).await.expect(200);
    assert_eq!(site.read(&acme, &digest_of(b"")).await.body, "");
}

async fn a_length_that_does_not_fit_ends_the_upload<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for sent in ["short", "much longer than announced"] {
        let id = text(&site.announce(&acme, b"as announced").await["id"]);
        site.stream(&acme, &id, sent.as_bytes()).await.refused(422, "length_mismatch");
        assert_eq!(site.look(&acme, &id).await["state"], "aborted");
    }
    let path = format!("{}/uploads", acme.path);
    for (digest, length) in [
        (json!("sha256:00"), json!(1)),
        (json!("sha512:00"), json!(1)),
        (json!(digest_of(b"").to_uppercase()), json!(1)),
        (json!(digest_of(b"a")), json!(-1)),
        (json!(digest_of(b"a")), json!(1.5)),
        (json!(digest_of(b"a")), json!(1u64 << 41)),
    ] {
        let asked = json!({"digest": digest, "length": length});
        site.post(&acme.tenant, &path, asked).await.refused(422, "invalid_input");
    }
    let nobody = format!("{path}/upl_00000000000000000000000001");
    site.get(&acme.tenant, &nobody).await.refused(404, "upload_not_found");
    site.get(&acme.tenant, &format!("{path}/anything")).await.refused(404, "upload_not_found");
}

async fn what_a_tenant_has_is_not_sent_again<S: Store>(site: Site<S>) {
    let (acme, beta) = (site.tenant("acme").await, site.tenant("beta").await);
    site.bring(&acme, b"known").await;
    let again = site.announce(&acme, b"known").await;
    assert_eq!(again["state"], "committed");
    // Another tenant sends them itself, and then has them too.
    let id = text(&site.announce(&beta, b"known").await["id"]);
    site.read(&beta, &digest_of(b"known")).await.refused(404, "blob_not_found");
    site.stream(&beta, &id, b"known").await.expect(200);
    let done = site.step(&beta, &id, "commit", json!({})).await.expect(200);
    assert_eq!(done["blob_id"], again["blob_id"], "kept once");
    assert_eq!(site.read(&beta, &digest_of(b"known")).await.body, "known");
}

async fn the_quota_bounds_what_is_announced<S: Store>(site: Site<S>) {
    let config = json!({"name": "small", "desired_config": {"quota": {"storage_bytes": 10.0}, "retention_seconds": 60}});
    site.post(ADMIN, "/v1/tenants", config).await.expect(201);
    let path = "/v1/tenants/small";
    let put =
        async |bytes: &[u8]| site.put(ADMIN, &format!("{path}/blobs/{}", digest_of(bytes)), &[], bytes).await;
    put(b"12345678").await.expect(201);
    put(b"123").await.refused(413, "quota_exceeded");
    let asked = json!({"digest": digest_of(b"123"), "length": 3});
    site.post(ADMIN, &format!("{path}/uploads"), asked).await.refused(413, "quota_exceeded");
    put(b"12").await.expect(201);
    put(b"12345678").await.expect(200);
}

#[tokio::test]
async fn a_stream_that_broke_off_goes_on_where_it_was() {
    let site = in_memory().await;
    let acme = site.tenant("acme").await;
    let bytes: Vec<u8> = (0..100_000u32).map(|number| (number % 253) as u8).collect();
    let id = text(&site.announce(&acme, &bytes).await["id"]);
    let path = format!("{}/uploads/{id}/content", acme.path);
    broken(&site, &acme.tenant, &path, &bytes[..60_000], bytes.len()).await;
    let received = received(&site, &acme, &id).await;
    assert!(received <= 60_000);
    let from = |first: usize, end: usize| format!("bytes {first}-{}/{}", end - 1, bytes.len());
    let wrong = from(received + 1, bytes.len());
    let reply = site.put(&acme.tenant, &path, &[("content-range", &wrong)], &bytes[received + 1..]).await;
    assert_eq!(reply.refused(416, "upload_offset")["offset"], json!(received));
    for bad in ["bytes 0-1", "bytes 5-2/100000", "lines 0-1/100000", "bytes 0-9/99"] {
        site.put(&acme.tenant, &path, &[("content-range", bad)], b"ab").await.refused(422, "invalid_input");
    }
    // In two steps, the first of which does not reach the end.
    let middle = received + 1_000;
    let range = from(received, middle);
    let reply = site.put(&acme.tenant, &path, &[("content-range", &range)], &bytes[received..middle]).await;
    let step = reply.expect(200);
    assert_eq!((&step["state"], &step["received"]), (&json!("initiated"), &json!(middle)));
    let range = from(middle, bytes.len());
    let reply = site.put(&acme.tenant, &path, &[("content-range", &range)], &bytes[middle..]).await;
    assert_eq!(reply.expect(200)["state"], "pending_commit");
    site.step(&acme, &id, "commit", json!({})).await.expect(200);
    assert_eq!(site.read(&acme, &digest_of(&bytes)).await.body, bytes);
}

/// Sends less than it promised, and hangs up.
async fn broken(site: &Site<Memory>, token: &str, path: &str, bytes: &[u8], promised: usize) {
    use tokio::io::AsyncWriteExt;
    let mut stream = tokio::net::TcpStream::connect(site.address()).await.expect("the server listens");
    let head = format!(
        "PUT {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\ncontent-length: {promised}\r\n\r\n",
        bearer(token)
    );
    stream.write_all(head.as_bytes()).await.expect("it is sent");
    stream.write_all(bytes).await.expect("it is sent");
    stream.shutdown().await.expect("it hangs up");
    let mut rest = Vec::new();
    use tokio::io::AsyncReadExt;
    let _ = stream.read_to_end(&mut rest).await; // whatever is said to somebody who has gone
}

/// Until what came before the break is on the disk.
async fn received(site: &Site<Memory>, acme: &crate::api::site::Tenant, id: &str) -> usize {
    for _ in 0..500 {
        let received = site.look(acme, id).await["received"].as_u64().expect("a number");
        if received > 0 {
            return received as usize;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing was received")
}

#[tokio::test]
async fn an_upload_runs_out() {
    let policy = Policy { upload_ttl: Duration::from_millis(300), ..Policy::default() };
    let site: Site<Memory> = Site::open(Default::default(), policy, None).await;
    let acme = site.tenant("acme").await;
    let id = text(&site.announce(&acme, b"too late").await["id"]);
    tokio::time::sleep(Duration::from_millis(400)).await;
    site.stream(&acme, &id, b"too late").await.refused(409, "upload_ended");
    site.step(&acme, &id, "commit", json!({})).await.refused(409, "upload_ended");
    site.read(&acme, &digest_of(b"too late")).await.refused(404, "blob_not_found");
}

#[tokio::test]
async fn a_body_without_a_length_is_taken_too() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let site = in_memory().await;
    let acme = site.tenant("acme").await;
    let id = text(&site.announce(&acme, b"in chunks").await["id"]);
    let mut stream = tokio::net::TcpStream::connect(site.address()).await.expect("the server listens");
    let head = format!(
        "PUT {}/uploads/{id}/content HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\nin \r\n6\r\nchunks\r\n0\r\n\r\n",
        acme.path,
        bearer(&acme.tenant)
    );
    stream.write_all(head.as_bytes()).await.expect("it is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    site.step(&acme, &id, "commit", json!({})).await.expect(200);
    assert_eq!(site.read(&acme, &digest_of(b"in chunks")).await.body, Bytes::from_static(b"in chunks"));
}
