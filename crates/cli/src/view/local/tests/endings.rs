//! The end of a run, and a plan.

use decisions::records::Source;
use wire::Time;

use super::script::*;
use crate::local::happening::{Happening, PlannedJob};
use crate::view::local::plain::Plain;
use crate::view::local::plan::plan;
use crate::view::screen::Screen;

/// What is said after the last job.
fn end_of(screen: Screen, happenings: &[(u64, Happening)]) -> String {
    let paper = Paper::default();
    let mut show = Plain::new(paper.clone(), screen);
    let (last, first) = happenings.split_last().unwrap();
    tell(&mut show, first);
    let before = paper.text().len();
    tell(&mut show, std::slice::from_ref(last));
    paper.text()[before..].into()
}

#[test]
fn a_green_run_ends_with_one_line() {
    let happenings = [
        (0, planned(vec![job("a", &[]), reused("b", &[]), skipped("c", &[])])),
        (0, started("a")),
        (1_200, ended("a", "SUCCEEDED")),
        (1_234, run_ended("SUCCESS", &[("a", Some("SUCCEEDED"))])),
    ];
    let expected = format!("SUCCESS  1 succeeded, 1 reused, 1 skipped in 1.2s  {}\n", run());
    assert_eq!(end_of(Screen::plain(None), &happenings), expected);
}

#[test]
fn a_run_of_nothing_but_reuse_says_why() {
    let happenings =
        [(0, planned(vec![reused("a", &[])])), (40, run_ended("SUCCESS", &[("a", Some("SUCCEEDED"))]))];
    let expected = format!(
        "nothing had to run: the inputs are those of earlier successes; --no-reuse runs it all the same\n\
         SUCCESS  1 reused in 40ms  {}\n",
        run()
    );
    assert_eq!(end_of(Screen::plain(None), &happenings), expected);
}

#[test]
fn of_a_failed_step_the_last_thirty_lines_are_repeated() {
    let many: String = (1..=1_500).map(|number| format!("line {number}\n")).collect();
    let happenings = [
        (0, planned(vec![job("a", &[]), PlannedJob { required: false, ..job("it's b", &[]) }])),
        (0, started("a")),
        (0, step("a", 0, "make\n  all")),
        (1, output("a", &many)),
        (2, output("a", "the end")),
        (3, failed("a", 0, 2)),
        (3, started("it's b")),
        (3, ended("it's b", "TIMED_OUT")),
        (4, run_ended("FAILED", &[])),
    ];
    let text = end_of(Screen::plain(None), &happenings);
    let lines: String = (1_472..=1_500).map(|number| format!("  │ line {number}\n")).collect();
    let run = run();
    let expected = format!(
        "
✗ a failed after 3ms: step 1 of 1, exit code 2
  $ make …
  … 1,471 lines before these
{lines}  │ the end
  test: tests failed (the summary says \"test failed\")
  next: deltaci logs {run} --job a
        deltaci explain {run}
        deltaci run --job a

✗ it's b (optional) timed out after 0ms
  next: deltaci logs {run} --job 'it'\\''s b'
        deltaci explain {run}
        deltaci run --job 'it'\\''s b'

FAILED  1 failed, 1 optional failed in 4ms  {run}
"
    );
    assert_eq!(text, expected);
}

#[test]
fn of_very_many_failures_the_first_are_told_and_the_others_named() {
    let names: Vec<String> = (0..30).map(|number| format!("job-{number}")).collect();
    let mut happenings = vec![(0, planned(names.iter().map(|name| job(name, &[])).collect()))];
    for name in &names {
        happenings.extend([(0, started(name)), (0, output(name, "out\n")), (0, failed(name, 0, 1))]);
    }
    happenings.push((1, run_ended("FAILED", &[])));
    let text = end_of(Screen::plain(None), &happenings);
    assert_eq!(text.matches("  │ out\n").count(), 20);
    assert!(
        text.contains("\n✗ failed as well: job-20, job-21, job-22, job-23, job-24, job-25 and 4 more\n"),
        "{text}"
    );
}

#[test]
fn signs_are_ascii_where_the_locale_is() {
    let all: Vec<_> = middle().into_iter().chain(end()).collect();
    let text = end_of(Screen::ascii(Some(80)), &all);
    assert!(text.is_ascii(), "{text}");
    assert!(
        text.contains("\nx unit-tests failed after 2.2s") && text.contains("\n  | running 2 tests\n"),
        "{text}"
    );
}

fn now() -> Time {
    run().born()
}

#[test]
fn a_plan_is_a_table_of_decisions_and_reasons() {
    let wide = plan(Screen::plain(Some(200)), Source::File, Some("main"), &jobs(), now());
    let expected = "\
5 jobs to run, 1 reused, 1 skipped
from delta-ci.yaml · base main

JOB                 DECISION  WHY
fmt                 reuse     same inputs as run_01hf7qf2r0e008j289144gj289 2h ago
├─ build            run       no earlier success has these inputs
│  └─ unit-tests    run       no earlier success has these inputs
│     └─ package    run       no earlier success has these inputs
│        └─ deploy  run       no earlier success has these inputs
└─ lint (optional)  run       no earlier success has these inputs
docs                skip      no file of docs/ changed
";
    assert_eq!(wide, expected);
    let narrow = plan(Screen::plain(Some(80)), Source::Discovered, None, &jobs(), now());
    let expected = "\
5 jobs to run, 1 reused, 1 skipped
discovered: there is no delta-ci.yaml, `deltaci init` writes one · no base

JOB                 DECISION  WHY
fmt                 reuse     same inputs as run_01hf7qf2r0e008j289144gj289 2h
                              ago
├─ build            run       no earlier success has these inputs
│  └─ unit-tests    run       no earlier success has these inputs
│     └─ package    run       no earlier success has these inputs
│        └─ deploy  run       no earlier success has these inputs
└─ lint (optional)  run       no earlier success has these inputs
docs                skip      no file of docs/ changed
";
    assert_eq!(narrow, expected);
}
