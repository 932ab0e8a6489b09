//! A job's artifacts: uploaded under its lease, visible with its commit, published with it.

use std::sync::Arc;

use decisions::Policy;
use serde_json::{Value, json};
use server::artifacts::Judge;
use store::{Memory, Store};

use crate::api::artifacts::{digest_of, text};
use crate::api::site::{Reply, Site, Tenant, on_each_store};

on_each_store!(
    a_job_publishes_what_it_made,
    a_job_that_publishes_something_else_under_the_same_name_fails,
    after_its_commit_a_job_succeeds_also_when_its_version_is_taken,
    what_a_job_says_it_brought_must_be_here,
    the_tests_of_a_job_are_told_however_it_ended,
    what_tests_told_of_a_failure_is_in_no_later_attempts_way,
);

/// A run of one job that publishes; the job's id and its lease.
async fn leased<S: Store>(site: &Site<S>, tenant: &Tenant, version: &str) -> (String, String) {
    let job = json!({"name": "build", "steps": ["make"], "publish": {"package": "app", "version": version}});
    let asked = json!({"plan": {"jobs": [job]}});
    let run = site.post(&tenant.tenant, &format!("{}/runs", tenant.path), asked).await.expect(201);
    let lease = site.lease(tenant).await;
    let job = text(&run["jobs"][0]["id"]);
    site.ack(tenant, &job, &lease).await.expect(200);
    (job, lease)
}

async fn complete<S: Store>(site: &Site<S>, tenant: &Tenant, lease: &str, artifacts: Value) -> Reply {
    let said = json!({"type": "Complete", "lease_id": lease, "runner_id": "r1", "status": "SUCCEEDED",
        "exit_code": 0, "summary": "done", "artifacts": artifacts});
    site.post(&tenant.runner, "/v1/runner/complete", said).await
}

async fn shown<S: Store>(site: &Site<S>, tenant: &Tenant, what: &str) -> Value {
    site.get(&tenant.tenant, &format!("{}/{what}", tenant.path)).await.expect(200)
}

async fn bring<S: Store>(site: &Site<S>, tenant: &Tenant, lease: &str, bytes: &[u8]) -> String {
    let digest = digest_of(bytes);
    let path = format!("{}/blobs/{digest}", tenant.path);
    site.put(&tenant.runner, &path, &[("delta-lease", lease)], bytes).await;
    digest
}

async fn a_job_publishes_what_it_made<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = leased(&site, &acme, "1").await;
    let digest = bring(&site, &acme, &lease, b"a program").await;
    let missing = format!("{}/packages/app/versions/1", acme.path);
    site.get(&acme.tenant, &missing).await.refused(404, "version_not_found");
    let artifacts = json!([
        {"type": "binary", "path": "target/app", "uri": format!("blob:{digest}")},
        {"type": "file", "path": "target/app", "uri": format!("blob:{digest}")},
        {"type": "log", "uri": "https://elsewhere.example/log"},
    ]);
    for _ in 0..2 {
        let done = complete(&site, &acme, &lease, artifacts.clone()).await.expect(200);
        assert_eq!(done["accepted"], true);
    }
    let job = shown(&site, &acme, &format!("jobs/{job}")).await;
    assert_eq!(job["state"], "SUCCEEDED");
    assert_eq!(
        job["artifacts"][0],
        json!({"type": "binary", "path": "target/app", "uri": format!("blob:{digest}"), "digest": digest,
            "length": 9})
    );
    assert_eq!(job["artifacts"][2]["uri"], "https://elsewhere.example/log");
    let version = shown(&site, &acme, "packages/app/versions/1").await;
    assert_eq!(
        (&version["state"], &version["entries"][0]["path"]),
        (&json!("published"), &json!("target/app"))
    );
    let file = format!("{}/packages/app/versions/1/files/target/app", acme.path);
    assert_eq!(site.get(&acme.tenant, &file).await.body, "a program");
}

async fn a_job_that_publishes_something_else_under_the_same_name_fails<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for (bytes, state) in [(&b"first"[..], "SUCCEEDED"), (b"first", "SUCCEEDED"), (b"second", "FAILED")] {
        let (job, lease) = leased(&site, &acme, "1").await;
        let digest = bring(&site, &acme, &lease, bytes).await;
        let artifacts = json!([{"type": "file", "path": "app", "uri": format!("blob:{digest}")}]);
        complete(&site, &acme, &lease, artifacts).await.expect(200);
        assert_eq!(shown(&site, &acme, &format!("jobs/{job}")).await["state"], state);
    }
    let version = shown(&site, &acme, "packages/app/versions/1").await;
    assert_eq!(version["entries"][0]["digest"], json!(digest_of(b"first")));
}

/// Its effect has happened; a refusal would only lose what it made.
async fn after_its_commit_a_job_succeeds_also_when_its_version_is_taken<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for (bytes, kept) in [(&b"first"[..], "first"), (b"second", "second")] {
        let (job, lease) = leased(&site, &acme, "1").await;
        let said = json!({"type": "Commit", "lease_id": lease, "runner_id": "r1", "effects": []});
        site.post(&acme.runner, "/v1/runner/commit", said).await.expect(200);
        let digest = bring(&site, &acme, &lease, bytes).await;
        let artifacts = json!([{"type": "file", "path": "app", "uri": format!("blob:{digest}")}]);
        assert_eq!(complete(&site, &acme, &lease, artifacts).await.expect(200)["accepted"], true);
        let job = shown(&site, &acme, &format!("jobs/{job}")).await;
        assert_eq!((&job["state"], &job["artifacts"][0]["digest"]), (&json!("SUCCEEDED"), &json!(digest)));
        assert_eq!(site.read(&acme, &digest).await.body, kept);
    }
    let version = shown(&site, &acme, "packages/app/versions/1").await;
    assert_eq!(version["entries"][0]["digest"], json!(digest_of(b"first")));
}

async fn what_a_job_says_it_brought_must_be_here<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = leased(&site, &acme, "1").await;
    let digest = bring(&site, &acme, &lease, b"here").await;
    let artifact = |path: &str, uri: String| json!([{"type": "file", "path": path, "uri": uri}]);
    for astray in ["../a", "/etc/passwd", "a/../../b"] {
        let reply = complete(&site, &acme, &lease, artifact(astray, format!("blob:{digest}"))).await;
        assert_eq!(reply.refused(422, "invalid_input")["field"], "artifacts");
    }
    let reply = complete(&site, &acme, &lease, artifact("a", "blob:sha256:00".into())).await;
    reply.refused(422, "invalid_input");
    let missing = format!("blob:{}", digest_of(b"never sent"));
    complete(&site, &acme, &lease, artifact("a", missing)).await.refused(409, "blob_missing");
    assert_eq!(shown(&site, &acme, &format!("jobs/{job}")).await["state"], "RUNNING");
    complete(&site, &acme, &lease, artifact("a", format!("blob:{digest}"))).await.expect(200);
}

const REPORT: &[u8] =
    br#"<testsuite name="s"><testcase name="a" time="0.5"/><testcase name="b"><failure message="no"/>
    </testcase></testsuite>"#;

async fn the_tests_of_a_job_are_told_however_it_ended<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for (status, state) in [("SUCCEEDED", "SUCCEEDED"), ("FAILED", "FAILED")] {
        let (job, lease) = site.active_job(&acme).await;
        let (good, bad) =
            (bring(&site, &acme, &lease, REPORT).await, bring(&site, &acme, &lease, b"no XML").await);
        let artifacts = json!([
            {"type": "junit", "path": "one.xml", "uri": format!("blob:{good}")},
            {"type": "junit", "path": "two.xml", "uri": format!("blob:{good}")},
            {"type": "junit", "path": "bad.xml", "uri": format!("blob:{bad}")},
        ]);
        let said = json!({"type": "Complete", "lease_id": lease, "runner_id": "r1", "status": status,
            "exit_code": 1, "summary": "done", "artifacts": artifacts});
        site.post(&acme.runner, "/v1/runner/complete", said).await.expect(200);
        let shown = shown(&site, &acme, &format!("jobs/{job}")).await;
        assert_eq!(shown["state"], state);
        let tests = &shown["tests"];
        assert_eq!((&tests["total"], &tests["failed"]), (&json!(4), &json!(2)), "{tests}");
        assert_eq!(tests["failures"][0]["name"], "b");
        assert_eq!(tests["unread"][0]["path"], "bad.xml");
    }
}

async fn what_tests_told_of_a_failure_is_in_no_later_attempts_way<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, mut lease) = site.active_job(&acme).await;
    let other = [REPORT, b"<!-- again -->"].concat();
    for (status, report, tests) in
        [("FAILED", Some(REPORT), true), ("FAILED", Some(&other), true), ("SUCCEEDED", None, false)]
    {
        let artifacts = match report {
            Some(report) => {
                let digest = bring(&site, &acme, &lease, report).await;
                json!([{"type": "junit", "path": "one.xml", "uri": format!("blob:{digest}")}])
            }
            None => json!([]),
        };
        let said = json!({"type": "Complete", "lease_id": lease, "runner_id": "r1", "status": status,
            "exit_code": 1, "summary": "done", "artifacts": artifacts});
        site.post(&acme.runner, "/v1/runner/complete", said).await.expect(200);
        let shown = shown(&site, &acme, &format!("jobs/{job}")).await;
        assert_eq!((&shown["state"], shown["tests"].is_object()), (&json!(status), tests), "{shown}");
        if status == "FAILED" {
            let path = format!("{}/jobs/{job}/retry", acme.path);
            site.post(&acme.tenant, &path, json!({})).await.expect(202);
            lease = site.lease(&acme).await;
            site.ack(&acme, &job, &lease).await.expect(200);
        }
    }
}

const RULES: &str = r#"
package deltaci

publish := {"decision": "allow"} if {
    input.version == "good"
    input.actor == "job"
    input.job.name == "build"
    input.entries[0].length == 7
}

publish := {"decision": "quarantine", "reason": "held"} if input.version == "held"
"#;

#[tokio::test]
async fn the_policy_is_asked_before_a_job_publishes() {
    let judge = Judge::from_rego("rules.rego", RULES.into()).expect("they are Rego");
    let store = Arc::new(Memory::default());
    let site = Site::open_with(store, Policy::default(), None, judge, None).await;
    let acme = site.tenant("acme").await;
    for (version, status, job_state, version_state) in [
        ("good", 200, "SUCCEEDED", Some("published")),
        ("held", 200, "SUCCEEDED", Some("draft")),
        ("other", 503, "RUNNING", None),
    ] {
        let (job, lease) = leased(&site, &acme, version).await;
        let digest = bring(&site, &acme, &lease, b"program").await;
        let artifacts = json!([{"type": "file", "path": "app", "uri": format!("blob:{digest}")}]);
        let reply = complete(&site, &acme, &lease, artifacts).await;
        assert_eq!(reply.status, status, "{version}: {}", reply.text());
        assert_eq!(shown(&site, &acme, &format!("jobs/{job}")).await["state"], job_state, "{version}");
        let path = format!("{}/packages/app/versions/{version}", acme.path);
        let found = site.get(&acme.tenant, &path).await;
        match version_state {
            Some(state) => assert_eq!(found.expect(200)["state"], state),
            None => assert_eq!(found.status, 404),
        }
    }
}

/// A word that changes nothing gets its answer, whether or not the policy is there to be asked.
#[tokio::test]
async fn who_has_nothing_to_publish_any_more_does_not_wait_for_the_policy() {
    let judge = Judge::from_rego("rules.rego", RULES.into()).expect("they are Rego");
    let store = Arc::new(Memory::default());
    let site = Site::open_with(store, Policy::default(), None, judge, None).await;
    let acme = site.tenant("acme").await;
    let (job, lease) = leased(&site, &acme, "other").await;
    let digest = bring(&site, &acme, &lease, b"program").await;
    let artifacts = json!([{"type": "file", "path": "app", "uri": format!("blob:{digest}")}]);
    complete(&site, &acme, &lease, artifacts.clone()).await.refused(503, "policy_unavailable");
    site.post(&acme.tenant, &format!("{}/jobs/{job}/cancel", acme.path), json!({})).await.expect(202);
    for _ in 0..2 {
        let answer = complete(&site, &acme, &lease, artifacts.clone()).await.expect(200);
        assert_eq!((&answer["accepted"], &answer["reason"]), (&json!(false), &json!("CANCEL_REQUESTED")));
    }
    assert_eq!(shown(&site, &acme, &format!("jobs/{job}")).await["state"], "CANCELED");
}
