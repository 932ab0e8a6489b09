//! What can be asked after a run, without a server.

use serde_json::{Value, json};

use super::folder::{command, folder_with, job};
use crate::stderr;

#[test]
fn runs_jobs_logs_and_transitions_are_on_record() {
    let folder = folder_with(&[job("hello", &[], &["echo hello there", "exit 3"])]);
    let run = folder.run_to(1, &[])["run_id"].as_str().expect("an id").to_owned();
    assert!(folder.said(&["runs"]).contains(&run));
    let shown: Value = serde_json::from_str(&folder.said(&["show", &run, "--json"])).expect("JSON");
    let id = shown["jobs"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!((&shown["state"], &shown["jobs"][0]["state"]), (&"REPORTED".into(), &"FAILED".into()));
    assert!(folder.said(&["logs", &id]).contains("hello there\n"));
    assert!(folder.said(&["logs", &run]).contains("hello there\n"));
    assert!(folder.said(&["explain", &id]).contains("FAILED"));
    assert!(folder.said(&["explain", &run]).contains("RUNNING"));
    assert!(folder.said(&["doctor"]).contains("every invariant holds"));
    folder.said(&["artifact", "list"]);
}

#[test]
fn artifacts_of_local_runs_can_be_listed_and_pulled() {
    let mut make = job("make", &[], &["mkdir out", "echo made > out/thing"]);
    make.1["artifacts"] = json!([{ "type": "files", "path": "out/*" }]);
    make.1["publish"] = json!({ "package": "app", "version": "1" });
    let folder = folder_with(&[make]);
    folder.run_to(0, &[]);
    assert!(folder.said(&["artifact", "list"]).contains("app@1"));
    let to = folder.beside("pulled");
    folder.said(&["artifact", "pull", "app@1", "--output", to.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(to.join("out/thing")).unwrap(), "made\n");
}

#[test]
fn what_changes_something_needs_a_server() {
    let folder = folder_with(&[job("one", &[], &["true"])]);
    let run = folder.run_to(0, &[])["run_id"].as_str().expect("an id").to_owned();
    for words in [&["cancel", &run][..], &["rerun", &run], &["trigger", "--step", "true"]] {
        let output = command(&folder.path()).args(words).output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(7), "{words:?}");
        assert!(stderr(&output).contains("this needs a server"), "{}", stderr(&output));
    }
}

#[test]
fn a_plan_says_what_would_run_and_writes_nothing() {
    let mut docs = job("docs", &[], &["true"]);
    docs.1["paths"] = json!(["docs/**"]);
    let folder = folder_with(&[job("one", &[], &["true"]), docs]);
    for words in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "-m", "all"],
    ] {
        let git = std::process::Command::new("git").args(words).current_dir(folder.path()).status();
        assert!(git.is_ok_and(|status| status.success()));
    }
    folder.write("input", "new");
    let words = ["plan", "--base", "HEAD"];
    let text = folder.said(&words);
    assert!(text.contains("docs") && text.contains("skip"), "{text}");
    let plan: Value = serde_json::from_str(&folder.said(&[&words[..], &["--json"]].concat())).expect("JSON");
    assert_eq!(plan["jobs"][1]["decision"], "skip");
    assert_eq!(plan["jobs"][1]["reasons"][0]["rule"], "unchanged");
    assert!(!folder.path().join(".deltaci").exists());
}

/// What is suggested, each without its `deltaci`.
fn suggested(text: &str) -> Vec<Vec<String>> {
    let after = text.split_once("next: ").expect("something is suggested").1;
    let commands = after.lines().map_while(|line| line.trim_start().strip_prefix("deltaci "));
    commands.map(|command| command.split(' ').map(String::from).collect()).collect()
}

#[test]
fn what_is_suggested_works_from_where_it_was_printed() {
    let folder = folder_with(&[job("bad", &[], &["echo hello there", "exit 3"])]);
    let above = folder.beside("").canonicalize().expect("a folder");
    let here = |words: &[String]| {
        let mut command = command(&above);
        command
            .args(words)
            .env("XDG_CACHE_HOME", folder.beside("caches"))
            .output()
            .expect("the binary starts")
    };
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let failed = here(&words("run project --executor process"));
    let said = suggested(stderr(&failed));
    let [logs, explain, run] = &said[..] else { panic!("{said:?}") };
    let id = logs[1].clone();
    assert_eq!(logs.join(" "), format!("logs {id} --job bad --data project/.deltaci"));
    assert!(crate::stdout(&here(logs)).contains("hello there"));
    assert_eq!(here(explain).status.code(), Some(0), "{}", stderr(&here(explain)));
    assert_eq!(run.join(" "), "run project --job bad");
    let shown = here(&words(&format!("show {id} --data project/.deltaci")));
    let said = suggested(crate::stdout(&shown));
    let [logs, run] = &said[..] else { panic!("{said:?}") };
    assert!(crate::stdout(&here(logs)).contains("hello there"));
    assert_eq!(run.join(" "), format!("run {}", above.join("project").display()));
    assert!(crate::stdout(&here(&words("runs --data project/.deltaci"))).contains(&id));
    let lost = here(&words("runs --data caches"));
    assert_eq!(lost.status.code(), Some(2));
    assert!(stderr(&lost).contains("caches holds no records of runs; --data names"), "{}", stderr(&lost));
    for asked in [format!("logs {id}"), format!("explain {id}")] {
        assert!(stderr(&here(&words(&asked))).contains("--data DIR"), "{}", stderr(&here(&words(&asked))));
    }
}

#[test]
fn in_the_folder_itself_nothing_has_to_be_added() {
    let folder = folder_with(&[job("bad", &[], &["exit 3"])]);
    let id = folder.run_to(1, &[])["run_id"].as_str().expect("an id").to_owned();
    let shown = folder.said(&["show", &id]);
    let said: Vec<String> = suggested(&shown).iter().map(|words| words.join(" ")).collect();
    assert!(matches!(&said[..], [logs, run] if logs.starts_with("logs job_") && run == "run"), "{said:?}");
    let mut outside = command(&folder.path());
    let again = outside.args(["run", "--executor", "process"]).env("XDG_CACHE_HOME", folder.beside("caches"));
    let again = again.output().expect("the binary starts");
    let said: Vec<String> = suggested(stderr(&again)).iter().map(|words| words.join(" ")).collect();
    assert!(said[0].ends_with("--job bad") && said[2] == "run --job bad", "{said:?}");
}

#[test]
fn a_folder_with_nothing_to_run_is_no_success() {
    let folder = folder_with(&[]);
    std::fs::remove_file(folder.path().join("delta-ci.yaml")).expect("it was written");
    for word in ["run", "plan"] {
        let output = command(&folder.path()).arg(word).output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let place = folder.path().canonicalize().expect("a folder");
        let hint = format!("`deltaci init {}` writes a first file", place.display());
        assert!(stderr(&output).contains(&hint), "{}", stderr(&output));
    }
    folder.write("go.mod", "module example.com/x\n");
    assert!(folder.said(&["plan"]).contains("1 job to run"));
}
