//! Runs: triggered with and without a plan, listed, cancelled, run again.

use decisions::records::Trust;
use decisions::runs::{CreateRun, RunOrigin};
use serde_json::{Value, json};
use store::Store;
use wire::RunId;

use crate::api::site::{PATIENCE, Site, on_each_store};

on_each_store!(
    a_run_with_a_plan_shows_its_jobs_in_the_plans_order,
    a_runner_gets_the_specification_as_the_plan_has_it,
    the_same_trigger_key_names_the_same_run,
    a_run_without_a_plan_ends_with_a_helpful_word,
    runs_are_listed_the_newest_first,
    a_run_is_cancelled_and_run_again,
    a_plan_that_is_not_sound_is_refused,
    a_plan_shows_what_does_not_run_and_why,
    a_run_is_trusted_unless_its_trigger_says_otherwise,
);

fn two_jobs() -> Value {
    json!({"plan": {"jobs": [
        {"name": "zeta", "steps": ["true"], "needs": ["alpha"]},
        {"name": "alpha", "steps": ["true"], "required": false, "max_attempts": 1},
    ]}})
}

async fn a_run_with_a_plan_shows_its_jobs_in_the_plans_order<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/runs", acme.path);
    let made = site.post(&acme.tenant, &path, two_jobs()).await.expect(201);
    let id = made["id"].as_str().expect("an id");
    assert_eq!(site.get(&acme.tenant, &format!("{path}/{id}")).await.expect(200), made);
    assert_eq!(
        (&made["state"], &made["attempt"], &made["jobs_open"]),
        (&json!("QUEUED"), &json!(1), &json!(2))
    );
    let jobs = made["jobs"].as_array().expect("jobs");
    let brief: Vec<Value> =
        jobs.iter().map(|job| json!([job["name"], job["state"], job["needs"], job["required"]])).collect();
    assert_eq!(brief, [json!(["zeta", "PENDING", ["alpha"], true]), json!(["alpha", "PENDING", [], false])]);
    assert_eq!(made["plan"]["jobs"][0]["decision"], "run");
    assert!(made["plan"]["jobs"][0]["reasons"][0]["rule"].is_string());
}

async fn a_runner_gets_the_specification_as_the_plan_has_it<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let job = json!({"name": "unit", "steps": ["cargo test"], "env": {"CI": "true"}, "workdir": "sub",
        "image": "debian:12", "artifacts": [{"type": "junit", "path_glob": "**/*.xml"}],
        "caches": [{"type": "deps", "key": "k", "paths": ["~/.cargo"]}], "timeout_seconds": 1.5,
        "runs_on": ["os:linux"], "network": false, "retry_on": ["infra", "timeout"], "effect": "once"});
    let trigger = json!({"repository": "https://example.com/r.git", "ref": "refs/heads/main", "commit": "abc",
        "plan": {"jobs": [job]}});
    let made = site.post(&acme.tenant, &format!("{}/runs", acme.path), trigger).await.expect(201);
    let none = json!({"runner_id": "r1"});
    assert_eq!(site.post(&acme.runner, "/v1/runner/lease", none).await.status, 204);
    let asked = json!({"runner_id": "r1", "capabilities": ["os:linux", "arch:x86_64"], "wait_seconds": 20});
    let granted = site.post(&acme.runner, "/v1/runner/lease", asked).await.expect(200);
    assert_eq!(granted["type"], "LeaseGranted");
    assert_eq!((&granted["run_id"], &granted["job_id"]), (&made["id"], &made["jobs"][0]["id"]));
    assert_eq!(granted["max_runtime_seconds"], 1.5);
    let spec = &granted["job_spec"];
    for field in ["name", "steps", "env", "workdir", "image", "artifacts", "caches", "network"] {
        assert_eq!(spec[field], job_field(field), "{field}");
    }
    let checkout =
        json!({"repository": "https://example.com/r.git", "ref": "refs/heads/main", "commit": "abc"});
    assert_eq!(spec["checkout"], checkout);
    let shown =
        site.get(&acme.tenant, &format!("{}/runs/{}", acme.path, made["id"].as_str().expect("id"))).await;
    assert_eq!(shown.expect(200)["state"], "RUNNING");
}

fn job_field(field: &str) -> Value {
    let job = json!({"name": "unit", "steps": ["cargo test"], "env": {"CI": "true"}, "workdir": "sub",
        "image": "debian:12", "artifacts": [{"type": "junit", "path_glob": "**/*.xml"}],
        "caches": [{"type": "deps", "key": "k", "paths": ["~/.cargo"]}], "network": false});
    job[field].clone()
}

async fn the_same_trigger_key_names_the_same_run<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let beta = site.tenant("beta").await;
    let path = format!("{}/runs", acme.path);
    let mut trigger = two_jobs();
    trigger["trigger_key"] = json!("push-1");
    let first = site.post(&acme.tenant, &path, trigger.clone()).await.expect(201);
    let again = site.post(&acme.tenant, &path, trigger.clone()).await.expect(200);
    assert_eq!(first, again);
    let other = site.post(&beta.tenant, &format!("{}/runs", beta.path), trigger).await.expect(201);
    assert_ne!(first["id"], other["id"], "a key is a tenant's own");
    let long = json!({"trigger_key": "k".repeat(513)});
    site.post(&acme.tenant, &path, long).await.refused(422, "invalid_input");
}

async fn a_run_without_a_plan_ends_with_a_helpful_word<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let made =
        site.post(&acme.tenant, &format!("{}/runs", acme.path), json!({"commit": "abc"})).await.expect(201);
    let path = format!("{}/runs/{}", acme.path, made["id"].as_str().expect("an id"));
    let began = std::time::Instant::now();
    let run = loop {
        let run = site.get(&acme.tenant, &path).await.expect(200);
        if run["finished_at"].is_string() {
            break run;
        }
        assert!(began.elapsed() < PATIENCE, "{run}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    assert_eq!(run["outcome"], "FAILED");
    assert!(run["status_message"].as_str().is_some_and(|text| text.contains("`plan`")), "{run}");
    site.post(&acme.tenant, &format!("{path}/rerun"), json!({})).await.refused(409, "run_has_no_plan");
}

async fn runs_are_listed_the_newest_first<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/runs", acme.path);
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, site.post(&acme.tenant, &path, two_jobs()).await.expect(201)["id"].clone());
    }
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = site.get(&acme.tenant, &format!("{path}?limit=2&after={next}")).await.expect(200);
        seen.extend(page["items"].as_array().expect("items").iter().map(|run| run["id"].clone()));
        match page["next"].as_str() {
            Some(after) => next = after.into(),
            None => break,
        }
    }
    // Runs of one millisecond have no order among themselves.
    let time = |id: &Value| id.as_str().expect("an id")[..14].to_string();
    assert_eq!(seen.iter().map(time).collect::<Vec<_>>(), made.iter().map(time).collect::<Vec<_>>());
    seen.sort_by_key(Value::to_string);
    made.sort_by_key(Value::to_string);
    assert_eq!(seen, made);
}

async fn a_run_is_cancelled_and_run_again<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/runs", acme.path);
    let made = site.post(&acme.tenant, &path, two_jobs()).await.expect(201);
    let run = format!("{path}/{}", made["id"].as_str().expect("an id"));
    site.post(&acme.tenant, &format!("{run}/rerun"), json!({})).await.refused(409, "run_not_over");
    site.post(&acme.tenant, &format!("{run}/cancel"), json!({"reason": "not needed"})).await.expect(202);
    let began = std::time::Instant::now();
    loop {
        let shown = site.get(&acme.tenant, &run).await.expect(200);
        if shown["outcome"] == "CANCELED" {
            assert_eq!(shown["status_message"], "not needed");
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{shown}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    // A body may be left out.
    let headers = [("authorization", crate::api::site::bearer(&acme.tenant))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    site.send("POST", &format!("{run}/cancel"), &headers, hyper::body::Bytes::new()).await.expect(202);
    let again =
        site.post(&acme.tenant, &format!("{run}/rerun"), json!({"failed_only": true})).await.expect(201);
    assert_eq!((&again["attempt"], &again["rerun_of"]), (&json!(2), &made["id"]));
    assert_eq!(again["jobs"].as_array().map(Vec::len), Some(2));
}

async fn a_plan_that_is_not_sound_is_refused<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/runs", acme.path);
    for (jobs, code, field) in [
        (json!([{"name": "a", "needs": ["b"]}]), "plan_invalid", None),
        (json!([{"name": "a", "needs": ["a"]}]), "plan_invalid", None),
        (json!([{"name": "a"}, {"name": "a"}]), "plan_invalid", None),
        (json!([{"name": ""}]), "plan_invalid", None),
        (
            json!([{"name": "a", "publish": {"package": "app", "version": "feature/x"}}]),
            "invalid_input",
            Some("publish.version"),
        ),
        (json!([{"steps": []}]), "invalid_input", Some("plan.jobs[0].name")),
        (json!([{"name": "a", "steps": "true"}]), "invalid_input", Some("plan.jobs[0].steps")),
        (json!([{"name": "a", "retry_on": ["luck"]}]), "invalid_input", Some("retry_on")),
        (json!([{"name": "a", "max_attempts": 1000}]), "invalid_input", Some("max_attempts")),
    ] {
        let reply = site.post(&acme.tenant, &path, json!({"plan": {"jobs": jobs}})).await;
        let problem = reply.refused(422, code);
        assert_eq!(problem.get("field").and_then(Value::as_str), field, "{jobs}: {problem}");
    }
    let page = site.get(&acme.tenant, &path).await.expect(200);
    assert_eq!(page["items"], json!([]), "nothing was made");
}

async fn a_plan_shows_what_does_not_run_and_why<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let tenant = site.get(&acme.tenant, &acme.path).await.expect(200);
    let plan = json!({"base": "c0ffee", "source": "file", "concurrency": {"group": "main", "cancel": true}, "jobs": [
        {"name": "docs", "decision": "skip", "spec": {},
            "reasons": [{"rule": "unchanged", "detail": "nothing changed", "base": "c0ffee"}]},
        {"name": "test", "needs": ["docs"], "spec": {},
            "reasons": [{"rule": "changed", "detail": "a file changed", "files": ["a.rs"]}]},
    ]});
    let id = RunId::from_u128(7);
    let create = CreateRun {
        id,
        tenant: tenant["id"].as_str().expect("an id").parse().expect("a tenant's id"),
        trigger_key: None,
        origin: RunOrigin::default(),
        trust: Trust::Untrusted,
        fail_fast: false,
        plan: Some(serde_json::from_value(plan.clone()).expect("a plan")),
    };
    site.server.engine().perform(create).await.expect("it is made");
    let shown = site.get(&acme.tenant, &format!("{}/runs/{id}", acme.path)).await.expect(200);
    assert_eq!(
        (&shown["trust"], &shown["group"], &shown["jobs_total"]),
        (&json!("untrusted"), &json!("main"), &json!(1))
    );
    assert_eq!((&shown["plan"]["base"], &shown["plan"]["source"]), (&json!("c0ffee"), &json!("file")));
    let planned = shown["plan"]["jobs"].as_array().expect("jobs");
    let brief: Vec<Value> = planned.iter().map(|job| json!([job["name"], job["decision"]])).collect();
    assert_eq!(brief, [json!(["docs", "skip"]), json!(["test", "run"])]);
    assert_eq!(planned[0]["reasons"], plan["jobs"][0]["reasons"]);
    assert_eq!(shown["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(shown["jobs"][0]["needs"], json!(["docs"]));
    assert_eq!(shown["jobs"][0]["reasons"], plan["jobs"][1]["reasons"]);
}

async fn a_run_is_trusted_unless_its_trigger_says_otherwise<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/runs", acme.path);
    let mut trigger = two_jobs();
    let made = site.post(&acme.tenant, &path, trigger.clone()).await.expect(201);
    assert_eq!((&made["trust"], &made["group"]), (&json!("trusted"), &json!(null)));
    assert_eq!(made["plan"]["source"], "given");
    assert_eq!(made["plan"]["jobs"][0]["reasons"][0]["rule"], "given");
    trigger["trust"] = json!("untrusted");
    let made = site.post(&acme.tenant, &path, trigger.clone()).await.expect(201);
    assert_eq!(made["trust"], "untrusted");
    trigger["trust"] = json!("perhaps");
    let problem = site.post(&acme.tenant, &path, trigger).await;
    assert_eq!(problem.refused(422, "invalid_input")["field"], "trust");
}
