//! What was seen, changed in one place each: as if the product had lost, invented or repeated something.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{deltaci, stderr, stdout};

type Lie = fn(&mut Value);

const LIES: [(&str, Lie, &str); 11] = [
    ("an acknowledged job is gone", a_job_is_lost, "what was put into a queue comes out of it"),
    (
        "a message comes that nobody wrote",
        a_message_is_invented,
        "nothing comes out of a queue that was not put in",
    ),
    ("a message never comes", a_message_is_lost, "what was put into a queue comes out of it"),
    ("two executions commit", two_winners, "at most one holder finishes"),
    ("a token is given twice", a_token_is_reused, "the tokens of a lease strictly rise"),
    ("bytes of a log are lost", a_line_is_lost, "a log holds each line that was printed, once and in order"),
    (
        "a job runs that nobody submitted",
        a_job_is_invented,
        "nothing comes out of a queue that was not put in",
    ),
    ("the order of messages is wrong", messages_are_swapped, "an ordered subscriber is told in the order"),
    ("a fenced execution goes on", a_fenced_one_acts, "nothing is done by an execution after its successor"),
    ("a rerun is made that nobody asked for", a_rerun_is_invented, "a counter holds all that was counted"),
    ("a success was never executed", a_success_is_empty, "a success was executed from begin to end"),
];

pub fn each_is_found(folder: &Path, seen: &Value) {
    let file = folder.join("lie.json");
    for (name, lie, rule) in LIES {
        let mut told = seen.clone();
        lie(&mut told);
        assert_ne!(&told, seen, "{name}: nothing was changed");
        fs::write(&file, told.to_string()).unwrap();
        let output = deltaci(&["verify", "--check", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains(rule), "{name}: {}", stdout(&output));
    }
}

fn jobs(seen: &mut Value) -> &mut Vec<Value> {
    seen["settled"]["jobs"].as_array_mut().expect("a list")
}

fn moments(seen: &mut Value) -> &mut Vec<Value> {
    seen["moments"].as_array_mut().expect("a list")
}

/// A job that was executed more than once, and won.
fn retried(seen: &mut Value) -> &mut Value {
    let won = |job: &&mut Value| {
        let executions = job["executions"].as_array().expect("a list");
        executions.len() > 1 && executions.last().is_some_and(|last| last["committed"] == true)
    };
    jobs(seen).iter_mut().find(won).expect("a job was executed again")
}

fn winner(seen: &mut Value) -> &mut Value {
    let executions = jobs(seen).iter_mut().flat_map(|job| job["executions"].as_array_mut().expect("a list"));
    executions.into_iter().find(|execution| execution["committed"] == true).expect("a job succeeded")
}

fn told_to(seen: &mut Value, lane: &str) -> Vec<usize> {
    let is_told = |moment: &Value| moment["kind"] == "told" && moment["lane"] == lane;
    let all = moments(seen).iter().enumerate();
    all.filter(|(_, moment)| is_told(moment)).map(|(place, _)| place).collect()
}

fn a_job_is_lost(seen: &mut Value) {
    let all = moments(seen);
    let accepted = all.iter().filter(|moment| moment["kind"] == "answered" && moment["outcome"] == "ok");
    let asked = accepted.filter_map(|moment| all.get(moment["of"].as_u64()? as usize));
    let submitted = asked.map(|moment| &moment["ask"]).find(|ask| ask["of"] == "submit");
    let payload = submitted.expect("a job was accepted")["payload"].clone();
    jobs(seen).retain(|job| job["payload"] != payload);
}

fn a_message_is_invented(seen: &mut Value) {
    moments(seen).push(json!({"at": 0, "kind": "told", "lane": "loose", "message": "msg_x", "job": "x"}));
}

fn a_message_is_lost(seen: &mut Value) {
    let message = seen["settled"]["messages"][0]["id"].clone();
    for moment in moments(seen).iter_mut().filter(|moment| moment["message"] == message) {
        *moment = json!({"at": 0, "kind": "ready", "whom": "nobody"});
    }
}

fn two_winners(seen: &mut Value) {
    retried(seen)["executions"][0]["committed"] = true.into();
}

fn a_token_is_reused(seen: &mut Value) {
    // One whose leases were both seen on the wire.
    let granted: Vec<Value> = moments(seen)
        .iter()
        .filter(|moment| moment["kind"] == "granted")
        .map(|moment| moment["execution"].clone())
        .collect();
    let seen_twice = |job: &&mut Value| {
        let executions = job["executions"].as_array().expect("a list");
        executions.len() > 1 && executions[..2].iter().all(|execution| granted.contains(&execution["id"]))
    };
    let job = jobs(seen).iter_mut().find(seen_twice).expect("a job was leased again");
    job["executions"][1]["token"] = job["executions"][0]["token"].clone();
}

fn a_line_is_lost(seen: &mut Value) {
    let log = &mut winner(seen)["log"];
    let text = log.as_str().expect("a text");
    let place = text.find(" line 7\n").expect("a line");
    let begin = text[..place].rfind('\n').map_or(0, |end| end + 1);
    *log = format!("{}{}", &text[..begin], &text[place + " line 7\n".len()..]).into();
}

fn a_job_is_invented(seen: &mut Value) {
    let execution = winner(seen)["id"].clone();
    let effect = json!({"at": 0, "kind": "effect", "word": "begin", "payload": "x", "job": "x", "execution": execution});
    moments(seen).push(effect);
}

fn messages_are_swapped(seen: &mut Value) {
    let places = told_to(seen, "ordered");
    let first = moments(seen)[places[0]]["message"].clone();
    let other = places.iter().find(|place| moments(seen)[**place]["message"] != first);
    let other = *other.expect("two messages came");
    moments(seen).swap(places[0], other);
}

fn a_fenced_one_acts(seen: &mut Value) {
    let job = retried(seen);
    let (id, payload) = (job["id"].clone(), job["payload"].clone());
    let (fenced, newest) = (job["executions"][0]["id"].clone(), job["executions"][1]["id"].clone());
    for execution in [newest, fenced] {
        let effect = json!({"at": 0, "kind": "effect", "word": "end", "payload": payload, "job": id, "execution": execution});
        moments(seen).push(effect);
    }
}

fn a_rerun_is_invented(seen: &mut Value) {
    let runs = seen["settled"]["runs"].as_array_mut().expect("a list");
    let first = runs.iter().find(|run| run["rerun_of"].is_null()).expect("a run")["id"].clone();
    for number in 0..100 {
        runs.push(json!({"id": format!("run_{number}"), "key": null, "rerun_of": first, "state": "SUCCESS"}));
    }
}

fn a_success_is_empty(seen: &mut Value) {
    let execution = winner(seen)["id"].clone();
    for moment in moments(seen).iter_mut() {
        if moment["kind"] == "effect" && moment["word"] == "end" && moment["execution"] == execution {
            *moment = json!({"at": 0, "kind": "ready", "whom": "nobody"});
        }
    }
}
