//! SIGKILL in the middle of deliveries: every message arrives, none twice in effect, none that nobody wrote.

use std::collections::BTreeSet;
use std::time::Instant;

use super::served::{Served, until};
use super::sink::Sink;

const MESSAGES: usize = 200;

#[test]
fn a_server_that_is_killed_again_and_again_loses_no_message_and_invents_none() {
    let sink = Sink::open();
    let mut served = Served::start(&["--allow-private-webhooks", "--delivery-claim-ttl", "1s"]);
    served.subscribe("ops", &sink.url(), "job.finished");
    let began = Instant::now();
    served.run_ends(MESSAGES);
    let mut kills = 0;
    for after in [1, 30, 31, 75, 120, 170] {
        until(|| sink.applied().len() >= after);
        served.kill();
        kills += 1;
        served.restart();
    }
    let delivered = served.all_are("delivered", MESSAGES);
    let took = began.elapsed();
    let written: BTreeSet<String> =
        delivered.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    let seen: BTreeSet<String> = sink.seen().into_keys().collect();
    assert_eq!(seen, written, "every message, and no other");
    assert_eq!(sink.applied().len(), MESSAGES, "each had its effect once");
    let names: BTreeSet<String> =
        sink.applied().iter().map(|body| body["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), MESSAGES);
    let repeated: u32 = sink.seen().values().map(|times| times - 1).sum();
    println!("{MESSAGES} messages, {kills} kills, {repeated} told twice, {took:?}");

    let message = delivered[0]["id"].as_str().unwrap();
    let story = served.said(&["explain", message]);
    assert!(story.contains("delivering") && story.contains("the subscriber has it"), "{story}");
    served.kill();
    let data = served.data();
    let doctor = super::served::bare(&["doctor", "--data", data.to_str().unwrap()]).output().unwrap();
    assert_eq!(doctor.status.code(), Some(0), "{}", crate::stdout(&doctor));
    let story =
        super::served::bare(&["explain", message, "--data", data.to_str().unwrap()]).output().unwrap();
    assert_eq!(story.status.code(), Some(0), "{}", crate::stderr(&story));
}
