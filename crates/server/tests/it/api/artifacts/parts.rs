//! Parts: sent to signed addresses, complete when all are here, joined and verified at the commit.

use serde_json::{Value, json};
use store::Store;

use crate::api::artifacts::{digest_of, on_each_place, text};
use crate::api::site::{Site, Tenant, in_memory, on_each_store};

on_each_place!(
    parts_are_sent_to_their_addresses_and_joined,
    parts_that_are_something_else_together_are_refused,
    lengths_that_do_not_fit_are_refused,
);

on_each_store!(a_part_that_is_missing_can_still_be_sent, only_the_address_itself_opens_a_part,);

/// A bucket wants at least so much of every part but the last.
const PART: usize = 5 * 1024 * 1024;

fn bytes() -> Vec<u8> {
    (0..PART as u32 + 1_000).map(|number| (number % 249) as u8).collect()
}

async fn begun<S: Store>(
    site: &Site<S>,
    tenant: &Tenant,
    bytes: &[u8],
    lengths: &[usize],
) -> (String, Value) {
    let id = text(&site.announce(tenant, bytes).await["id"]);
    let begun = site.step(tenant, &id, "parts", json!({"part_lengths": lengths})).await.expect(200);
    assert_eq!(begun["state"], "parts_uploading");
    (id, begun)
}

fn tagged(tags: &[&str]) -> Value {
    let parts = tags.iter().zip(1..).map(|(etag, number)| json!({"number": number, "etag": etag}));
    json!({"parts": parts.collect::<Vec<_>>()})
}

async fn parts_are_sent_to_their_addresses_and_joined<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let bytes = bytes();
    let (id, begun) = begun(site, &acme, &bytes, &[PART, 1_000]).await;
    let again = site.step(&acme, &id, "parts", json!({"part_lengths": [PART, 1_000]})).await.expect(200);
    assert_eq!(again["parts"].as_array().map(Vec::len), Some(2));
    let mut tags = Vec::new();
    for (part, bytes) in
        begun["parts"].as_array().expect("parts").iter().zip([&bytes[..PART], &bytes[PART..]])
    {
        assert_eq!(part["length"], json!(bytes.len()));
        let (status, etag) = site.follow(&text(&part["url"]), bytes).await;
        assert_eq!(status, 200);
        // Sent twice is sent once.
        assert_eq!(site.follow(&text(&part["url"]), bytes).await, (200, etag.clone()));
        tags.push(etag);
    }
    site.step(&acme, &id, "commit", json!({})).await.refused(409, "upload_not_ready");
    let listed = tagged(&[&tags[0], &tags[1]]);
    assert_eq!(
        site.step(&acme, &id, "complete", listed.clone()).await.expect(200)["state"],
        "pending_commit"
    );
    site.step(&acme, &id, "complete", listed).await.expect(200);
    assert_eq!(site.step(&acme, &id, "commit", json!({})).await.expect(200)["state"], "committed");
    assert_eq!(site.read(&acme, &digest_of(&bytes)).await.body, bytes);
}

async fn parts_that_are_something_else_together_are_refused<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let (id, begun) = begun(site, &acme, b"as announced", &[12]).await;
    let (_, etag) = site.follow(&text(&begun["parts"][0]["url"]), b"other bytes!").await;
    site.step(&acme, &id, "complete", tagged(&[&etag])).await.expect(200);
    site.step(&acme, &id, "commit", json!({})).await.refused(422, "digest_mismatch");
    assert_eq!(site.look(&acme, &id).await["state"], "aborted");
    site.read(&acme, &digest_of(b"as announced")).await.refused(404, "blob_not_found");
}

async fn lengths_that_do_not_fit_are_refused<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let id = text(&site.announce(&acme, b"ten bytes!").await["id"]);
    let many = vec![0; 10_001];
    for lengths in [json!([]), json!([9]), json!([5, 6]), json!([10, 0]), json!([u64::MAX, 11]), json!(many)]
    {
        let reply = site.step(&acme, &id, "parts", json!({"part_lengths": lengths})).await;
        reply.refused(422, "invalid_input");
    }
    assert_eq!(site.look(&acme, &id).await["state"], "initiated");
    site.step(&acme, &id, "complete", tagged(&["x"])).await.refused(409, "parts_missing");
    // Either way, but not both.
    site.step(&acme, &id, "parts", json!({"part_lengths": [10]})).await.expect(200);
    site.stream(&acme, &id, b"ten bytes!").await.refused(409, "upload_in_parts");
    site.step(&acme, &id, "parts", json!({"part_lengths": [5, 5]})).await.refused(409, "upload_in_parts");
}

async fn a_part_that_is_missing_can_still_be_sent<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (id, begun) = begun(&site, &acme, b"firstsecond", &[5, 6]).await;
    let url = |index: usize| text(&begun["parts"][index]["url"]);
    let (_, first) = site.follow(&url(0), b"first").await;
    let reply = site.step(&acme, &id, "complete", tagged(&[&first])).await;
    assert!(reply.refused(409, "parts_missing").to_string().contains("part 2"));
    site.step(&acme, &id, "complete", tagged(&[&first, &first])).await.refused(409, "parts_missing");
    for wrong in [&b"short"[..], b"longer"] {
        assert_eq!(site.follow(&url(0), wrong).await.0, if wrong.len() == 5 { 200 } else { 422 });
    }
    let (_, second) = site.follow(&url(1), b"second").await;
    // What was sent last counts, and the list must know it.
    site.step(&acme, &id, "complete", tagged(&[&first, &second])).await.refused(422, "invalid_input");
    site.follow(&url(0), b"first").await;
    let twice = json!({"parts": [{"number": 1, "etag": first}, {"number": 1, "etag": second}]});
    site.step(&acme, &id, "complete", twice).await.refused(422, "invalid_input");
    site.step(&acme, &id, "complete", tagged(&[&first, &second])).await.expect(200);
    site.step(&acme, &id, "commit", json!({})).await.expect(200);
    assert_eq!(site.follow(&url(0), b"first").await.0, 409, "it is over");
}

async fn only_the_address_itself_opens_a_part<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (id, begun) = begun(&site, &acme, b"firstsecond", &[5, 6]).await;
    let url = text(&begun["parts"][0]["url"]);
    let (path, query) = url.split_once('?').expect("a signature");
    for forged in [
        path.to_string(),
        format!("{path}?{}", query.replace("expires=", "expires=1")),
        format!("{path}?{}", query.replace("signature=", "signature=00")),
        format!("{path}?{query}0"),
        url.replace("/1?", "/2?"),
        url.replace("/1?", "/3?"),
        url.replace(&id, "upl_00000000000000000000000001"),
        format!("{path}?expires=0&signature={}", "0".repeat(64)),
    ] {
        assert_eq!(site.follow(&forged, b"first").await.0, 403, "{forged}");
    }
    assert_eq!(site.follow(&url, b"first").await.0, 200);
}

#[tokio::test]
async fn addresses_are_good_for_every_server_of_the_database() {
    let site = in_memory().await;
    let acme = site.tenant("acme").await;
    let (id, begun) = begun(&site, &acme, b"first", &[5]).await;
    let signature = |view: &Value| text(&view["parts"][0]["url"]);
    let query = signature(&begun);
    let blobs =
        store::blobs::Blobs::open(site.bytes.path().to_str().expect("a text")).await.expect("a folder");
    let other = Site::open_with(
        site.store.clone(),
        decisions::Policy::default(),
        None,
        server::artifacts::Judge::Absent,
        Some(blobs),
    )
    .await;
    assert_eq!(other.follow(&query, b"first").await.0, 200);
    assert_eq!(other.look(&acme, &id).await["state"], "parts_uploading");
}
