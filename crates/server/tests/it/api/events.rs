//! The audit log: of one thing, and of all that is a tenant's.

use serde_json::{Value, json};
use store::Store;

use crate::api::artifacts::{digest_of, text};
use crate::api::site::{ADMIN, Site, Tenant, on_each_store};

on_each_store!(
    each_thing_explains_itself,
    what_is_made_of_bytes_explains_itself_to_who_has_it,
    a_reader_that_goes_on_misses_nothing_and_sees_only_its_own,
    runners_are_listed_with_what_they_hold,
);

async fn each_thing_explains_itself<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/runs", acme.path);
    let plan = json!({"plan": {"jobs": [{"name": "a"}]}});
    let run = site.post(&acme.tenant, &path, plan).await.expect(201);
    let job = run["jobs"][0]["id"].as_str().expect("an id").to_string();
    let lease = site.lease(&acme).await;
    site.ack(&acme, &job, &lease).await.expect(200);
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    let shown = site.get(&acme.tenant, &format!("{}/jobs/{job}", acme.path)).await.expect(200);
    let execution = shown["attempts"][0]["executions"][0]["exec_id"].as_str().expect("an id").to_string();
    let tenant = site.get(ADMIN, "/v1/tenants/acme").await.expect(200)["id"].clone();
    let tenant = tenant.as_str().expect("an id");
    let run = run["id"].as_str().expect("an id");
    for (entity, machine) in [
        (run, "run"),
        (&job, "attempt"),
        (&format!("{job}/1"), "attempt"),
        (&execution, "lease"),
        (tenant, "tenant"),
    ] {
        let events =
            site.get(&acme.tenant, &format!("{}/events?entity={entity}", acme.path)).await.expect(200);
        let items = events["items"].as_array().expect("items");
        assert!(items.iter().any(|event| event["machine"] == machine), "{entity}: {events}");
        for field in ["seq", "at", "machine", "entity", "from", "event", "to", "owner", "cause"] {
            assert!(items[0].get(field).is_some(), "{field}");
        }
    }
    let last =
        site.get(&acme.tenant, &format!("{}/events?entity={run}&limit=1", acme.path)).await.expect(200);
    let next = last["next"].as_str().expect("there is more");
    let rest = site.get(&acme.tenant, &format!("{}/events?entity={run}&after={next}", acme.path)).await;
    assert!(rest.expect(200)["items"][0]["seq"].as_i64() > last["items"][0]["seq"].as_i64());
}

async fn what_is_made_of_bytes_explains_itself_to_who_has_it<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let beta = site.tenant("beta").await;
    let upload = text(&site.announce(&acme, b"bytes").await["id"]);
    site.stream(&acme, &upload, b"bytes").await.expect(200);
    let blob = text(&site.step(&acme, &upload, "commit", json!({})).await.expect(200)["blob_id"]);
    let draft = json!({"version": "1", "entries": [{"path": "a", "digest": digest_of(b"bytes")}]});
    let path = format!("{}/packages/app/versions", acme.path);
    let version = text(&site.post(&acme.tenant, &path, draft).await.expect(201)["id"]);
    for (entity, machine) in [(&upload, "upload"), (&blob, "blob"), (&version, "version")] {
        let ask = |tenant: &Tenant| format!("{}/events?entity={entity}", tenant.path);
        let told = site.get(&acme.tenant, &ask(&acme)).await.expect(200);
        assert_eq!(
            (&told["items"][0]["machine"], &told["items"][0]["entity"]),
            (&json!(machine), &json!(entity))
        );
        site.get(&beta.tenant, &ask(&beta)).await.refused(404, "entity_not_found");
    }
    // Who brings the same bytes has the same blob.
    site.bring(&beta, b"bytes").await;
    site.get(&beta.tenant, &format!("{}/events?entity={blob}", beta.path)).await.expect(200);
}

async fn a_reader_that_goes_on_misses_nothing_and_sees_only_its_own<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let beta = site.tenant("beta").await;
    for number in 0..10 {
        for tenant in [&acme, &beta] {
            let body = json!({"job_id": format!("{}-{number}", tenant.name), "payload": 1});
            site.post(&tenant.tenant, &format!("{}/jobs", tenant.path), body).await.expect(201);
        }
    }
    let mut seen: Vec<Value> = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("{}/events?limit=3&after={after}", acme.path);
        let page = site.get(&acme.tenant, &path).await.expect(200);
        let items = page["items"].as_array().expect("items");
        assert!(items.len() <= 3);
        seen.extend(items.iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = next.into(),
            None => break,
        }
    }
    let numbers: Vec<i64> = seen.iter().map(|event| event["seq"].as_i64().expect("a number")).collect();
    assert!(numbers.is_sorted_by(|left, right| left < right), "{numbers:?}");
    let queued = seen.iter().filter(|event| event["to"] == "QUEUED").count();
    assert_eq!(queued, 10, "each of its own jobs, and none of the other's");
}

async fn runners_are_listed_with_what_they_hold<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for name in ["idle-1", "idle-2"] {
        let asked = json!({"runner_id": name, "capabilities": ["os:linux"]});
        assert_eq!(site.post(&acme.runner, "/v1/runner/lease", asked).await.status, 204);
    }
    let (job, _) = site.active_job(&acme).await;
    let path = format!("{}/runners", acme.path);
    let first = site.get(&acme.tenant, &format!("{path}?limit=2")).await.expect(200);
    let next = first["next"].as_str().expect("there is more");
    let second = site.get(&acme.tenant, &format!("{path}?limit=2&after={next}")).await.expect(200);
    let items = [
        first["items"].as_array().expect("items").clone(),
        second["items"].as_array().expect("items").clone(),
    ]
    .concat();
    let brief: Vec<Value> =
        items.iter().map(|it| json!([it["id"], it["state"], it["capabilities"], it["shared"]])).collect();
    assert_eq!(
        brief,
        [
            json!(["idle-1", "alive", ["os:linux"], false]),
            json!(["idle-2", "alive", ["os:linux"], false]),
            json!(["r1", "alive", [], false]),
        ]
    );
    assert_eq!(items[2]["holds"][0]["job_id"], job);
}
