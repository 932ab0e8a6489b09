//! No server, no token, a wrong one: every command says what to do and exits so.

use crate::harness::{Proxy, Site, binary, wait_until};
use crate::{stderr, stdout};

const COMMANDS: &[&[&str]] = &[
    &["trigger", "--step", "true"],
    &["trigger", "--step", "true", "--wait"],
    &["runs"],
    &["show", "run_00000000000000000000000000"],
    &["logs", "job_00000000000000000000000000"],
    &["logs", "job_00000000000000000000000000", "--follow"],
    &["cancel", "run_00000000000000000000000000"],
    &["rerun", "run_00000000000000000000000000"],
    &["explain", "run_00000000000000000000000000"],
    &["token", "list"],
    &["token", "create", "--kind", "runner"],
    &["token", "revoke", "tok_00000000000000000000000000"],
    &["tenant", "list"],
    &["tenant", "get", "default"],
    &["tenant", "create", "acme"],
];

#[test]
fn no_server_is_an_infrastructure_error_that_names_the_address() {
    for words in COMMANDS {
        let output = binary(words)
            .args(["--server", "http://127.0.0.1:1"])
            .env("DELTACI_TOKEN", "dci_secret")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(5), "{words:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("Connection refused") && said.contains("http://127.0.0.1:1?"), "{said}");
        assert!(!said.contains("dci_secret") && stdout(&output).is_empty());
    }
}

#[test]
fn a_token_that_opens_nothing_is_not_authorised() {
    let site = Site::start();
    for words in COMMANDS {
        let output = site.command(words).env("DELTACI_TOKEN", "dci_wrong").output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{words:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("DELTACI_TOKEN") && !said.contains("dci_wrong"), "{said}");
        let output = site.command(words).env_remove("DELTACI_TOKEN").output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("no token"), "{}", stderr(&output));
    }
}

#[test]
fn a_token_may_be_in_a_file() {
    let site = Site::start();
    let token = site.said(&["token", "create", "--kind", "tenant"]);
    let file = site.file("token", &format!("{token}\n"));
    let with_file = |file: &str| {
        let words = ["runs", "--token-file", file];
        site.command(&words).env_remove("DELTACI_TOKEN").output().unwrap().status.code()
    };
    assert_eq!(with_file(&file), Some(0));
    assert_eq!(with_file("/not/there"), Some(5));
}

#[test]
fn an_address_that_is_none_is_a_usage_error() {
    for (address, says) in
        [("ftp://nowhere", "must begin with http://"), ("http://ada:hunter2@ci", "must not hold a user")]
    {
        let output = binary(&["runs", "--server", address]).env("DELTACI_TOKEN", "t").output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains(says) && !stderr(&output).contains("hunter2"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn who_waits_is_not_sent_away_by_a_broken_connection() {
    let site = Site::start().with_runner();
    let proxy = Proxy::before(&site);
    let file = site.folder.path().join("go");
    let step = format!("until test -e {}; do sleep 0.02; done", file.display());
    let mut command = site.command(&["trigger", "--step", &step, "--wait", "--server", &proxy.url]);
    let mut waiting = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let begun = || site.json(&["runs"])["items"].as_array().is_some_and(|runs| !runs.is_empty());
    wait_until("the run exists", begun);
    proxy.cut();
    std::fs::write(file, "").unwrap();
    let over = || !site.json(&["runs"])["items"][0]["outcome"].is_null();
    wait_until("the run is over", over);
    proxy.reopen();
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
}

#[test]
fn a_trigger_whose_answer_is_lost_starts_one_run() {
    let site = Site::start();
    let proxy = Proxy::before(&site);
    proxy.lose_an_answer();
    let said = site.command(&["trigger", "--step", "true", "--server", &proxy.url]).output().unwrap();
    let runs = site.json(&["runs"]);
    let ids: Vec<_> =
        runs["items"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert!(proxy.has_lost_it());
    assert_eq!(ids, [stdout(&said).trim()]);
}

#[test]
fn completions_are_made_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = binary(&["completions", shell]).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        for word in ["deltaci", "trigger", "token-file"] {
            assert!(stdout(&output).contains(word), "{word} for {shell}");
        }
    }
    assert_eq!(binary(&["completions", "cmd"]).output().unwrap().status.code(), Some(2));
}
