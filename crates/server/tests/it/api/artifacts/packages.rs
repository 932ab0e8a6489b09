//! Versions: drafted, published for ever, withdrawn and restored; and entries that are none.

use std::time::Duration;

use serde_json::{Value, json};
use store::Store;

use crate::api::artifacts::{digest_of, text};
use crate::api::site::{ADMIN, Reply, Site, Tenant, bearer, on_each_store};

on_each_store!(
    a_version_is_drafted_published_and_stays_as_it_is,
    a_version_is_withdrawn_and_restored_within_its_time,
    entries_that_lead_astray_are_refused,
    files_are_read_by_their_paths,
    versions_are_listed,
    a_million_entries_are_too_many,
);

async fn draft<S: Store>(site: &Site<S>, tenant: &Tenant, version: &str, entries: Value) -> Reply {
    let path = format!("{}/packages/app/versions", tenant.path);
    site.post(&tenant.tenant, &path, json!({"version": version, "entries": entries})).await
}

async fn word<S: Store>(site: &Site<S>, tenant: &Tenant, word: &str, body: Value) -> Reply {
    let path = format!("{}/packages/app/versions/1/{word}", tenant.path);
    site.post(&tenant.tenant, &path, body).await
}

async fn a_version_is_drafted_published_and_stays_as_it_is<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (one, two) = (site.bring(&acme, b"one").await, site.bring(&acme, b"two").await);
    let entries = json!([{"path": "a", "digest": one}]);
    let made = draft(&site, &acme, "1", entries.clone()).await.expect(201);
    assert_eq!((&made["state"], &made["entries"][0]["length"]), (&json!("draft"), &json!(3)));
    assert_eq!(draft(&site, &acme, "1", entries).await.expect(200)["id"], made["id"]);
    let entries = json!([{"path": "b/c", "digest": two}, {"path": "a", "digest": one}]);
    let anew = draft(&site, &acme, "1", entries.clone()).await.expect(201);
    assert_eq!((&anew["id"], &anew["entries"][1]["path"]), (&made["id"], &json!("b/c")));
    let published = word(&site, &acme, "publish", json!({})).await.expect(200);
    assert_eq!(published["state"], "published");
    assert!(text(&published["content_hash"]).starts_with("sha256:"));
    assert_eq!(word(&site, &acme, "publish", json!({})).await.expect(200), published, "said twice");
    assert_eq!(draft(&site, &acme, "1", entries).await.expect(200)["state"], "published");
    let changed = json!([{"path": "a", "digest": two}]);
    draft(&site, &acme, "1", changed).await.refused(409, "immutable");
    let shown = site.get(&acme.tenant, &format!("{}/packages/app/versions/1", acme.path)).await.expect(200);
    assert_eq!(shown, published);
    let told = site.get(&acme.tenant, &format!("{}/events?entity={}", acme.path, text(&made["id"]))).await;
    let states: Vec<_> =
        told.expect(200)["items"].as_array().expect("a list").iter().map(|it| text(&it["to"])).collect();
    assert_eq!(states, ["draft", "published"]);
    let other = format!("{}/packages/app/versions/2", acme.path);
    site.get(&acme.tenant, &other).await.refused(404, "version_not_found");
    site.post(&acme.tenant, &format!("{other}/publish"), json!({})).await.refused(404, "version_not_found");
}

async fn a_version_is_withdrawn_and_restored_within_its_time<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let one = site.bring(&acme, b"one").await;
    draft(&site, &acme, "1", json!([{"path": "a", "digest": one}])).await.expect(201);
    let long = json!({"retention_seconds": 3600});
    word(&site, &acme, "tombstone", long.clone()).await.refused(409, "version_not_published");
    word(&site, &acme, "restore", json!({})).await.refused(409, "version_not_published");
    word(&site, &acme, "publish", json!({})).await.expect(200);
    word(&site, &acme, "tombstone", json!({})).await.refused(422, "invalid_input");
    word(&site, &acme, "tombstone", json!({"retention_seconds": 1e300})).await.refused(422, "invalid_input");
    let withdrawn = word(&site, &acme, "tombstone", long).await.expect(200);
    assert_eq!(withdrawn["state"], "tombstoned");
    let file = format!("{}/packages/app/versions/1/files/a", acme.path);
    site.get(&acme.tenant, &file).await.refused(404, "version_not_found");
    word(&site, &acme, "publish", json!({})).await.refused(409, "version_tombstoned");
    assert_eq!(word(&site, &acme, "restore", json!({})).await.expect(200)["state"], "published");
    assert_eq!(site.get(&acme.tenant, &file).await.body, "one");
    word(&site, &acme, "tombstone", json!({"retention_seconds": 0.001})).await.expect(200);
    tokio::time::sleep(Duration::from_millis(20)).await;
    word(&site, &acme, "restore", json!({})).await.refused(409, "retention_over");
}

async fn entries_that_lead_astray_are_refused<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let one = site.bring(&acme, b"one").await;
    for path in [
        "",
        "/etc/passwd",
        "../a",
        "a/../../b",
        "a//b",
        "./a",
        "a/",
        "C:/a",
        "a\\b",
        "a\nb",
        "..",
        "\\\\host\\a",
    ] {
        let reply = draft(&site, &acme, "1", json!([{"path": path, "digest": one}])).await;
        assert_eq!(reply.refused(422, "invalid_input")["field"], "entries", "{path:?}");
    }
    let twice = json!([{"path": "a", "digest": one}, {"path": "a", "digest": one}]);
    draft(&site, &acme, "1", twice).await.refused(422, "invalid_input");
    // A link is no entry: an entry is a path and bytes, and nothing else.
    draft(&site, &acme, "1", json!([{"path": "a", "link": "/etc/passwd"}]))
        .await
        .refused(422, "invalid_input");
    let missing = json!([{"path": "a", "digest": digest_of(b"never sent")}]);
    draft(&site, &acme, "1", missing).await.refused(409, "blob_missing");
    for name in ["", "..", ".hidden", "a b", "a%2fb"] {
        let reply = draft(&site, &acme, name, json!([])).await;
        assert_eq!(reply.refused(422, "invalid_input")["field"], "version", "{name}");
    }
    let path = format!("{}/packages/app/versions", acme.path);
    let none = site.get(&acme.tenant, &path).await.expect(200);
    assert_eq!(none["items"], json!([]), "nothing of it was kept");
}

async fn files_are_read_by_their_paths<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let one = site.bring(&acme, b"one").await;
    let entries = json!([{"path": "dir/a file.txt", "digest": one}]);
    draft(&site, &acme, "1", entries).await.expect(201);
    let files = format!("{}/packages/app/versions/1/files", acme.path);
    let reply = site.get(&acme.tenant, &format!("{files}/dir/a%20file.txt")).await;
    assert_eq!((reply.status, reply.text().as_str()), (200, "one"));
    assert_eq!(reply.header("cache-control"), "private, no-cache");
    let headers = [("authorization", &*bearer(&acme.tenant)), ("range", "bytes=1-")];
    let reply = site.send("GET", &format!("{files}/dir/a%20file.txt"), &headers, Default::default()).await;
    assert_eq!((reply.status, reply.text().as_str()), (206, "ne"));
    let reply =
        site.send("HEAD", &format!("{files}/dir/a%20file.txt"), &headers[..1], Default::default()).await;
    assert_eq!((reply.status, reply.header("content-length")), (200, "3"));
    for other in ["dir", "dir/b", "a%20file.txt"] {
        site.get(&acme.tenant, &format!("{files}/{other}")).await.refused(404, "entry_not_found");
    }
}

async fn versions_are_listed<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let one = site.bring(&acme, b"one").await;
    for version in ["1", "2", "3"] {
        draft(&site, &acme, version, json!([{"path": "a", "digest": one}])).await.expect(201);
    }
    let path = format!("{}/packages/other/versions", acme.path);
    site.post(&acme.tenant, &path, json!({"version": "1", "entries": []})).await.expect(201);
    let all = site.get(&acme.tenant, &format!("{}/packages?limit=3", acme.path)).await.expect(200);
    assert_eq!(all["items"].as_array().map(Vec::len), Some(3));
    let next = text(&all["next"]);
    let rest = site.get(&acme.tenant, &format!("{}/packages?after={next}", acme.path)).await.expect(200);
    assert_eq!((&rest["items"][0]["package"], &rest["next"]), (&json!("other"), &json!(null)));
    let of = site.get(&acme.tenant, &format!("{}/packages/app/versions", acme.path)).await.expect(200);
    let versions: Vec<_> =
        of["items"].as_array().expect("a list").iter().map(|it| text(&it["version"])).collect();
    assert_eq!(versions, ["1", "2", "3"]);
    assert_eq!((&of["items"][0]["length"], &of["items"][0]["entries"]), (&json!(3), &json!(1)));
}

async fn a_million_entries_are_too_many<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let one = site.bring(&acme, b"one").await;
    let path = format!("{}/packages/app/versions", acme.path);
    let many = |count: usize| {
        let entry = |number: usize| format!(r#"{{"path":"{number}","digest":"{one}"}}"#);
        let entries: Vec<String> = (0..count).map(entry).collect();
        format!(r#"{{"version":"1","entries":[{}]}}"#, entries.join(","))
    };
    let headers = [("authorization", &*bearer(&acme.tenant)), ("content-type", "application/json")];
    let reply = site.send("POST", &path, &headers, many(10_001).into()).await;
    reply.refused(422, "invalid_input");
    let reply = site.send("POST", &path, &headers, many(200_000).into()).await;
    reply.refused(413, "body_too_large");
    site.get(ADMIN, &format!("{path}/1")).await.refused(404, "version_not_found");
}
