//! `deltaci trigger`: each way to say what shall run, and each way it can end.

use std::io::Write;
use std::process::{Command, Stdio};

use super::{state_of, wait_for_state};
use crate::harness::{Site, binary, wait_until};
use crate::{stderr, stdout};

#[test]
fn a_run_of_one_job_is_started_and_waited_for() {
    let site = Site::start().with_runner();
    let words = ["trigger", "--step", "test \"$GREETING\" = hello", "--env", "GREETING=hello", "--wait"];
    let output = site.exits(0, &words);
    let run = stdout(&output).trim_end();
    assert!(run.starts_with("run_") && !run.contains('\n'), "only the id is data: {run}");
    assert!(stderr(&output).contains("✓ job  succeeded"), "{}", stderr(&output));
    assert_eq!(state_of(&site, run), "SUCCESS");
    let words = ["trigger", "--step", "true", "--name", "quick", "--runs-on", "os:linux", "--wait"];
    let run = site.json(&words);
    assert_eq!((&run["outcome"], &run["jobs"][0]["name"]), (&"SUCCESS".into(), &"quick".into()));
}

#[test]
fn a_plan_comes_from_a_file_or_from_stdin() {
    let site = Site::start();
    let plan = r#"{"jobs":[{"name":"a","steps":["true"]},{"name":"b","needs":["a"],"steps":["true"]}]}"#;
    let file = site.file("plan.json", plan);
    let words = ["trigger", "--plan", &file, "--repository", "https://example.org/x.git", "--ref", "main"];
    let run = site.json(&[&words[..], &["--commit", "abc", "--base", "def"]].concat());
    assert_eq!(run["jobs"].as_array().unwrap().len(), 2);
    for (field, value) in [("ref", "main"), ("commit", "abc"), ("base", "def")] {
        assert_eq!(run[field], value);
    }
    let mut command = site.command(&["trigger", "--plan", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(plan.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output).starts_with("run_"), "{output:?}");
}

#[test]
fn the_same_key_is_the_same_run() {
    let site = Site::start();
    let words = ["trigger", "--step", "true", "--key", "push-1"];
    assert_eq!(site.said(&words), site.said(&words));
}

#[test]
fn the_exit_code_says_how_the_run_ended() {
    let site = Site::start().with_runner();
    let failed = site.exits(1, &["trigger", "--step", "exit 9", "--wait"]);
    assert!(stderr(&failed).contains("exit code 9"), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("next: deltaci logs job_"), "{}", stderr(&failed));
    let slow = r#"{"jobs":[{"name":"slow","steps":["sleep 60"],"timeout_seconds":0.5,"max_attempts":1}]}"#;
    site.exits(6, &["trigger", "--plan", &site.file("slow.json", slow), "--wait"]);
    let words = ["trigger", "--step", "true", "--repository", "/not/there", "--ref", "main", "--wait"];
    let lost = r#"{"jobs":[{"name":"lost","steps":["true"],"max_attempts":1}]}"#;
    let plan = site.file("lost.json", lost);
    site.exits(5, &[&["trigger", "--plan", &plan], &words[3..]].concat());
}

#[test]
fn a_run_that_was_cancelled_meanwhile_exits_so() {
    let site = Site::start();
    let mut command = site.command(&["trigger", "--step", "true", "--key", "k", "--wait"]);
    let mut waiting = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let run = site.said(&["trigger", "--step", "true", "--key", "k"]);
    wait_for_state(&site, &run, "QUEUED");
    site.said(&["cancel", &run]);
    assert_eq!(waiting.wait().unwrap().code(), Some(3));
}

#[test]
fn a_run_that_nobody_takes_times_out() {
    let site = Site::start_with(&["--run-timeout", "500ms"]);
    site.exits(6, &["trigger", "--step", "true", "--wait"]);
}

#[test]
fn what_cannot_run_is_a_usage_error() {
    let site = Site::start();
    let not_json = site.file("a.json", "jobs: []");
    let no_name = site.file("b.json", r#"{"jobs":[{"steps":["true"]}]}"#);
    let cycle = site.file("c.json", r#"{"jobs":[{"name":"a","needs":["a"],"steps":["true"]}]}"#);
    for (words, says) in [
        (&["trigger"][..], "say what to run"),
        (&["trigger", "--plan", &not_json], "expected a JSON object"),
        (&["trigger", "--plan", &no_name], "jobs[0].name"),
        (&["trigger", "--plan", &cycle], "plan"),
        (&["trigger", "--plan", "/not/there.json"], "cannot read the plan"),
        (&["trigger", "--plan", &cycle, "--step", "true"], "cannot be used with"),
        (&["trigger", "--step", "true", "--env", "=x"], "write NAME=VALUE"),
        (&["trigger", "--env", "A=b"], "--step"),
    ] {
        let output = site.exits(2, words);
        assert!(stderr(&output).contains(says), "{words:?}: {}", stderr(&output));
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn who_waits_for_a_job_that_no_runner_can_take_is_told_so() {
    let site = Site::start();
    let words = ["trigger", "--step", "true", "--runs-on", "os:plan9", "--wait"];
    let log = site.folder.path().join("log");
    let mut command = site.command(&words);
    let mut child =
        command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    wait_until("it says why nothing begins", || {
        std::fs::read_to_string(&log).is_ok_and(|said| said.contains("waits for a runner"))
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn ctrl_c_ends_the_looking_on_and_says_that_the_run_goes_on() {
    let site = Site::start();
    let run = site.said(&["trigger", "--step", "true"]);
    for words in [&["logs", &run, "--follow"][..], &["trigger", "--step", "true", "--key", "k", "--wait"]] {
        let log = std::fs::File::create(site.folder.path().join("log")).unwrap();
        let mut command = site.command(words);
        let mut child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let caught = format!("/proc/{}/status", child.id());
        wait_until("it hears Ctrl-C", || {
            std::fs::read_to_string(&caught).is_ok_and(|it| catches_interrupts(&it))
        });
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{words:?}");
        let said = std::fs::read_to_string(site.folder.path().join("log")).unwrap();
        assert!(said.contains("goes on; cancel it with `deltaci cancel run_"), "{words:?}: {said}");
    }
    assert_eq!(site.json(&["runs"])["items"].as_array().unwrap().len(), 2);
}

/// By the mask in a process's status; SIGINT is its second signal.
fn catches_interrupts(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}

#[test]
fn a_key_without_a_letter_is_wrong_usage() {
    for words in [&["trigger", "--step", "true", "--key", ""][..], &["explain", ""], &["show", ""]] {
        assert_eq!(binary(words).output().unwrap().status.code(), Some(2), "{words:?}");
    }
}
