//! `deltaci outbox` and `deltaci webhook`, and what a server refuses to be told.

use super::served::Served;
use super::sink::Sink;

#[test]
fn a_dead_letter_is_listed_and_redriven() {
    let sink = Sink::open();
    sink.set_broken(true);
    let served = Served::start(&["--allow-private-webhooks", "--delivery-backoff", "5ms"]);
    served.subscribe("ops", &sink.url(), "job.finished");
    served.run_ends(2);
    let dead = served.all_are("dead_letter", 2);
    assert!(dead.iter().all(|it| it["tries"] == 8 && it["last_error"] == "answered 500"), "{dead:?}");
    let listed = served.said(&["outbox", "list", "--state", "dead_letter"]);
    assert!(listed.contains("msg_") && listed.contains("answered 500"), "{listed}");
    assert_eq!(served.json(&["outbox", "list", "--state", "pending"])["items"], serde_json::json!([]));
    sink.set_broken(false);
    let first = dead[0]["id"].as_str().unwrap();
    assert_eq!(served.said(&["outbox", "redrive", first]), first);
    let second = served.said(&["outbox", "redrive", "--all-dead"]);
    assert_eq!(second, dead[1]["id"].as_str().unwrap());
    served.all_are("delivered", 2);
    assert_eq!(sink.applied().len(), 2);
    assert_eq!(served.deltaci(&["outbox", "redrive", first]).status.code(), Some(1), "it is no dead letter");
    assert_eq!(served.deltaci(&["outbox", "redrive", "msg_nothing"]).status.code(), Some(2));
    assert_eq!(served.deltaci(&["outbox", "redrive"]).status.code(), Some(2));
}

#[test]
fn webhooks_are_put_listed_and_deleted_without_their_secret() {
    let served = Served::start(&[]);
    served.said(&[
        "webhook",
        "put",
        "ci",
        "--url",
        "https://example.org/x?token=1",
        "--event",
        "run.finished",
        "--event",
        "job.finished",
        "--ordered",
    ]);
    let listed = served.json(&["webhook", "list"]);
    assert_eq!(listed["items"][0]["url"], "https://example.org/x");
    assert_eq!(listed["items"][0]["ordered"], true);
    assert!(!listed.to_string().contains("whsec_"));
    assert!(served.said(&["webhook", "list"]).contains("in order"));
    let private =
        served.deltaci(&["webhook", "put", "x", "--url", "http://127.0.0.1/", "--event", "run.finished"]);
    assert_eq!(private.status.code(), Some(2), "{}", crate::stderr(&private));
    assert!(crate::stderr(&private).contains("--allow-private-webhooks"), "{}", crate::stderr(&private));
    served.said(&["webhook", "delete", "ci"]);
    assert_eq!(served.json(&["webhook", "list"])["items"], serde_json::json!([]));
}
