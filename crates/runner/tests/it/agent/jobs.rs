//! Jobs and their results.

use runner::agent::Left;
use runner::session::{End, Outcome};
use serde_json::json;

use super::orchestrator::{Fault, Orchestrator};
use super::world::{Ended, World, block_on, steps};

/// One job, whose log is kept; and how it ended.
fn job(spec: serde_json::Value, faults: &[(&'static str, Fault)]) -> (Option<Outcome>, Ended) {
    block_on(async {
        let orchestrator = Orchestrator::default();
        orchestrator.with(|inner| inner.queue.push_back(spec));
        faults.iter().for_each(|(call, fault)| orchestrator.fault(call, [*fault]));
        let (left, ended) = World::once(orchestrator).await.left().await;
        let outcome = match left {
            Left::Once(End::Completed(verdict)) => Some(verdict.outcome),
            Left::Once(End::Canceled) => None,
            other => panic!("{other:?}"),
        };
        (outcome, ended)
    })
}

#[test]
fn a_job_is_executed_and_its_log_reads_well() {
    let (outcome, ended) = job(steps(&["print hello", "print world"]), &[]);
    assert_eq!(outcome, Some(Outcome::Succeeded));
    assert_eq!(ended.words(), ["ack", "complete SUCCEEDED 0"]);
    assert_eq!(ended.log, "# process: the test says so\n$ print hello\nhello\n$ print world\nworld\n");
    let complete = ended.last("complete");
    assert_eq!(complete["summary"], "2 steps succeeded");
    assert_eq!(complete["runner_id"], "tester");
    assert!(complete["timings"]["started_at"].as_str() <= complete["timings"]["finished_at"].as_str());
    assert_eq!(ended.last("lease")["capabilities"], json!(["os:linux"]));
}

#[test]
fn a_failure_is_reported_with_the_last_words_of_the_step() {
    let (outcome, ended) = job(steps(&["print error: could not compile", "exit 101"]), &[]);
    assert_eq!(outcome, Some(Outcome::Failed));
    assert_eq!(ended.words(), ["ack", "complete FAILED 101"]);
    let summary = "step 2 of 2 ended with exit code 101: error: could not compile";
    assert_eq!(ended.last("complete")["summary"], summary);
    assert!(ended.log.ends_with("$ exit 101\n# step 2 ended with exit code 101\n"), "{}", ended.log);
}

#[test]
fn trouble_that_is_not_the_jobs_is_told_apart() {
    for (step, outcome, summary) in [
        ("time-out", Outcome::TimedOut, "the job timed out: it ran longer than 3600 s"),
        ("infra no disk", Outcome::Infra, "executor unavailable: no disk"),
        ("vanish", Outcome::Infra, "executor unavailable: the keeper of the job ended without a result"),
        ("no-keeper", Outcome::Infra, "runner startup: the keeper cannot be started: no such program"),
    ] {
        let (found, ended) = job(steps(&[step]), &[]);
        assert_eq!(found, Some(outcome), "{step}");
        assert_eq!(ended.last("complete")["summary"], summary);
        assert_eq!(ended.last("complete")["status"], "FAILED");
    }
}

#[test]
fn a_large_log_arrives_whole_in_chunks_also_when_answers_are_lost() {
    let faults = [("log", Fault::LoseAnswer), ("log", Fault::Status(503))];
    let (outcome, ended) = job(steps(&["spew 2000000"]), &faults);
    assert_eq!(outcome, Some(Outcome::Succeeded));
    let expected: String = (0..2_000_000).map(|at| char::from(b'a' + (at % 23) as u8)).collect();
    assert_eq!(ended.log, format!("# process: the test says so\n$ spew 2000000\n{expected}"));
    assert!(ended.count("log") >= 10, "{}", ended.count("log"));
}

#[test]
fn a_standalone_job_without_steps_fails_with_the_reason() {
    let (outcome, ended) = job(json!({"name": "mine", "payload": {"to": "pay"}}), &[]);
    assert_eq!(outcome, Some(Outcome::Failed));
    assert_eq!(ended.words(), ["ack", "complete FAILED 1"]);
    let summary = ended.last("complete")["summary"].as_str().unwrap_or_default();
    assert!(summary.contains("executes steps only"), "{summary}");
    assert!(ended.log.contains("executes steps only"), "{}", ended.log);
}

#[test]
fn a_standalone_job_with_steps_is_executed() {
    let (outcome, ended) = job(json!({"name": "mine", "payload": {"steps": ["print paid"]}}), &[]);
    assert_eq!(outcome, Some(Outcome::Succeeded));
    assert!(ended.log.ends_with("$ print paid\npaid\n"), "{}", ended.log);
}

#[test]
fn a_job_is_canceled_by_a_heartbeat() {
    let (outcome, ended) = job(steps(&["print before", "wait"]), &[("heartbeat", Fault::Cancel)]);
    assert_eq!(outcome, None);
    assert_eq!(ended.words(), ["ack", "cancel-ack"]);
    assert!(ended.log.ends_with("# stopped\n"), "{}", ended.log);
    assert_eq!(ended.last("cancel-ack")["final_status"], "CANCELED");
    assert_eq!(ended.last("heartbeat")["progress"]["phase"], "running");
}

#[test]
fn a_cancel_that_won_ends_the_job_as_canceled() {
    let (outcome, ended) = job(steps(&["print x"]), &[("complete", Fault::NotAccepted)]);
    assert_eq!(outcome, None);
    assert_eq!(ended.words(), ["ack", "complete SUCCEEDED 0"]);
}

#[test]
fn slots_work_beside_each_other_under_ids_of_their_own() {
    block_on(async {
        let orchestrator = Orchestrator::default();
        orchestrator.with(|inner| inner.queue.extend([steps(&["wait"]), steps(&["wait"])]));
        let world = World::begin(orchestrator, 2, false, super::orchestrator::TOKEN).await;
        world
            .until("two acks", |inner| inner.heard.iter().filter(|heard| *heard == "ack").count() == 2)
            .await;
        let mut runners: Vec<String> = world.orchestrator.with(|inner| {
            let acks = inner.messages.iter().filter(|(call, _)| *call == "ack");
            acks.map(|(_, message)| message["runner_id"].as_str().unwrap_or_default().into()).collect()
        });
        runners.sort();
        assert_eq!(runners, ["tester-1", "tester-2"]);
        world.stop.send_replace(runner::agent::Stop::HandBack);
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Stopped);
        assert_eq!(ended.count("complete"), 2);
    });
}
