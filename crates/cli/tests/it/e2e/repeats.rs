//! Messages doubled and lost, one kind after the other: the job does not notice.

use crate::e2e::patience::until_so;
use crate::e2e::proxy::{Fault, Gate};
use crate::e2e::site::{LONG, Site};
use crate::e2e::views::{executions, lease_states};
use crate::e2e::worker::Worker;

/// Says three lines, long enough apart for each to travel alone.
const LINES: &str = "for line in one two three; do echo \"line $line\"; sleep 0.4; done";

#[track_caller]
fn has_each_line_once(site: &Site, name: &str) {
    let log = site.log(name);
    for line in ["line one\n", "line two\n", "line three\n"] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
}

#[test]
fn a_runner_whose_every_message_arrives_twice_runs_its_job_once() {
    let site = Site::start(&LONG);
    let worker = Worker::start(&site, "a", &[]);
    for word in ["ack", "heartbeat", "logs", "complete", "cancel-ack"] {
        worker.proxy.fail(word, usize::MAX, Fault::Twice);
    }
    site.submit("doubled", &site.noted("doubled", LINES));
    site.ran_once("doubled");
    has_each_line_once(&site, "doubled");
    for word in ["ack", "complete"] {
        let answers = worker.proxy.seen(word);
        assert!(
            answers.iter().all(|answer| answer.status() == Some(200)),
            "{word}: a repeat is answered alike"
        );
    }
    site.submit("stopped", &site.noted("stopped", "sleep 600"));
    site.until_noted("begin stopped");
    site.cancel("stopped");
    let job = site.until_job("stopped", "CANCELED");
    assert_eq!(lease_states(&job), ["CANCELED"]);
    site.is_healthy();
}

/// Each kind of message lost on the way there, then each answer lost on the way back.
fn one_is_lost(fault: &Fault) {
    let site = Site::start(&LONG);
    let worker = Worker::start(&site, "a", &[]);
    for word in ["ack", "heartbeat", "logs", "complete"] {
        site.until_waiting(1);
        worker.proxy.fail(word, 1, fault.clone());
        let name = format!("lost-{word}");
        site.submit(&name, &site.noted(&name, LINES));
        site.ran_once(&name);
        has_each_line_once(&site, &name);
        assert!(worker.proxy.seen(word).iter().any(|lost| lost.status() == Some(200)));
    }
    until_so("four jobs are completed, one of them twice", || worker.proxy.seen("complete").len() > 4);
    site.is_healthy();
}

#[test]
fn an_acknowledgement_a_heartbeat_a_log_chunk_or_a_completion_that_is_lost_is_said_again() {
    one_is_lost(&Fault::LoseRequest);
}

#[test]
fn the_answer_to_an_acknowledgement_a_heartbeat_a_log_chunk_or_a_completion_may_be_lost() {
    one_is_lost(&Fault::LoseAnswer);
}

#[test]
fn a_log_chunk_that_arrives_late_and_again_is_not_written_twice() {
    let site = Site::start(&LONG);
    let gate = Gate::default();
    let worker = Worker::start(&site, "a", &[]);
    worker.proxy.fail("logs", 1, Fault::Hold(gate.clone()));
    let script = format!("{LINES}; {}", site.waits_for("go"));
    site.submit("late", &site.noted("late", &script));
    site.until_logged("late", "line three\n");
    gate.open();
    until_so("the late chunk arrives", || worker.proxy.seen("logs")[0].answer.is_some());
    assert_eq!(worker.proxy.seen("logs")[0].status(), Some(416), "the server has these bytes");
    site.touch("go");
    site.ran_once("late");
    has_each_line_once(&site, "late");
}

#[test]
fn a_completion_whose_answer_is_lost_is_accepted_when_repeated_and_committed_once() {
    let site = Site::start(&LONG);
    let mut worker = Worker::start(&site, "a", &["--once"]);
    worker.proxy.fail("complete", 2, Fault::LoseAnswer);
    site.submit("told", &site.noted("told", "true"));
    site.ran_once("told");
    assert!(worker.program.ended().success());
    let said = worker.proxy.seen("complete");
    assert!(said.len() >= 3, "two answers were lost");
    assert!(said.iter().all(|word| word.answered()["accepted"] == true), "{said:?}");
    assert_eq!(site.commits("told"), 1);
}

#[test]
fn a_grant_whose_answer_is_lost_is_taken_back_and_costs_the_job_nothing() {
    let site = Site::start(&[]);
    let worker = Worker::start(&site, "a", &[]);
    site.until_waiting(1);
    // The poll that waits is answered; the answer falls into the cut.
    worker.proxy.cut();
    site.submit("offered", &site.noted("offered", "true"));
    until_so("the lease is granted", || !executions(&site.job("offered")).is_empty());
    until_so("the answer is there", || worker.proxy.seen("lease").iter().any(|it| it.status() == Some(200)));
    worker.proxy.heal();
    site.ran_again("offered");
    let job = site.job("offered");
    assert_eq!(lease_states(&job)[0], "REVOKED");
    assert_eq!(job["attempts"].as_array().map(Vec::len), Some(1), "{job:#}");
    assert_eq!(site.noted_lines("begin offered"), 1);
    site.is_healthy();
}

#[test]
fn a_request_for_work_that_arrives_twice_costs_the_job_nothing() {
    let site = Site::start(&[]);
    site.submit("first", &site.noted("first", &site.waits_for("go")));
    let worker = Worker::start(&site, "a", &[]);
    site.until_noted("begin first");
    worker.proxy.fail("lease", 1, Fault::Twice); // the next one
    site.submit("second", &site.noted("second", "true"));
    site.touch("go");
    site.ran_once("first");
    site.ran_again("second");
    let job = site.job("second");
    assert_eq!(lease_states(&job), ["REVOKED", "COMPLETED"]);
    assert_eq!(job["attempts"].as_array().map(Vec::len), Some(1), "{job:#}");
    assert_eq!(site.noted_lines("begin second"), 1);
    site.is_healthy();
}
