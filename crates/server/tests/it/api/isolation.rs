//! What a second tenant can learn of the first, with something of every kind to be found: nothing, on any route.

use hyper::body::Bytes;
use serde_json::{Value, json};
use store::Store;

use crate::api::artifacts::digest_of;
use crate::api::site::{ADMIN, Reply, Site, Tenant, bearer, on_each_store};

on_each_store!(
    every_route_of_the_document_tells_a_stranger_nothing,
    what_a_stranger_may_list_and_look_up_holds_nothing_of_others,
    a_stranger_with_the_lease_itself_is_told_that_it_is_unknown,
    a_stranger_may_use_the_same_names_without_noticing,
);

/// What the first tenant has; each text would give it away.
struct First {
    tenant: Tenant,
    run: String,
    job: String,
    token: String,
    execution: String,
    lease: String,
    upload: String,
    digest: String,
    telling: Vec<String>,
}

async fn first<S: Store>(site: &Site<S>) -> First {
    let tenant = site.tenant("acme").await;
    let text = |value: &Value| value.as_str().expect("a text").to_string();
    let asked = json!({"trigger_key": "acme-trigger", "repository": "acme-repository",
        "plan": {"jobs": [{"name": "acme-job", "steps": ["acme-step"]}]}});
    let run = site.post(&tenant.tenant, &format!("{}/runs", tenant.path), asked).await.expect(201);
    let lease = site.lease(&tenant).await;
    let job = text(&run["jobs"][0]["id"]);
    site.ack(&tenant, &job, &lease).await.expect(200);
    site.append(&tenant, &lease, 0, b"acme-output\n").await.expect(200);
    let asked = json!({"job_id": "acme-key", "payload": "acme-payload"});
    site.post(&tenant.tenant, &format!("{}/jobs", tenant.path), asked).await.expect(201);
    let shown = site.get(&tenant.tenant, &format!("{}/jobs/{job}", tenant.path)).await.expect(200);
    let execution = text(&shown["attempts"][0]["executions"][0]["exec_id"]);
    let asked = json!({"url": "https://acme.example/acme", "events": ["run.finished"],
        "secret": "acme-secret-of-some-length"});
    site.put_json(&tenant.tenant, &format!("{}/webhooks/acme-package", tenant.path), asked).await.expect(200);
    let tokens = site.get(&tenant.tenant, &format!("{}/tokens", tenant.path)).await.expect(200);
    let token = text(&tokens["items"][0]["id"]);
    let id = text(&site.get(&tenant.tenant, &tenant.path).await.expect(200)["id"]);
    let run = text(&run["id"]);
    let announced = json!({"digest": format!("sha256:{}", "a".repeat(64)), "length": 4});
    let uploads = format!("{}/uploads", tenant.path);
    let upload = text(&site.post(&tenant.tenant, &uploads, announced).await.expect(201)["id"]);
    let digest = digest_of(b"acme-bytes");
    site.put(&tenant.tenant, &format!("{}/blobs/{digest}", tenant.path), &[], b"acme-bytes")
        .await
        .expect(201);
    let draft = json!({"version": "1", "entries": [{"path": "acme-path", "digest": digest}]});
    let versions = format!("{}/packages/acme-package/versions", tenant.path);
    let version = text(&site.post(&tenant.tenant, &versions, draft).await.expect(201)["id"]);
    let telling = [&run, &job, &token, &execution, &lease, &id, &upload, &version, &digest];
    let telling = telling.map(String::clone).to_vec();
    First { tenant, run, job, token, execution, lease, upload, digest, telling }
}

impl First {
    #[track_caller]
    fn is_not_in(&self, reply: &Reply, said: &str) {
        let text = String::from_utf8_lossy(&reply.body);
        // What the stranger said itself may be repeated.
        for telling in self.telling.iter().map(String::as_str).chain(["acme"]) {
            assert!(said.contains(telling) || !text.contains(telling), "{telling} in {text}, asked {said}");
        }
    }

    fn path(&self, template: &str) -> String {
        let id = [
            ("/runs/", &self.run),
            ("/jobs/", &self.job),
            ("/tokens/", &self.token),
            ("/uploads/", &self.upload),
        ];
        let id = id.iter().find(|(part, _)| template.contains(part)).map_or("", |(_, id)| id);
        let path = template.replace("{tenant}", &self.tenant.name).replace("{id}", id);
        let path = path.replace("{digest}", &self.digest).replace("{name}", "acme-package");
        let path = path.replace("{version}", "1").replace("{path}", "acme-path");
        path.replace("{upload}", &self.upload).replace("{number}", "1")
    }
}

async fn every_route_of_the_document_tells_a_stranger_nothing<S: Store>(site: Site<S>) {
    let acme = first(&site).await;
    let beta = site.tenant("beta").await;
    let shared = site.post(ADMIN, "/v1/admin/tokens", json!({"kind": "runner"})).await.expect(201);
    let shared = shared["token"].as_str().expect("a token");
    let mut asked = 0;
    for (template, item) in site.document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let path = acme.path(template);
            assert!(!path.contains('{'), "{template} has a part that this test does not know");
            let guarded = operation["security"].is_array();
            let for_runners = template.starts_with("/v1/runner/");
            for token in [&beta.tenant, &beta.runner, shared, ""] {
                let headers = [("authorization", &*bearer(token)), ("content-type", "application/json")];
                let body = Bytes::from_static(if method == "post" { b"{}" } else { b"" });
                let reply = site.send(&method.to_uppercase(), &path, &headers, body).await;
                let closed = [401, 403, 404].contains(&reply.status);
                assert!(closed || !guarded || for_runners, "{method} {path}: {}", reply.status);
                acme.is_not_in(&reply, &path);
                asked += 1;
            }
        }
    }
    assert!(asked > 100, "the document lists the routes");
}

async fn what_a_stranger_may_list_and_look_up_holds_nothing_of_others<S: Store>(site: Site<S>) {
    let acme = first(&site).await;
    let beta = site.tenant("beta").await;
    for list in [
        "",
        "/runs",
        "/tokens",
        "/runners",
        "/events",
        "/webhooks",
        "/caches",
        "/packages",
        "/packages/acme-package/versions",
    ] {
        let reply = site.get(&beta.tenant, &format!("/v1/tenants/beta{list}")).await;
        reply.expect(200);
        acme.is_not_in(&reply, list);
    }
    for page in ["runs", "tokens"] {
        let after = if page == "runs" { &acme.run } else { &acme.token };
        let path = format!("/v1/tenants/beta/{page}?after={after}");
        acme.is_not_in(&site.get(&beta.tenant, &path).await, &path);
    }
    for part in [format!("blobs/{}", acme.digest), "packages/acme-package/versions/1/files/acme-path".into()]
    {
        site.get(&beta.tenant, &format!("/v1/tenants/beta/{part}")).await.expect(404);
    }
    // Knowing a digest is not having it.
    let draft = json!({"version": "1", "entries": [{"path": "a", "digest": acme.digest}]});
    let path = "/v1/tenants/beta/packages/mine/versions";
    site.post(&beta.tenant, path, draft).await.refused(409, "blob_missing");
    let attempt = format!("{}/1", acme.job);
    for entity in acme.telling.iter().chain([&attempt, &"acme-key".to_string()]) {
        let path = format!("/v1/tenants/beta/events?entity={entity}");
        site.get(&beta.tenant, &path).await.refused(404, "entity_not_found");
    }
    for id in [&acme.job, "acme-key", &acme.execution] {
        for part in ["", "/log"] {
            let path = format!("/v1/tenants/beta/jobs/{id}{part}");
            site.get(&beta.tenant, &path).await.refused(404, "job_not_found");
        }
    }
}

async fn a_stranger_with_the_lease_itself_is_told_that_it_is_unknown<S: Store>(site: Site<S>) {
    let acme = first(&site).await;
    let beta = site.tenant("beta").await;
    let now = "2026-01-04T08:00:00Z";
    for (route, mut said) in [
        ("ack", json!({"type": "AckLease", "job_id": acme.job, "accepted_at": now})),
        ("heartbeat", json!({"type": "Heartbeat", "ts": now})),
        ("commit", json!({"type": "Commit", "effects": []})),
        ("complete", json!({"type": "Complete", "status": "SUCCEEDED", "exit_code": 0})),
        ("cancel-ack", json!({"type": "CancelAck", "final_status": "CANCELED", "ts": now})),
    ] {
        said["lease_id"] = json!(acme.lease);
        said["runner_id"] = json!("r1");
        let stale = site.post(&beta.runner, &format!("/v1/runner/{route}"), said).await.expect(409);
        assert_eq!(
            (&stale["type"], &stale["reason"]),
            (&json!("StaleLease"), &json!("LEASE_UNKNOWN")),
            "{route}"
        );
    }
    let stale = site.append(&beta, &acme.lease, 12, b"mine now").await.expect(409);
    assert_eq!(stale["reason"], "LEASE_UNKNOWN");
    let tenant = site.get(ADMIN, "/v1/tenants/acme").await.expect(200)["id"].clone();
    for asked in [
        json!({"runner_id": "r2", "job_id": acme.job}),
        json!({"runner_id": "r2", "job_id": acme.job, "tenant_id": tenant}),
        json!({"runner_id": "r2", "job_id": "acme-key"}),
        json!({"runner_id": "r2", "job_id": "acme-key", "tenant_id": tenant}),
    ] {
        site.post(&beta.runner, "/v1/runner/lease", asked).await.refused(404, "job_not_found");
    }
    // Work of another tenant is no work.
    site.post(&beta.runner, "/v1/runner/lease", json!({"runner_id": "r2"})).await.expect(204);
    let shown = site.get(&acme.tenant.tenant, &format!("{}/jobs/{}", acme.tenant.path, acme.job)).await;
    assert_eq!(shown.expect(200)["state"], "RUNNING");
}

async fn a_stranger_may_use_the_same_names_without_noticing<S: Store>(site: Site<S>) {
    let acme = first(&site).await;
    let beta = site.tenant("beta").await;
    let asked = json!({"trigger_key": "acme-trigger", "plan": {"jobs": []}});
    let run = site.post(&beta.tenant, "/v1/tenants/beta/runs", asked).await.expect(201);
    assert_ne!(run["id"], json!(acme.run));
    let asked = json!({"job_id": "acme-key", "payload": "another"});
    site.post(&beta.tenant, "/v1/tenants/beta/jobs", asked).await.expect(201);
}
