//! Requests that cannot be taken: always the same 4xx, with the field's name where there is one.

use hyper::body::Bytes;
use serde_json::json;
use store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::api::site::{ADMIN, Site, bearer, on_each_store};

on_each_store!(
    a_body_that_is_no_message_is_refused_with_the_reason,
    a_text_with_a_nul_is_refused,
    a_body_that_is_too_large_is_refused,
    paths_and_methods_that_are_not_there_are_problems_too,
    queries_are_checked,
    an_empty_trigger_key_is_none,
    what_was_expected_is_said_without_our_types,
    an_id_that_is_none_is_not_found,
    a_list_is_no_object_wherever_it_stands,
    what_the_document_allows_is_taken,
);

async fn a_body_that_is_no_message_is_refused_with_the_reason<S: Store>(site: Site<S>) {
    let auth = bearer(ADMIN);
    let json_type = ("content-type", "application/json");
    let path = "/v1/tenants/default/jobs";
    for (body, status, code, field) in [
        ("{", 400, "malformed_json", None),
        ("", 400, "malformed_json", None),
        ("{} {}", 400, "malformed_json", None),
        ("\u{feff}{}", 400, "malformed_json", None),
        ("[]", 422, "invalid_input", None),
        ("null", 422, "invalid_input", None),
        ("{}", 422, "invalid_input", Some("payload")),
        (r#"{"payload":1,"max_attempts":"three"}"#, 422, "invalid_input", Some("max_attempts")),
        (r#"{"payload":1,"max_attempts":0}"#, 422, "invalid_input", Some("max_attempts")),
        (r#"{"payload":1,"max_attempts":-1}"#, 422, "invalid_input", Some("max_attempts")),
        (r#"{"payload":1,"timeout_seconds":-1}"#, 422, "invalid_input", Some("timeout_seconds")),
        (r#"{"payload":1,"timeout_seconds":0}"#, 422, "invalid_input", Some("timeout_seconds")),
        (r#"{"payload":1,"timeout_seconds":1e300}"#, 422, "invalid_input", Some("timeout_seconds")),
        (r#"{"payload":1,"priority":3000000000}"#, 422, "invalid_input", Some("priority")),
        (r#"{"payload":1,"job_id":"with space"}"#, 422, "invalid_input", Some("job_id")),
        (r#"{"payload":1,"job_id":""}"#, 422, "invalid_input", Some("job_id")),
        (r#"{"payload":1,"runs_on":[""]}"#, 422, "invalid_input", Some("runs_on")),
        (r#"{"payload":1,"runs_on":"os:linux"}"#, 422, "invalid_input", Some("runs_on")),
        (r#"{"payload":1,"effect":"twice"}"#, 422, "invalid_input", Some("effect")),
    ] {
        let reply = site.send("POST", path, &[("authorization", &auth), json_type], body.into()).await;
        let problem = reply.refused(status, code);
        assert_eq!(problem.get("field").and_then(|field| field.as_str()), field, "{body}: {problem}");
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
        let headers = [("authorization", auth.as_str()), ("content-type", kind)];
        let reply = site.send("POST", path, &headers, r#"{"payload":1}"#.into()).await;
        reply.refused(415, "unsupported_media_type");
    }
    let headers = [("authorization", auth.as_str()), ("content-type", "Application/JSON; charset=utf-8")];
    site.send("POST", path, &headers, r#"{"payload":1,"unknown":[]}"#.into()).await.expect(201);
}

async fn a_text_with_a_nul_is_refused<S: Store>(site: Site<S>) {
    let path = "/v1/tenants/default/jobs";
    for payload in ["\0", "a\\\0b"] {
        site.post(ADMIN, path, json!({"payload": payload})).await.refused(422, "invalid_input");
    }
    site.post(ADMIN, path, json!({"payload": "\\u0000 is only six letters"})).await.expect(201);
    site.get(ADMIN, "/v1/tenants/%00").await.refused(404, "not_found");
    site.get(ADMIN, "/v1/tenants/default/jobs/a%00b").await.refused(404, "not_found");
    site.get(ADMIN, "/v1/tenants/default/events?entity=%00").await.refused(404, "entity_not_found");
    site.get(ADMIN, "/v1/tenants/default/jobs/%ff").await.refused(404, "not_found");
}

async fn a_body_that_is_too_large_is_refused<S: Store>(site: Site<S>) {
    let large = "x".repeat(1024 * 1024);
    let reply = site.post(ADMIN, "/v1/tenants/default/jobs", json!({"payload": large})).await;
    reply.refused(413, "body_too_large");
    let medium = "x".repeat(300 * 1024);
    let reply = site.post(ADMIN, "/v1/tenants/default/jobs", json!({"payload": medium})).await;
    reply.refused(422, "invalid_input");
    let chunk = vec![b'x'; 256 * 1024 + 1];
    let headers = [("authorization", &*bearer(ADMIN)), ("delta-lease", "lease_x"), ("delta-offset", "0")];
    site.send("POST", "/v1/runner/logs", &headers, Bytes::from(chunk)).await.refused(413, "body_too_large");
    // A length that is not promised is counted.
    let mut stream = tokio::net::TcpStream::connect(site.address()).await.expect("the server listens");
    let head = format!(
        "POST /v1/tenants/default/jobs HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        bearer(ADMIN)
    );
    stream.write_all(head.as_bytes()).await.expect("the head is sent");
    let piece = format!("{:x}\r\n{}\r\n", 64 * 1024, "x".repeat(64 * 1024));
    for _ in 0..17 {
        if stream.write_all(piece.as_bytes()).await.is_err() {
            break; // the server has heard enough
        }
    }
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.expect("an answer comes");
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 413");
}

async fn paths_and_methods_that_are_not_there_are_problems_too<S: Store>(site: Site<S>) {
    for path in ["/", "/v1", "/v1/tenants/default/nothing", "/v1/tenants/default/jobs/x/y/z"] {
        site.get(ADMIN, path).await.refused(404, "no_such_route");
    }
    for (method, path, allow) in [
        ("PUT", "/v1/tenants", "POST,GET,HEAD"),
        ("POST", "/healthz", "GET,HEAD"),
        ("GET", "/v1/runner/lease", "POST"),
        ("GET", "/v1/tenants/default/tokens/x", "DELETE"),
    ] {
        let reply = site.send(method, path, &[], Bytes::new()).await;
        reply.refused(405, "method_not_allowed");
        let sorted = |text: &str| {
            let mut methods: Vec<String> = text.split(',').map(|method| method.trim().into()).collect();
            methods.sort();
            methods
        };
        assert_eq!(sorted(reply.header("allow")), sorted(allow), "{method} {path}");
    }
}

async fn queries_are_checked<S: Store>(site: Site<S>) {
    for (query, field) in [("limit=many", "limit"), ("limit=-1", "limit"), ("after=what", "after")] {
        for list in ["runs", "tokens", "events"] {
            let path = format!("/v1/tenants/default/{list}?{query}");
            let problem = site.get(ADMIN, &path).await.refused(422, "invalid_input");
            assert_eq!(problem["field"], field, "{path}");
        }
    }
    for query in ["limit=0", "limit=1000000", "limit=99999999999999999999999", "limit=", "after=", "other=1"]
    {
        for list in ["runs", "tokens", "events", "runners"] {
            site.get(ADMIN, &format!("/v1/tenants/default/{list}?{query}")).await.expect(200);
        }
    }
    for (query, field) in [("after=-1", "after"), ("entity=", "entity"), ("entity=&after=1", "entity")] {
        let path = format!("/v1/tenants/default/events?{query}");
        let problem = site.get(ADMIN, &path).await.refused(422, "invalid_input");
        assert_eq!(problem["field"], field, "{path}");
    }
    site.get(ADMIN, "/v1/tenants/default/runs?limit=1&limit=2").await.refused(400, "invalid_query");
    site.get(ADMIN, "/v1/tenants/default/runners?after=%20").await.refused(422, "invalid_input");
}

async fn an_id_that_is_none_is_not_found<S: Store>(site: Site<S>) {
    for id in ["x", "run_", "run_00000000000000000000000001", "job_00000000000000000000000001", "%20", "é"] {
        let id = id.replace('é', "%C3%A9");
        site.get(ADMIN, &format!("/v1/tenants/default/runs/{id}")).await.refused(404, "run_not_found");
        site.get(ADMIN, &format!("/v1/tenants/default/jobs/{id}")).await.refused(404, "job_not_found");
        site.get(ADMIN, &format!("/v1/tenants/default/jobs/{id}/log")).await.refused(404, "job_not_found");
        for act in ["cancel", "rerun"] {
            let path = format!("/v1/tenants/default/runs/{id}/{act}");
            site.post(ADMIN, &path, json!({})).await.refused(404, "run_not_found");
        }
        for act in ["cancel", "retry"] {
            let path = format!("/v1/tenants/default/jobs/{id}/{act}");
            site.post(ADMIN, &path, json!({})).await.refused(404, "job_not_found");
        }
        let path = format!("/v1/tenants/default/events?entity={id}");
        site.get(ADMIN, &path).await.refused(404, "entity_not_found");
    }
}

/// All whose key came out empty would share one run.
async fn an_empty_trigger_key_is_none<S: Store>(site: Site<S>) {
    let path = "/v1/tenants/default/runs";
    let keyed = |key: &str| json!({"trigger_key": key, "plan": {"jobs": [{"name": "a"}]}});
    let problem = site.post(ADMIN, path, keyed("")).await.refused(422, "invalid_input");
    assert_eq!(problem["field"], "trigger_key");
    site.post(ADMIN, path, keyed("1")).await.expect(201);
    site.post(ADMIN, path, keyed("1")).await.expect(200);
}

async fn what_was_expected_is_said_without_our_types<S: Store>(site: Site<S>) {
    let asked = json!({"runner_id": "r1", "wait_seconds": "soon"});
    let problem = site.post(ADMIN, "/v1/runner/lease", asked).await.refused(422, "invalid_input");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(detail.ends_with("expected a number"), "{detail}");
}

/// serde takes a struct's fields as a list too, in whatever order they are declared.
async fn a_list_is_no_object_wherever_it_stands<S: Store>(site: Site<S>) {
    let tenant = site.tenant("acme").await;
    let (_, lease) = site.active_job(&tenant).await;
    let beat = json!({"type": "Heartbeat", "lease_id": lease, "runner_id": "r1", "ts": "2026-01-04T08:00:00Z",
        "progress": [null, null]});
    let problem = site.post(&tenant.runner, "/v1/runner/heartbeat", beat).await.refused(422, "invalid_input");
    assert_eq!(problem["field"], "progress");
    let commit = json!({"type": "Commit", "lease_id": lease, "runner_id": "r1", "effects": [["result", 1]]});
    let problem = site.post(&tenant.runner, "/v1/runner/commit", commit).await.refused(422, "invalid_input");
    assert_eq!(problem["field"], "effects[0]");
    let path = format!("{}/runs", tenant.path);
    for (plan, field) in [(json!([[]]), "plan"), (json!({"jobs": [["a", ["true"]]]}), "plan.jobs[0]")] {
        let problem =
            site.post(&tenant.tenant, &path, json!({"plan": plan})).await.refused(422, "invalid_input");
        assert_eq!(problem["field"], field);
    }
}

/// What a reader of the document may send, although serde or a count of bytes would have said no.
async fn what_the_document_allows_is_taken<S: Store>(site: Site<S>) {
    let tenant = site.tenant("acme").await;
    let jobs = format!("{}/jobs", tenant.path);
    let whole = json!({"payload": 1, "max_attempts": 3.0, "priority": -2.0, "job_id": "floats"});
    let path = format!(
        "{jobs}/{}",
        site.post(&tenant.tenant, &jobs, whole).await.expect(201)["id"].as_str().expect("an id")
    );
    let shown = site.get(&tenant.tenant, &path).await.expect(200);
    assert_eq!((&shown["max_attempts"], &shown["priority"]), (&json!(3), &json!(-2)));
    site.post(&tenant.tenant, &jobs, json!({"payload": 1, "max_attempts": 1.5}))
        .await
        .refused(422, "invalid_input");
    // A limit on a text counts its characters, not its bytes.
    let (most, more) = ("ü".repeat(128), "ü".repeat(129));
    site.post(&tenant.tenant, &jobs, json!({"payload": 1, "runs_on": [most]})).await.expect(201);
    site.post(&tenant.tenant, &jobs, json!({"payload": 1, "runs_on": [more]}))
        .await
        .refused(422, "invalid_input");
    let asked = json!({"runner_id": "r1", "capabilities": ["ü".repeat(128)], "wait_seconds": 0});
    site.post(&tenant.runner, "/v1/runner/lease", asked).await.expect(200);
    let tokens = format!("{}/tokens", tenant.path);
    site.post(&tenant.tenant, &tokens, json!({"kind": "runner", "name": "ü".repeat(200)})).await.expect(201);
    let long = json!({"kind": "runner", "name": "ü".repeat(201)});
    site.post(&tenant.tenant, &tokens, long).await.refused(422, "invalid_input");
    // A body that may be left out may be null.
    let runs = format!("{}/runs", tenant.path);
    let plan = json!({"plan": {"jobs": [{"name": "ü".repeat(200)}]}});
    let run = site.post(&tenant.tenant, &runs, plan).await.expect(201);
    let run = format!("{runs}/{}", run["id"].as_str().expect("an id"));
    site.post(&tenant.tenant, &format!("{run}/cancel"), json!(null)).await.expect(202);
    site.post(&tenant.tenant, &format!("{run}/rerun"), json!(null)).await.expect(201);
    site.get(&tenant.tenant, &format!("{path}/log?follow=")).await.refused(422, "invalid_input");
}
