//! Small blobs, in one request.

use serde_json::json;
use store::Store;

use crate::api::artifacts::{digest_of, on_each_place};
use crate::api::site::Site;

on_each_place!(
    a_small_blob_comes_in_one_request,
    who_brings_what_another_tenant_has_is_told_nothing_of_it,
    what_is_no_such_blob_is_refused_and_not_kept,
);

async fn a_small_blob_comes_in_one_request<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let large = vec![7; 8 * 1024 * 1024];
    for bytes in [&b""[..], b"small", &large] {
        let path = format!("{}/blobs/{}", acme.path, digest_of(bytes));
        let made = site.put(&acme.tenant, &path, &[], bytes).await.expect(201);
        assert_eq!((&made["state"], &made["length"]), (&json!("committed"), &json!(bytes.len())));
        let again = site.put(&acme.tenant, &path, &[], bytes).await.expect(200);
        assert_eq!(made["blob_id"], again["blob_id"]);
        assert_eq!(site.read(&acme, &digest_of(bytes)).await.body, bytes);
    }
}

async fn who_brings_what_another_tenant_has_is_told_nothing_of_it<S: Store>(site: &Site<S>) {
    let (acme, other) = (site.tenant("acme").await, site.tenant("other").await);
    let between = vec![3; 40 * 1024];
    for bytes in [&b"small"[..], &between] {
        for tenant in [&acme, &other] {
            let path = format!("{}/blobs/{}", tenant.path, digest_of(bytes));
            site.get(&tenant.tenant, &path).await.refused(404, "blob_not_found");
            let made = site.put(&tenant.tenant, &path, &[], bytes).await.expect(201);
            assert_eq!(made["state"], "committed");
            site.put(&tenant.tenant, &path, &[], bytes).await.expect(200);
            assert_eq!(site.read(tenant, &digest_of(bytes)).await.body, bytes);
        }
    }
}

async fn what_is_no_such_blob_is_refused_and_not_kept<S: Store>(site: &Site<S>) {
    let acme = site.tenant("acme").await;
    let path = |digest: &str| format!("{}/blobs/{digest}", acme.path);
    let digest = digest_of(b"these bytes");
    site.put(&acme.tenant, &path(&digest), &[], b"other bytes").await.refused(422, "digest_mismatch");
    site.read(&acme, &digest).await.refused(404, "blob_not_found");
    for malformed in ["sha256:00", "00", "sha256:..%2f..", &digest.to_uppercase()] {
        let problem = site.put(&acme.tenant, &path(malformed), &[], b"x").await.refused(422, "invalid_input");
        assert_eq!(problem["field"], "digest");
        site.get(&acme.tenant, &path(malformed)).await.refused(422, "invalid_input");
    }
    let large = vec![7; 8 * 1024 * 1024 + 1];
    let reply = site.put(&acme.tenant, &path(&digest_of(&large)), &[], &large).await;
    reply.refused(413, "body_too_large");
    site.bring(&acme, b"these bytes").await;
    site.put(&acme.tenant, &path(&digest), &[], b"these").await.refused(422, "digest_mismatch");
    assert_eq!(site.read(&acme, &digest).await.body, "these bytes");
}
