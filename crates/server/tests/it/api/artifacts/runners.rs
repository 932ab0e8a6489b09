//! Runners bring and read blobs under a lease that lives, of the lease's tenant, and do nothing else there.

use serde_json::json;
use store::Store;

use crate::api::artifacts::{digest_of, text};
use crate::api::site::{ADMIN, Site, bearer, on_each_store};

on_each_store!(
    a_runner_brings_and_reads_blobs_under_its_lease,
    a_lease_opens_its_own_tenant_only,
    a_lease_that_is_over_opens_nothing,
);

async fn a_runner_brings_and_reads_blobs_under_its_lease<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let shared = site.post(ADMIN, "/v1/admin/tokens", json!({"kind": "runner"})).await.expect(201);
    let (_, lease) = site.active_job(&acme).await;
    for (token, bytes) in [(acme.runner.clone(), b"its own"), (text(&shared["token"]), b"shared!")] {
        let digest = digest_of(bytes);
        let path = format!("{}/blobs/{digest}", acme.path);
        site.put(&token, &path, &[], bytes).await.refused(403, "forbidden");
        let under = [("delta-lease", &*lease)];
        site.put(&token, &path, &under, bytes).await.expect(201);
        let headers = [("authorization", &*bearer(&token)), under[0]];
        assert_eq!(site.send("GET", &path, &headers, Default::default()).await.body, &bytes[..]);
        for closed in ["packages", "runs", "tokens"] {
            let reply =
                site.send("GET", &format!("{}/{closed}", acme.path), &headers, Default::default()).await;
            reply.refused(403, "forbidden");
        }
        let announced = json!({"digest": digest_of(b"a stream"), "length": 8}).to_string();
        let json = [headers[0], headers[1], ("content-type", "application/json")];
        let reply = site.send("POST", &format!("{}/uploads", acme.path), &json, announced.into()).await;
        assert!(reply.status == 201);
    }
}

async fn a_lease_opens_its_own_tenant_only<S: Store>(site: Site<S>) {
    let (acme, beta) = (site.tenant("acme").await, site.tenant("beta").await);
    let shared = site.post(ADMIN, "/v1/admin/tokens", json!({"kind": "runner"})).await.expect(201);
    let shared = text(&shared["token"]);
    let (_, lease) = site.active_job(&acme).await;
    let digest = site.bring(&acme, b"bytes").await;
    let under = [("delta-lease", &*lease)];
    for (token, tenant) in
        [(&beta.runner, &beta), (&beta.runner, &acme), (&shared, &beta), (&acme.runner, &beta)]
    {
        let path = format!("{}/blobs/{digest}", tenant.path);
        site.put(token, &path, &under, b"bytes").await.refused(404, "tenant_not_found");
    }
    site.read(&beta, &digest).await.refused(404, "blob_not_found");
}

async fn a_lease_that_is_over_opens_nothing<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (_, lease) = site.active_job(&acme).await;
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    let path = format!("{}/blobs/{}", acme.path, digest_of(b"late"));
    let forged = format!("{}0", &lease[..lease.len() - 1]);
    for lease in [lease.as_str(), &forged, "lease_of_nobody"] {
        let reply = site.put(&acme.runner, &path, &[("delta-lease", lease)], b"late").await;
        reply.refused(409, "stale_lease");
    }
    site.read(&acme, &digest_of(b"late")).await.refused(404, "blob_not_found");
}
