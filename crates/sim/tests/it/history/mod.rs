//! Each promise: a history that keeps it, and the smallest ones that break it.

use sim::history::{History, Op, check, rules};

fn broken(history: &History) -> Vec<&'static str> {
    check(history).iter().map(|violation| violation.rule).collect()
}

fn put(item: &str) -> Op {
    Op::Put { queue: "jobs".into(), item: item.into() }
}

fn take(item: &str) -> Op {
    Op::Take { queue: "jobs".into(), item: item.into() }
}

fn drained() -> Op {
    Op::Drained { queue: "jobs".into() }
}

fn acquire(token: Option<u64>) -> Op {
    Op::Acquire { lease: "job".into(), token }
}

fn finish(token: u64) -> Op {
    Op::Finish { lease: "job".into(), token }
}

fn granted(history: &mut History, client: &str, token: u64) {
    let asked = history.invoke(client, acquire(None));
    history.ok_with(asked, acquire(Some(token)));
}

#[test]
fn what_nobody_can_say_may_have_happened_or_not() {
    let mut history = History::default();
    let lost = history.invoke("a", put("one"));
    history.unknown(lost);
    assert!(broken(&history).is_empty());
    history.saw("b", take("one"));
    history.saw("b", drained());
    assert!(broken(&history).is_empty(), "it happened after all");
    let lost = history.invoke("a", put("two"));
    history.unknown(lost);
    history.saw("b", drained());
    assert!(broken(&history).is_empty(), "it never happened");
}

#[test]
fn a_queue_invents_nothing_and_loses_nothing() {
    let mut history = History::default();
    let put_one = history.invoke("a", put("one"));
    history.saw("b", take("one"));
    history.ok(put_one);
    let refused = history.invoke("a", put("two"));
    history.fail(refused);
    assert!(broken(&history).is_empty(), "out before the answer was in");
    history.saw("b", take("two"));
    assert_eq!(broken(&history), [rules::INVENTED]);
    history.saw("a", put("three"));
    assert_eq!(broken(&history), [rules::INVENTED], "it still has time");
    history.saw("b", drained());
    assert_eq!(broken(&history), [rules::INVENTED, rules::LOST]);
}

#[test]
fn tokens_rise_in_the_order_of_the_world() {
    let mut history = History::default();
    let slow = history.invoke("a", acquire(None));
    granted(&mut history, "b", 2);
    history.ok_with(slow, acquire(Some(1)));
    assert!(broken(&history).is_empty(), "both were on their way at once");
    granted(&mut history, "c", 2);
    assert_eq!(broken(&history), [rules::TOKENS_RISE]);
}

#[test]
fn a_holder_that_was_followed_changes_nothing() {
    let mut history = History::default();
    granted(&mut history, "a", 1);
    let on_its_way = history.invoke("a", Op::Use { lease: "job".into(), token: 1 });
    granted(&mut history, "b", 2);
    history.ok(on_its_way);
    assert!(broken(&history).is_empty(), "it may have come before the other was granted");
    history.saw("a", Op::Use { lease: "job".into(), token: 1 });
    assert_eq!(broken(&history), [rules::STALE_WINS]);
}

#[test]
fn one_holder_finishes_and_nobody_begins_after_it() {
    let mut history = History::default();
    granted(&mut history, "a", 1);
    history.saw("a", finish(1));
    history.saw("a", finish(1));
    assert!(broken(&history).is_empty(), "said twice");
    granted(&mut history, "b", 2);
    assert_eq!(broken(&history), [rules::LEASED_AFTER_END]);
    history.saw("b", finish(2));
    assert_eq!(broken(&history), [rules::FINISHED_TWICE, rules::LEASED_AFTER_END]);
}

#[test]
fn a_name_is_given_out_once() {
    let mut history = History::default();
    for (of, name) in [("runs", "1"), ("jobs", "1"), ("runs", "2")] {
        history.saw("a", Op::Name { of: of.into(), name: Some(name.into()) });
    }
    assert!(broken(&history).is_empty());
    history.saw("b", Op::Name { of: "runs".into(), name: Some("2".into()) });
    assert_eq!(broken(&history), [rules::GIVEN_TWICE]);
}

#[test]
fn a_counter_shows_no_less_than_was_told_and_no_more_than_was_tried() {
    let count = |is| Op::Count { counter: "effects".into(), is: Some(is) };
    let mut history = History::default();
    history.saw("a", Op::Add { counter: "effects".into(), by: 2 });
    let perhaps = history.invoke("b", Op::Add { counter: "effects".into(), by: 1 });
    history.unknown(perhaps);
    history.saw("c", count(2));
    history.saw("c", count(3));
    assert!(broken(&history).is_empty());
    history.saw("c", count(1));
    history.saw("c", count(4));
    assert_eq!(broken(&history), [rules::COUNTED, rules::COUNTED]);
}

#[test]
fn acknowledged_bytes_stay() {
    let length = |is| Op::Length { log: "log".into(), is: Some(is) };
    let mut history = History::default();
    history.saw("a", Op::Grow { log: "log".into(), to: 10 });
    let perhaps = history.invoke("a", Op::Grow { log: "log".into(), to: 20 });
    history.unknown(perhaps);
    history.saw("b", length(10));
    history.saw("b", length(20));
    assert!(broken(&history).is_empty());
    history.saw("b", length(10));
    assert_eq!(broken(&history), [rules::SHRUNK]);
    history.saw("b", length(30));
    history.saw("b", length(9));
    assert_eq!(broken(&history), [rules::SHRUNK, rules::NEVER_KEPT, rules::FORGOTTEN, rules::SHRUNK]);
}

#[test]
fn what_is_kept_is_seen_by_every_later_look() {
    let look = |items: &[&str]| Op::Look {
        set: "artifacts".into(),
        items: Some(items.iter().map(|item| item.to_string()).collect()),
    };
    let keep = |item: &str| Op::Keep { set: "artifacts".into(), item: item.into() };
    let mut history = History::default();
    let on_its_way = history.invoke("a", keep("one"));
    history.saw("b", look(&[]));
    history.saw("b", look(&["one"]));
    history.ok(on_its_way);
    history.saw("b", look(&["one"]));
    assert!(broken(&history).is_empty());
    history.saw("b", look(&["two"]));
    assert_eq!(broken(&history), [rules::FORGOTTEN, rules::NEVER_KEPT]);
}
