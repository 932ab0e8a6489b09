//! Caches over HTTP: saved with a job's success, found under a lease, seen by nobody else.

use std::time::Duration;

use decisions::Changes;
use decisions::records::{Cache, CacheName, Trust};
use serde_json::{Value, json};
use store::Store;
use wire::{CacheId, Digest, TenantId, Time};

use crate::api::artifacts::{digest_of, text};
use crate::api::site::{ADMIN, Reply, Site, Tenant, bearer, on_each_store};

on_each_store!(
    what_a_success_saves_the_next_job_finds,
    a_failure_saves_nothing,
    a_cache_is_found_under_a_lease_only,
    nobody_else_finds_or_drops_it,
    a_stranger_poisons_nothing,
    what_was_dropped_is_not_found_and_saved_anew,
    finding_is_noted_once_an_hour,
    what_cannot_be_a_cache_is_refused,
);

/// Ends a job that brought these bytes under this key.
async fn save<S: Store>(site: &Site<S>, tenant: &Tenant, status: &str, key: &str, bytes: &[u8]) -> String {
    let (job, lease) = site.active_job(tenant).await;
    let digest = digest_of(bytes);
    let path = format!("{}/blobs/{digest}", tenant.path);
    site.put(&tenant.runner, &path, &[("delta-lease", &lease)], bytes).await;
    let caches = json!([{"key": key, "uri": format!("blob:{digest}")}]);
    complete(site, tenant, &lease, status, caches).await.expect(200);
    job
}

async fn complete<S: Store>(
    site: &Site<S>,
    tenant: &Tenant,
    lease: &str,
    status: &str,
    caches: Value,
) -> Reply {
    let said = json!({"type": "Complete", "lease_id": lease, "runner_id": "r1", "status": status,
        "exit_code": 0, "summary": "", "artifacts": [], "caches": caches});
    site.post(&tenant.runner, "/v1/runner/complete", said).await
}

async fn find<S: Store>(site: &Site<S>, tenant: &Tenant, token: &str, lease: &str, query: &str) -> Reply {
    let path = format!("{}/caches/find?{query}", tenant.path);
    let headers = [("authorization", bearer(token)), ("delta-lease", lease.to_owned())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    site.send("GET", &path, &headers, Default::default()).await
}

async fn list<S: Store>(site: &Site<S>, tenant: &Tenant) -> Vec<Value> {
    let page = site.get(&tenant.tenant, &format!("{}/caches", tenant.path)).await.expect(200);
    page["items"].as_array().expect("a list").clone()
}

async fn what_a_success_saves_the_next_job_finds<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (_, lease) = site.active_job(&acme).await;
    let key = "key=cargo%3A1%2F%C3%A4&prefix=cargo%3A";
    find(&site, &acme, &acme.runner, &lease, key).await.refused(404, "cache_miss");
    let job = save(&site, &acme, "SUCCEEDED", "cargo:1/ä", b"an archive").await;
    let found = find(&site, &acme, &acme.runner, &lease, key).await.expect(200);
    assert_eq!(
        (&found["key"], &found["exact"], &found["bytes"], &found["digest"], &found["job"]),
        (&json!("cargo:1/ä"), &json!(true), &json!(10), &json!(digest_of(b"an archive")), &json!(job))
    );
    let path = format!("{}/blobs/{}", acme.path, text(&found["digest"]));
    let headers = [("authorization", bearer(&acme.runner)), ("delta-lease", lease.clone())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(site.send("GET", &path, &headers, Default::default()).await.body, "an archive");
    save(&site, &acme, "SUCCEEDED", "cargo:2", b"a newer one").await;
    let near = find(&site, &acme, &acme.runner, &lease, "key=cargo%3A3&prefix=cargo%3A").await.expect(200);
    assert_eq!((&near["key"], &near["exact"]), (&json!("cargo:2"), &json!(false)));
    find(&site, &acme, &acme.runner, &lease, "key=cargo%3A3").await.refused(404, "cache_miss");
    find(&site, &acme, &acme.runner, &lease, "key=cargo%3A3&prefix=").await.refused(404, "cache_miss");
    // The same key again, by a job that did not know of it.
    save(&site, &acme, "SUCCEEDED", "cargo:2", b"too late").await;
    let kept = list(&site, &acme).await;
    let digests: Vec<_> = kept.iter().map(|cache| text(&cache["digest"])).collect();
    assert_eq!(digests, [digest_of(b"an archive"), digest_of(b"a newer one")]);
    assert_eq!((&kept[0]["trust"], &kept[0]["state"]), (&json!("trusted"), &json!("kept")));
}

async fn a_failure_saves_nothing<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    save(&site, &acme, "FAILED", "k", b"half an archive").await;
    assert_eq!(list(&site, &acme).await, [] as [Value; 0]);
}

async fn a_cache_is_found_under_a_lease_only<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    save(&site, &acme, "SUCCEEDED", "k", b"x").await;
    let path = format!("{}/caches/find?key=k", acme.path);
    for token in [&acme.runner, &acme.tenant, &ADMIN.to_string()] {
        site.get(token, &path).await.refused(403, "forbidden");
    }
    let (_, lease) = site.active_job(&acme).await;
    for token in [&acme.runner, &acme.tenant, &ADMIN.to_string()] {
        find(&site, &acme, token, &lease, "key=k").await.expect(200);
    }
    find(&site, &acme, &acme.runner, "lease_of_nobody", "key=k").await.refused(409, "stale_lease");
    let (_, over) = site.active_job(&acme).await;
    site.complete(&acme, &over, "SUCCEEDED", 0).await.expect(200);
    find(&site, &acme, &acme.runner, &over, "key=k").await.refused(409, "stale_lease");
}

async fn nobody_else_finds_or_drops_it<S: Store>(site: Site<S>) {
    let (acme, other) = (site.tenant("acme").await, site.tenant("other").await);
    save(&site, &acme, "SUCCEEDED", "k", b"x").await;
    let (_, theirs) = site.active_job(&other).await;
    find(&site, &other, &other.runner, &theirs, "key=k").await.refused(404, "cache_miss");
    find(&site, &acme, &other.runner, &theirs, "key=k").await.refused(404, "tenant_not_found");
    find(&site, &acme, &acme.runner, &theirs, "key=k").await.refused(404, "tenant_not_found");
    find(&site, &acme, ADMIN, &theirs, "key=k").await.refused(409, "stale_lease");
    let id = text(&list(&site, &acme).await[0]["id"]);
    site.delete(&other.tenant, &format!("{}/caches/{id}", other.path)).await.refused(404, "cache_not_found");
    site.delete(&other.tenant, &format!("{}/caches/{id}", acme.path)).await.refused(404, "tenant_not_found");
    site.delete(&acme.runner, &format!("{}/caches/{id}", acme.path)).await.refused(403, "forbidden");
    assert_eq!(list(&site, &acme).await.len(), 1);
    assert_eq!(list(&site, &other).await.len(), 0);
    // Naming another tenant's bytes saves nothing, and the job succeeds all the same.
    let (_, lease) = site.active_job(&other).await;
    let caches = json!([{"key": "k", "uri": format!("blob:{}", digest_of(b"x"))}]);
    complete(&site, &other, &lease, "SUCCEEDED", caches).await.expect(200);
    assert_eq!(list(&site, &other).await.len(), 0);
}

async fn id_of<S: Store>(site: &Site<S>, tenant: &Tenant) -> TenantId {
    site.store.tenant_named(&tenant.name).await.expect("an answer").expect("a tenant").id
}

/// What an untrusted run saved is under its own name: a trusted job finds neither the key nor anything that begins so.
async fn a_stranger_poisons_nothing<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let job = save(&site, &acme, "SUCCEEDED", "other", b"poison").await;
    let kept = list(&site, &acme).await.remove(0);
    let tenant = id_of(&site, &acme).await;
    let digest: Digest = digest_of(b"poison").parse().expect("a digest");
    let store = site.server.engine().store();
    let blob = store.blob_of(tenant, digest).await.expect("an answer").expect("a blob");
    let poison = |number: u128, key: &str| Cache {
        id: CacheId::from_u128(number),
        name: CacheName { tenant, trust: Trust::Untrusted, key: key.into() },
        blob: blob.id,
        digest,
        bytes: 6,
        job: job.parse().expect("an id"),
        created_at: Time::from_seconds(2_000_000_000),
        used_at: Time::from_seconds(2_000_000_000),
        dropped: false,
    };
    let mut changes = Changes::default();
    for cache in [poison(1, "cargo:1"), poison(2, "cargo:")] {
        changes.caches.insert(cache.name.clone(), cache);
    }
    let mut loaded = store.load(&[], site.server.engine().clock().now()).await.expect("a book");
    loaded.book.apply(changes);
    store.save(loaded.session, loaded.book).await.expect("saved");
    let (_, lease) = site.active_job(&acme).await;
    find(&site, &acme, &acme.runner, &lease, "key=cargo%3A1&prefix=cargo").await.refused(404, "cache_miss");
    // The trusted name is free, and the first to save it is the trusted job.
    save(&site, &acme, "SUCCEEDED", "cargo:1", b"good").await;
    let found = find(&site, &acme, &acme.runner, &lease, "key=cargo%3A1").await.expect(200);
    assert_eq!(found["digest"], json!(digest_of(b"good")));
    assert_eq!(text(&kept["trust"]), "trusted");
}

async fn what_was_dropped_is_not_found_and_saved_anew<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    save(&site, &acme, "SUCCEEDED", "k", b"old").await;
    let id = text(&list(&site, &acme).await[0]["id"]);
    let path = format!("{}/caches/{id}", acme.path);
    assert_eq!(site.delete(&acme.tenant, &path).await.status, 204);
    site.delete(&acme.tenant, &path).await.refused(404, "cache_not_found");
    site.delete(&acme.tenant, &format!("{}/caches/nonsense", acme.path))
        .await
        .refused(404, "cache_not_found");
    let (_, lease) = site.active_job(&acme).await;
    find(&site, &acme, &acme.runner, &lease, "key=k").await.refused(404, "cache_miss");
    save(&site, &acme, "SUCCEEDED", "k", b"new").await;
    let found = find(&site, &acme, &acme.runner, &lease, "key=k").await.expect(200);
    assert_eq!(found["digest"], json!(digest_of(b"new")));
}

async fn finding_is_noted_once_an_hour<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    save(&site, &acme, "SUCCEEDED", "k", b"x").await;
    let tenant = id_of(&site, &acme).await;
    let name = CacheName { tenant, trust: Trust::Trusted, key: "k".into() };
    let ask = [decisions::Ask::Cache(name.clone())];
    let store = site.server.engine().store();
    let used = async || {
        let found = store.find_cache(tenant, &[Trust::Trusted], "k", None).await.expect("an answer");
        found.expect("a cache").used_at
    };
    let first = used().await;
    let (_, lease) = site.active_job(&acme).await;
    find(&site, &acme, &acme.runner, &lease, "key=k").await.expect(200);
    assert_eq!(used().await, first);
    let mut loaded = store.load(&ask, site.server.engine().clock().now()).await.expect("a book");
    let known = loaded.book.caches.peek(&name).expect("it is there").clone();
    let long_ago = Time::from_micros(first.as_micros() - Duration::from_secs(3 * 3600).as_micros() as i64);
    let mut changes = Changes::default();
    changes.caches.insert(name, Cache { used_at: long_ago, ..known });
    loaded.book.apply(changes);
    store.save(loaded.session, loaded.book).await.expect("saved");
    find(&site, &acme, &acme.runner, &lease, "key=k").await.expect(200);
    assert!(used().await >= first);
}

async fn what_cannot_be_a_cache_is_refused<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (_, lease) = site.active_job(&acme).await;
    let here = format!("blob:{}", site.bring(&acme, b"x").await);
    let long = "k".repeat(513);
    for (key, uri) in [("", &here), ("a\nb", &here), (&long, &here), ("k", &"sha256:00".into())] {
        let caches = json!([{"key": key, "uri": uri}]);
        let reply = complete(&site, &acme, &lease, "SUCCEEDED", caches).await;
        assert_eq!(reply.refused(422, "invalid_input")["field"], "caches", "{key}");
    }
    for query in ["key=", "key=a%0Ab", "key=k&prefix=%0A"] {
        find(&site, &acme, &acme.runner, &lease, query).await.refused(422, "invalid_input");
    }
    find(&site, &acme, &acme.runner, &lease, "prefix=k").await.refused(400, "invalid_query");
    // A message of before there were caches.
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
}
