//! `deltaci cancel`.

use super::{job_of, state_of, wait_for_state};
use crate::harness::Site;
use crate::{stderr, stdout};

#[test]
fn a_run_at_work_is_cancelled_and_keeps_the_reason() {
    let site = Site::start().with_runner();
    let run = site.said(&["trigger", "--step", "sleep 60"]);
    wait_for_state(&site, &run, "RUNNING");
    let output = site.exits(0, &["cancel", &run, "--reason", "wrong branch", "--wait"]);
    assert!(stdout(&output).is_empty() && stderr(&output).contains("⊘ canceled"), "{}", stderr(&output));
    assert_eq!(state_of(&site, &run), "CANCELED");
    assert!(site.said(&["show", &run]).contains("wrong branch"));
    let again = site.json(&["cancel", &run]);
    assert_eq!(again["over"], true, "asked twice is asked once");
    let again = site.exits(0, &["cancel", &run]);
    assert_eq!(stderr(&again), "⊘ canceled\n", "what it came to, and not that it was reported");
}

#[test]
fn a_job_is_cancelled_on_its_own() {
    let site = Site::start();
    let run = site.said(&["trigger", "--step", "true"]);
    let job = job_of(&site, &run, "job");
    let output = site.exits(2, &["cancel", &job, "--reason", "x"]);
    assert!(stderr(&output).contains("a reason goes with a run"));
    let json = site.json(&["cancel", &job, "--wait"]);
    assert_eq!(json["state"], "CANCELED");
}

#[test]
fn what_is_over_cannot_be_cancelled() {
    let site = Site::start().with_runner();
    let run = site.said(&["trigger", "--step", "true", "--wait"]);
    let output = site.exits(1, &["cancel", &run]);
    assert!(stderr(&output).contains("the run is over (SUCCESS)"), "{}", stderr(&output));
    site.exits(1, &["cancel", &job_of(&site, &run, "job")]);
    site.exits(2, &["cancel", "run_00000000000000000000000000"]);
}
