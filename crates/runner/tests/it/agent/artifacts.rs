//! What a job makes, from its workspace to the final word.

use std::time::Duration;

use runner::agent::{Left, Stop};
use runner::session::{End, Outcome};
use serde_json::{Value, json};
use wire::runner::StaleReason;

use super::orchestrator::{Fault, Orchestrator};
use super::world::{Ended, World, block_on};
use crate::depot::{self, digest_of};

fn spec(steps: &[&str], artifacts: Value) -> Value {
    json!({"name": "job", "steps": steps, "artifacts": artifacts})
}

fn with_job(steps: &[&str], artifacts: Value) -> Orchestrator {
    let orchestrator = Orchestrator::default();
    orchestrator.with(|inner| inner.queue.push_back(spec(steps, artifacts)));
    orchestrator
}

fn once(orchestrator: &Orchestrator) -> (End, Ended) {
    block_on(async {
        match World::once(orchestrator.clone()).await.left().await {
            (Left::Once(end), ended) => (end, ended),
            (other, _) => panic!("{other:?}"),
        }
    })
}

fn outcome(end: &End) -> Outcome {
    match end {
        End::Completed(verdict) => verdict.outcome,
        other => panic!("{other:?}"),
    }
}

fn bin(glob: &str) -> Value {
    json!([{"type": "bin", "path_glob": glob}])
}

/// `path type` of each reference.
fn named(ended: &Ended) -> Vec<String> {
    let refs = ended.last("complete")["artifacts"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    refs.iter().map(|it| format!("{} {}", text(&it["path"]), text(&it["type"]))).collect()
}

#[test]
fn what_a_job_made_is_uploaded_and_named() {
    let artifacts = json!([
        {"type": "bin", "path_glob": "out/**"},
        {"type": "junit", "path_glob": "**/*.xml"},
        {"type": "bin", "path_glob": "{nothing,none}/*.here"},
    ]);
    let make = "sh mkdir -p out/deep; printf hello > out/a; printf hello > out/deep/twin; : > out/empty; \
                echo '<x/>' > out/t.xml; echo no > other.txt";
    let orchestrator = with_job(&[make], artifacts);
    let (end, ended) = once(&orchestrator);
    assert_eq!(outcome(&end), Outcome::Succeeded);
    assert_eq!(
        named(&ended),
        ["out/a bin", "out/deep/twin bin", "out/empty bin", "out/t.xml bin", "out/t.xml junit"]
    );
    let first = &ended.last("complete")["artifacts"][0];
    assert_eq!(first["uri"], format!("blob:{}", digest_of(b"hello")));
    orchestrator.depot.with(|depot| {
        assert_eq!(depot.blobs.len(), 3, "the twin is the same blob");
        assert!(depot.leases.iter().all(|lease| lease.as_deref() == Some("lease_1")), "{:?}", depot.leases);
    });
    assert!(ended.log.contains("# artifacts `{nothing,none}/*.here`: no file matches\n"), "{}", ended.log);
    assert!(ended.log.ends_with("# artifacts: 4 files, 15 bytes uploaded\n"), "{}", ended.log);
    assert_eq!(ended.last("heartbeat")["progress"]["phase"], "uploading");
}

#[test]
fn a_large_file_goes_on_where_the_connection_broke() {
    let orchestrator = with_job(&["sh head -c 20000000 /dev/urandom > big"], bin("big"));
    orchestrator.depot.fault("start", [depot::Fault::Status(503)]);
    orchestrator.depot.fault("content", [depot::Fault::Cut(7_000_000), depot::Fault::Cut(6_000_000)]);
    orchestrator.depot.fault("commit", [depot::Fault::LoseAnswer]);
    let (end, ended) = once(&orchestrator);
    assert_eq!(outcome(&end), Outcome::Succeeded, "{}", ended.log);
    orchestrator.depot.with(|depot| {
        assert_eq!(depot.taken, 20_000_000, "not a byte was sent twice");
        assert_eq!(depot.blobs.values().map(|bytes| bytes.len()).sum::<usize>(), 20_000_000);
        assert_eq!(depot.uploads.len(), 1);
    });
}

#[test]
fn nothing_leads_out_of_the_workspace() {
    let artifacts = json!([
        {"type": "bin", "path_glob": "/etc/passwd"},
        {"type": "bin", "path_glob": "../*"},
        {"type": "bin", "path_glob": "out/*"},
        {"type": "bin", "path_glob": "outside/passwd"},
    ]);
    let make = "sh mkdir out real; ln -s /etc/passwd out/link; ln -s /etc outside; ln -s ../real/x out/inner; \
                mkfifo out/pipe; echo x > real/x; echo good > out/good";
    let orchestrator = with_job(&[make], artifacts);
    let (end, ended) = once(&orchestrator);
    assert_eq!(outcome(&end), Outcome::Succeeded);
    assert_eq!(named(&ended), ["out/good bin"]);
    for line in [
        "# artifacts `/etc/passwd` are left out: a pattern is relative to the workspace",
        "# artifacts `../*` are left out: a pattern may not lead out of the workspace with `..`",
        "# artifacts: `out/link` is left out: it is a symbolic link",
        "# artifacts: `out/inner` is left out: it is a symbolic link",
        "# artifacts: `outside` is left out: it is a symbolic link",
        "# artifacts: `out/pipe` is left out: it is no regular file",
    ] {
        assert!(ended.log.contains(line), "{line} in\n{}", ended.log);
    }
}

#[test]
fn of_a_failed_job_only_reports_are_kept() {
    let artifacts = json!([{"type": "bin", "path_glob": "*"}, {"type": "junit", "path_glob": "*.xml"}]);
    let orchestrator = with_job(&["sh echo '<x/>' > t.xml; echo b > app", "exit 3"], artifacts);
    let (end, ended) = once(&orchestrator);
    assert_eq!(outcome(&end), Outcome::Failed);
    assert_eq!(ended.words(), ["ack", "complete FAILED 3"]);
    assert_eq!(named(&ended), ["t.xml junit"]);
}

#[test]
fn too_many_files_or_bytes_fail_the_job_with_the_reason() {
    let many = "sh mkdir m; i=0; while [ $i -lt 10001 ]; do : > m/$i; i=$((i+1)); done";
    for (step, says) in
        [(many, "more than 10000 files"), ("sh truncate -s 70M m", "larger than 67108864 bytes")]
    {
        let orchestrator = with_job(&[step], bin("m**"));
        let orchestrator = if step == many { with_job(&[step], bin("m/*")) } else { orchestrator };
        let (end, ended) = once(&orchestrator);
        assert_eq!(outcome(&end), Outcome::Failed, "{}", ended.log);
        let summary = ended.last("complete")["summary"].as_str().unwrap();
        assert!(summary.contains(says), "{summary}");
        assert!(ended.log.contains(says), "{}", ended.log);
        assert_eq!(orchestrator.depot.count("put-blob"), 0, "nothing was sent");
    }
}

#[test]
fn an_upload_that_is_refused_is_trouble_around_the_job() {
    let orchestrator = with_job(&["sh echo x > a"], bin("a"));
    orchestrator.depot.fault("put-blob", [depot::Fault::Status(413)]);
    let (end, ended) = once(&orchestrator);
    assert_eq!(outcome(&end), Outcome::Infra);
    let summary = "artifact upload failed: `a`: it is told_to_fail";
    assert_eq!(ended.last("complete")["summary"], summary);
    assert!(ended.log.ends_with("# artifacts are missing: `a`: it is told_to_fail\n"), "{}", ended.log);
}

#[test]
fn a_server_that_does_not_say_whose_job_it_is_takes_no_artifacts() {
    let orchestrator = with_job(&["sh echo x > a"], bin("a"));
    orchestrator.with(|inner| inner.names_tenant = false);
    let (end, ended) = once(&orchestrator);
    assert_eq!(outcome(&end), Outcome::Infra);
    assert!(ended.log.contains("did not say whose job it is"), "{}", ended.log);
    let nothing = with_job(&["print x"], bin("a"));
    nothing.with(|inner| inner.names_tenant = false);
    assert_eq!(outcome(&once(&nothing).0), Outcome::Succeeded, "nothing to bring is no trouble");
}

#[test]
fn small_files_survive_lost_answers_and_go_four_at_a_time() {
    let make = "sh i=0; while [ $i -lt 60 ]; do head -c 300000 /dev/urandom > f$i; i=$((i+1)); done";
    let orchestrator = with_job(&[make], bin("f*"));
    let faults = [depot::Fault::LoseAnswer, depot::Fault::Status(503), depot::Fault::Cut(1000)];
    orchestrator.depot.fault("put-blob", faults);
    orchestrator.depot.with(|depot| depot.gather = 4);
    let (end, ended) = once(&orchestrator);
    assert_eq!(outcome(&end), Outcome::Succeeded, "{}", ended.log);
    assert_eq!(named(&ended).len(), 60);
    assert_eq!(orchestrator.depot.with(|depot| depot.at_a_time.1), 4);
}

#[test]
fn heartbeats_go_on_while_an_upload_hangs_and_a_cancel_stops_it() {
    block_on(async {
        let orchestrator = with_job(&["sh echo x > a"], bin("a"));
        orchestrator.with(|inner| inner.interval = 0.2);
        orchestrator.depot.fault("put-blob", [depot::Fault::Hang]);
        let world = World::once(orchestrator.clone()).await;
        let beats = |inner: &mut super::orchestrator::Inner| {
            let uploading = |(call, message): &&(&str, Value)| {
                *call == "heartbeat" && message["progress"]["phase"] == "uploading"
            };
            inner.messages.iter().filter(uploading).count() >= 3
        };
        world.until("heartbeats while uploading", beats).await;
        orchestrator.fault("heartbeat", [Fault::Cancel; 1000]);
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Once(End::Canceled));
        assert_eq!(ended.words(), ["ack", "cancel-ack"]);
        assert_eq!(ended.last("cancel-ack")["summary"], "canceled while artifacts were uploaded");
    });
}

#[test]
fn a_stale_lease_ends_the_uploads_and_the_talk() {
    let orchestrator = with_job(&["sh echo x > a"], bin("a"));
    orchestrator.depot.fault("put-blob", [depot::Fault::Stale]);
    let (end, ended) = once(&orchestrator);
    assert_eq!(end, End::Stale(StaleReason::LeaseExpired));
    assert_eq!(ended.words(), ["ack"]);
}

#[test]
fn a_runner_that_must_go_does_not_wait_for_uploads() {
    block_on(async {
        let orchestrator = with_job(&["sh echo x > a"], bin("a"));
        orchestrator.depot.fault("put-blob", [depot::Fault::Hang]);
        let world = World::once(orchestrator.clone()).await;
        while orchestrator.depot.count("put-blob") == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        world.stop.send_replace(Stop::HandBack);
        let (left, _) = world.left().await;
        assert!(matches!(left, Left::Once(End::Completed(verdict)) if verdict.outcome == Outcome::Infra));
    });
}
