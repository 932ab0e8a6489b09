//! In a pipe: lines that stay as they are, and events.

use super::script::*;
use crate::local::happening::Happening;
use crate::view::local::json::{self, Json};
use crate::view::local::plain::Plain;
use crate::view::screen::Screen;

fn plain(screen: Screen, happenings: &[(u64, Happening)]) -> String {
    let paper = Paper::default();
    tell(&mut Plain::new(paper.clone(), screen), happenings);
    paper.text()
}

fn events(happenings: &[(u64, Happening)]) -> Vec<String> {
    let paper = Paper::default();
    tell(&mut Json::new(paper.clone()), happenings);
    paper.text().lines().map(String::from).collect()
}

#[test]
fn in_a_pipe_a_run_is_lines_and_nothing_is_written_over() {
    let all: Vec<_> = middle().into_iter().chain(end()).collect();
    let expected = "\
run_01hf7yat00e008e1r70w3ge1r7: 5 jobs to run, 1 reused, 1 skipped; from delta-ci.yaml; base 0123456789
fmt: reused: same inputs as run_01hf7qf2r0e008j289144gj289 2h ago
docs: skipped: no file of docs/ changed
build: started
executor process: there is no bubblewrap
build: $ cargo build --workspace
build      |    Compiling one v0.1.0
build      |    Compiling two v0.1.0
lint: started
lint: $ cargo clippy
build: SUCCEEDED in 1.2s
unit-tests: started
unit-tests: $ cargo test --no-run
unit-tests | of another step
unit-tests: $ cargo test --workspace --all-features
unit-tests | running 2 tests
unit-tests | test one ... ok
lint       | warning: it is 日本語 and\twide
unit-tests | test two ... FAILED
unit-tests: FAILED in 2.2s: exit code 101
package: not run: needs unit-tests
lint: SUCCEEDED in 4.0s
deploy: not run: needs package

✗ unit-tests failed after 2.2s: step 2 of 3, exit code 101
  $ cargo test --workspace --all-features
  │ running 2 tests
  │ test one ... ok
  │ test two ... FAILED
  test: tests failed (the summary says \"test failed\")
  not run because of it: package, deploy
  next: deltaci logs run_01hf7yat00e008e1r70w3ge1r7 --job unit-tests
        deltaci explain run_01hf7yat00e008e1r70w3ge1r7
        deltaci run --job unit-tests

FAILED  1 failed, 2 not run, 2 succeeded, 1 reused, 1 skipped in 4.1s  run_01hf7yat00e008e1r70w3ge1r7
";
    assert_eq!(plain(Screen::plain(None), &all), expected);
}

#[test]
fn colours_in_a_pipe_only_where_they_are_asked_for() {
    let all: Vec<_> = middle().into_iter().chain(end()).collect();
    assert!(!plain(Screen::plain(None), &all).contains('\x1b'));
    let text = plain(Screen::coloured(None), &all);
    assert!(text.contains("unit-tests \x1b[2m|\x1b[0m \x1b[32mtest one\x1b[0m ... ok"), "{text}");
    assert!(text.contains("build: \x1b[32mSUCCEEDED in 1.2s\x1b[0m\n"), "{text}");
    assert!(!text.contains("\x1b[2J") && !text.contains("\x1b[5A"), "{text}");
}

#[test]
fn lines_of_several_jobs_never_mix() {
    let text = plain(
        Screen::plain(None),
        &[
            (0, planned(vec![job("a", &[]), job("long", &[])])),
            (0, started("a")),
            (0, started("long")),
            (1, output("a", "one ")),
            (2, output("long", "x\ny")),
            (3, output("a", "line\n\nno ")),
            (4, output("a", "end")),
            (5, ended("a", "SUCCEEDED")),
            (6, ended("long", "SUCCEEDED")),
        ],
    );
    let expected = "\
a: started
long: started
long | x
a    | one line
a    |
a    | no end
a: SUCCEEDED in 5ms
long | y
long: SUCCEEDED in 6ms
";
    assert_eq!(text.split_once('\n').unwrap().1, expected);
}

#[test]
fn what_was_interrupted_tried_again_or_canceled_is_said() {
    let interrupted =
        |resumed| Happening::Interrupted { run: earlier(), jobs: vec!["a".into(), "b".into()], resumed };
    let again = Happening::JobStarted { job: "a".into(), attempt: 2 };
    let text = plain(
        Screen::plain(None),
        &[
            (0, interrupted(false)),
            (0, interrupted(true)),
            (0, planned(vec![job("a", &[]), job("b", &[])])),
            (0, started("a")),
            (1_000, tries_again("a")),
            (1_000, again),
            (1_500, Happening::CancelRequested { forced: false }),
            (1_600, Happening::CancelRequested { forced: true }),
            (2_000, ended("a", "CANCELED")),
            (2_000, run_ended("CANCELED", &[("a", Some("CANCELED")), ("b", Some("CANCELED"))])),
        ],
    );
    let expected = "\
run_01hf7qf2r0e008j289144gj289 was interrupted while a, b ran: it is canceled now; `--resume` would have gone on with it
run_01hf7qf2r0e008j289144gj289 was interrupted while a, b ran: going on from what had succeeded
run_01hf7yat00e008e1r70w3ge1r7: 2 jobs to run; from delta-ci.yaml; base 0123456789
a: started
a: FAILED in 1.0s, trying again: infra: the network failed
a: started, attempt 2
canceling: what runs is asked to stop; Ctrl-C again kills it
canceling: what still runs is killed
a: CANCELED in 1.0s
b: not run: the run was canceled
CANCELED  1 canceled, 1 not run in 2.0s  run_01hf7yat00e008e1r70w3ge1r7
";
    assert_eq!(text, expected);
}

#[test]
fn a_program_reads_one_event_per_line() {
    let all: Vec<_> = middle().into_iter().chain(end()).collect();
    let events = events(&all);
    let of = |kind: &str| -> Vec<&String> {
        let head = format!("{{\"type\":\"{kind}\",");
        events.iter().filter(|event| event.starts_with(&head)).collect()
    };
    assert_eq!(of("job_started")[0], r#"{"type":"job_started","job":"build","attempt":1,"elapsed_ms":10}"#);
    assert_eq!(
        of("step_started")[3],
        r#"{"type":"step_started","job":"unit-tests","index":1,"text":"cargo test --workspace --all-features","elapsed_ms":1290}"#
    );
    assert_eq!(
        of("job_ended")[1],
        r#"{"type":"job_ended","job":"unit-tests","attempt":1,"state":"FAILED","again":false,"failure":{"class":"test","explanation":"tests failed (the summary says \"test failed\")","step":1,"exit_code":101},"elapsed_ms":3500}"#
    );
    let run = run();
    assert_eq!(
        *events.last().unwrap(),
        format!(
            r#"{{"type":"run_finished","run_id":"{run}","state":"FAILED","jobs":[{{"name":"deploy","decision":"run","state":"CANCELED","attempts":1,"duration_ms":1200}}]}}"#
        )
    );
    let plan: serde_json::Value = serde_json::from_str(&events[0]).unwrap();
    assert_eq!((&plan["type"], &plan["source"]), (&"run_planned".into(), &"file".into()));
    assert_eq!(plan["jobs"][0]["decision"], "reuse");
    assert_eq!(plan["jobs"][0]["reasons"][0]["run"], earlier().to_string());
    assert!(events.iter().all(|event| serde_json::from_str::<serde_json::Value>(event).is_ok()));
}

#[test]
fn a_letter_that_was_cut_in_two_is_one_for_a_program() {
    let bytes = "日\u{1b}[1m".as_bytes();
    let part = |bytes: &[u8]| Happening::Output { job: "a".into(), bytes: bytes.to_vec() };
    let events = events(&[
        (0, part(&bytes[..2])),
        (0, part(&bytes[2..])),
        (0, part(&bytes[..1])),
        (0, ended("a", "SUCCEEDED")),
    ]);
    assert_eq!(events[0], r#"{"type":"output","job":"a","text":"日\u001b[1m"}"#);
    assert_eq!(events[1], r#"{"type":"output","job":"a","text":"�"}"#);
    assert_eq!(events.len(), 3);
}

#[test]
fn a_plan_for_a_program_is_as_the_contract_says() {
    let jobs = [skipped("docs", &["a"])];
    let plan = json::plan(decisions::records::Source::Discovered, None, &jobs);
    assert_eq!(
        serde_json::to_string(&plan).unwrap(),
        r#"{"base":null,"source":"discovered","jobs":[{"name":"docs","decision":"skip","reasons":[{"rule":"unchanged","detail":"no file of docs/ changed"}],"needs":["a"],"required":true}]}"#
    );
}
