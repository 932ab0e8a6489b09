//! `deltaci runs` and `deltaci show`.

use super::job_of;
use crate::harness::Site;
use crate::{stderr, stdout};

const PLAN: &str = r#"{"jobs":[
    {"name":"lint","steps":["true"]},
    {"name":"unit","needs":["lint"],"steps":["exit 7"]},
    {"name":"deploy","needs":["unit"],"steps":["true"]}]}"#;

#[test]
fn runs_are_listed_the_newest_first_and_page_by_page() {
    let site = Site::start();
    let none = site.exits(0, &["runs"]);
    assert!(stdout(&none).is_empty() && stderr(&none).contains("no runs"));
    let old = site.said(&["trigger", "--step", "true", "--ref", "main", "--commit", "0123456789abcdef"]);
    let new = site.said(&["trigger", "--step", "true"]);
    let all = site.said(&["runs"]);
    let lines: Vec<&str> = all.lines().collect();
    assert!(lines[0].starts_with("RUN") && lines[1].starts_with(&new) && lines[2].starts_with(&old), "{all}");
    assert!(lines[2].contains("○ queued") && lines[2].ends_with("main @ 0123456789"), "{all}");
    assert!(lines[2].contains("0/1"), "{all}");
    let page = site.exits(0, &["runs", "--limit", "1"]);
    assert!(!stdout(&page).contains(&old));
    assert!(stderr(&page).contains(&format!("older: deltaci runs --after {new}")), "{}", stderr(&page));
    assert!(site.said(&["runs", "--after", &new]).contains(&old));
    let json = site.json(&["runs", "--limit", "1"]);
    assert_eq!((&json["items"][0]["id"], &json["next"]), (&new.clone().into(), &new.into()));
}

#[test]
fn a_run_is_shown_with_its_jobs_as_a_tree_and_why_it_failed() {
    let site = Site::start().with_runner();
    let plan = site.file("plan.json", PLAN);
    let run = site.exits(1, &["trigger", "--plan", &plan, "--wait"]);
    let run = stdout(&run).trim_end().to_string();
    let shown = site.said(&["show", &run]);
    assert!(shown.starts_with(&format!("✗ failed  {run}\n")), "{shown}");
    for part in ["✓ succeeded  lint", "✗ failed     └─ unit", "⊘ canceled      └─ deploy", "exit code 7"]
    {
        assert!(shown.contains(part), "{part} in:\n{shown}");
    }
    let unit = job_of(&site, &run, "unit");
    assert!(
        shown.contains(&format!("next: deltaci logs {unit}\n      deltaci rerun {run} --failed")),
        "{shown}"
    );
    let json = site.json(&["show", &run]);
    assert_eq!((&json["outcome"], &json["jobs"][1]["state"]), (&"FAILED".into(), &"FAILED".into()));

    let shown = site.said(&["show", &unit]);
    assert!(shown.starts_with(&format!("✗ failed  unit  {unit}\n")), "{shown}");
    for part in [run.as_str(), "attempt 1 of", "lease completed", "exit 7", "exec_", "next: deltaci logs"] {
        assert!(shown.contains(part), "{part} in:\n{shown}");
    }
    assert_eq!(site.json(&["show", &unit])["attempts"][0]["failure_class"], "failure");
}

#[test]
fn what_is_not_there_is_a_usage_error() {
    let site = Site::start();
    for (id, says) in [
        ("run_00000000000000000000000000", "no such run"),
        ("job_00000000000000000000000000", "no such job"),
        ("exec_00000000000000000000000000", "deltaci explain exec_"),
        ("a job/with?odd#letters", "no such job"),
    ] {
        let output = site.exits(2, &["show", id]);
        assert!(stderr(&output).contains(says), "{id}: {}", stderr(&output));
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let site = Site::start();
    site.said(&["trigger", "--step", "true"]);
    let mut command = site.command(&["runs"]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}
