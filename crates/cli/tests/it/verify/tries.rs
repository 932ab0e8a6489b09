//! Every promise holds while servers and runners are killed, and what was tried is told.

use std::fs;

use serde_json::Value;

use crate::e2e::databases::database;
use crate::verify::lies;
use crate::{deltaci, stderr, stdout};

pub fn count(part: &Value, what: &str) -> u64 {
    let tried = part["tried"].as_array().expect("a list");
    tried.iter().find(|pair| pair[0] == what).and_then(|pair| pair[1].as_u64()).unwrap_or(0)
}

/// What a run came to, once nothing was found.
#[track_caller]
fn healthy(words: &[&str]) -> Value {
    let output = deltaci(&[&["verify", "--json", "--only", "processes"], words].concat());
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stdout(&output), stderr(&output));
    let report: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    assert_eq!(report["healthy"], true);
    report["parts"][0].clone()
}

#[test]
fn forty_kills_break_no_promise_and_every_lie_about_them_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (history, page) = (folder.path().join("seen.json"), folder.path().join("report.html"));
    let files = [history.to_str().unwrap(), page.to_str().unwrap()];
    let part = healthy(&["--kills", "40", "--seed", "40", "--history", files[0], "--report", files[1]]);
    println!("{part:#}");
    assert!(count(&part, "kills") >= 40);
    for what in [
        "servers killed (SIGKILL)",
        "runners killed (SIGKILL)",
        "wall clocks set, the server at work",
        "wall clocks set between two starts of a server",
        "executions after one that was lost",
        "messages, each told, once in effect",
    ] {
        assert!(count(&part, what) > 0, "{what}: {part:#}");
    }
    let measured = part["measured"].as_array().unwrap();
    assert_eq!(measured.len(), 5);
    let started = measured.iter().find(|bound| bound["what"] == "a server is started, it is ready");
    assert!(started.is_some_and(|bound| bound["count"].as_u64() > Some(20)), "{measured:#?}");

    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Every promise held") && page.contains("<svg"), "{page}");
    assert!(
        !page.contains("src=") && !page.contains("href=") && !page.contains("url("),
        "it needs nothing else"
    );

    let seen: Value = serde_json::from_slice(&fs::read(&history).unwrap()).unwrap();
    lies::each_is_found(folder.path(), &seen);
}

#[test]
fn two_servers_on_one_database_break_no_promise() {
    let database = database();
    let part = healthy(&["--kills", "12", "--seed", "12", "--database", &database]);
    assert!(part["name"].as_str().unwrap().contains("2 servers on PostgreSQL"), "{part:#}");
    assert!(count(&part, "kills") >= 12);

    let again = deltaci(&["verify", "--kills", "1", "--database", &database]);
    assert_eq!(again.status.code(), Some(2), "records are not for this: {}", stderr(&again));
}

#[test]
fn models_and_simulated_systems_are_tried_without_a_process() {
    let words = ["verify", "--json", "--only", "models", "--only", "simulation", "--seeds", "10"];
    let output = deltaci(&words);
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stdout(&output), stderr(&output));
    let report: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    let (models, simulation) = (&report["parts"][0], &report["parts"][1]);
    assert_eq!(count(models, "worlds of a message, two workers and two servers, each looked at"), 130_688);
    assert_eq!(count(simulation, "systems played to their end"), 10);
    assert_eq!(report["parts"].as_array().unwrap().len(), 2, "{report:#}");
}

#[test]
fn what_cannot_be_done_is_wrong_usage() {
    for words in [
        &["--kills", "0"][..],
        &["--minutes", "0"],
        &["--minutes", "1", "--kills", "1"],
        &["--kills", "1", "--report", "report.pdf"],
        &["--check", "/dev/null"],
    ] {
        let output = deltaci(&[&["verify"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
    }
}
