//! What is read, exactly.

use std::collections::BTreeMap;

use decisions::failures::{ClassSet, FailureClass};
use decisions::records::{Concurrency, Source};
use pipeline::definition::Pipeline;
use pipeline::file::read;
use serde_json::json;

fn pipeline(text: &str) -> Pipeline {
    read(text.as_bytes()).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// A file with these jobs.
fn jobs(text: &str) -> Pipeline {
    pipeline(&format!("version: 1\njobs:\n{text}"))
}

fn names(pipeline: &Pipeline) -> Vec<&str> {
    pipeline.jobs.iter().map(|job| job.name.as_str()).collect()
}

#[test]
fn the_file_of_the_contract_is_read_word_for_word() {
    let pipeline = pipeline(include_str!("../files/good/contract.yaml"));
    assert_eq!(pipeline.source, Source::File);
    assert!(!pipeline.fail_fast);
    assert_eq!(pipeline.concurrency, Some(Concurrency { group: "{branch}".into(), cancel: true }));
    assert_eq!(names(&pipeline), ["lint", "unit-tests (debug)", "unit-tests (release)"]);

    let lint = &pipeline.jobs[0];
    assert_eq!((lint.needs.len(), lint.required, lint.effect_once, lint.priority), (0, true, false, 0));
    assert_eq!(lint.paths, Some(vec!["**/*.rs".into(), "Cargo.*".into()]));
    assert_eq!((lint.timeout_seconds, lint.attempts_max, lint.retry_on), (Some(1_200.0), None, None));
    assert_eq!(
        serde_json::to_value(&lint.spec).expect("JSON"),
        json!({
            "name": "lint",
            "image": "debian:12",
            "steps": ["cargo fmt --check", "cargo clippy -- -D warnings"],
            "env": { "CI": "true" },
            "artifacts": [],
            "caches": [],
        })
    );

    let release = &pipeline.jobs[2];
    assert_eq!(release.needs, ["lint"]);
    assert_eq!(release.paths, None);
    assert_eq!(release.runs_on, ["os:linux", "toolchain:rust"]);
    assert_eq!((release.timeout_seconds, release.attempts_max), (Some(1_800.0), Some(3)));
    let classes = ClassSet::asked_for(&[FailureClass::Infra, FailureClass::Timeout, FailureClass::Flaky]);
    assert_eq!(release.retry_on, Some(classes));
    assert_eq!((release.required, release.effect_once), (true, false));
    assert_eq!(
        serde_json::to_value(&release.spec).expect("JSON"),
        json!({
            "name": "unit-tests (release)",
            "workdir": ".",
            "image": "debian:12",
            "steps": ["cargo test --profile release"],
            "env": { "CI": "true" },
            "artifacts": [{ "type": "junit", "path_glob": "target/**/junit.xml" }],
            "caches": [{
                "type": "deps",
                "key": "cargo:{hash:Cargo.lock}",
                "prefix": "cargo:",
                "paths": ["~/.cargo/registry"],
            }],
            "publish": { "package": "app", "version": "{commit}" },
        })
    );
}

#[test]
fn values_stay_as_they_were_written() {
    let pipeline = jobs(
        "  a:
    run: [true, 'no', 1.10]
    matrix: { version: [1.10, 007, on, yes, null-ish, \"~\"] }
    env: { A: 1.10, B: yes, C: \"\", D: 0x1F, E: true, V: \"{version}\" }
",
    );
    let expected = ["1.10", "007", "on", "yes", "null-ish", "~"];
    assert_eq!(names(&pipeline), expected.map(|value| format!("a ({value})")));
    let spec = &pipeline.jobs[0].spec;
    assert_eq!(spec.steps, ["true", "no", "1.10"]);
    let env = [("A", "1.10"), ("B", "yes"), ("C", ""), ("D", "0x1F"), ("E", "true"), ("V", "1.10")];
    assert_eq!(spec.env, BTreeMap::from(env.map(|(name, value)| (name.to_owned(), value.to_owned()))));
}

#[test]
fn a_matrix_is_expanded_in_the_order_it_was_written() {
    let pipeline = jobs(
        "  test:
    matrix: { os: [linux, mac], db: [sqlite, pg] }
    run: make {os}/{db} ${os} {other}
    runs_on: [\"os:{os}\"]
    image: \"{db}:1\"
    workdir: parts/{os}
  last: { needs: [test], run: x }
",
    );
    let expected =
        ["test (linux, sqlite)", "test (linux, pg)", "test (mac, sqlite)", "test (mac, pg)", "last"];
    assert_eq!(names(&pipeline), expected);
    assert_eq!(pipeline.jobs[4].needs, expected[..4]);
    let job = &pipeline.jobs[3];
    assert_eq!(job.spec.steps, ["make mac/pg ${os} {other}"]);
    assert_eq!(job.runs_on, ["os:mac"]);
    assert_eq!((job.spec.image.as_deref(), job.spec.workdir.as_deref()), (Some("pg:1"), Some("parts/mac")));
}

#[test]
fn a_job_goes_before_the_defaults_and_variables_go_one_by_one() {
    let pipeline = pipeline(
        "version: 1
fail_fast: true
defaults:
  image: a
  timeout: 1h30m
  runs_on: [os:linux]
  retry: { max: 1, on: [flaky] }
  workdir: sub
  env: { A: 1, B: 2 }
jobs:
  same: { run: x }
  other:
    run: x
    image: b
    timeout: 300ms
    runs_on: []
    retry: { max: 0 }
    workdir: .
    env: { B: 3, C: 4 }
    allow_failure: true
    effect: once
    priority: -5
    network: false
",
    );
    assert!(pipeline.fail_fast);
    let [same, other] = &pipeline.jobs[..] else { panic!("two jobs") };
    assert_eq!((same.timeout_seconds, same.attempts_max), (Some(5_400.0), Some(2)));
    assert_eq!(same.retry_on, Some(ClassSet::of(&[FailureClass::Flaky])));
    assert_eq!(same.runs_on, ["os:linux"]);
    assert_eq!((same.spec.image.as_deref(), same.spec.workdir.as_deref()), (Some("a"), Some("sub")));
    assert_eq!((other.timeout_seconds, other.attempts_max, other.retry_on), (Some(0.3), Some(1), None));
    assert_eq!(other.runs_on.len(), 0);
    assert_eq!((other.spec.image.as_deref(), other.spec.workdir.as_deref()), (Some("b"), Some(".")));
    assert_eq!((other.required, other.effect_once, other.priority), (false, true, -5));
    assert_eq!(other.spec.network, Some(false));
    let env: Vec<_> = other.spec.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=1", "B=3", "C=4"]);
}

#[test]
fn aliases_blocks_quotes_and_a_byte_order_mark_are_yaml() {
    let pipeline = pipeline(
        "\u{feff}version: 1\r
jobs:\r
  a:\r
    run: |\r
      first\r
      second\r
    paths: &files [\"src/**\", \"!src/**/*.md\"]\r
  b:\r
    run:\r
      - >-\r
        one\r
        line\r
      - \"tab\\there\"\r
    paths: *files\r
",
    );
    assert_eq!(pipeline.jobs[0].spec.steps, ["first\nsecond\n"]);
    assert_eq!(pipeline.jobs[1].spec.steps, ["one line", "tab\there"]);
    assert_eq!(pipeline.jobs[1].paths, Some(vec!["src/**".into(), "!src/**/*.md".into()]));
}

#[test]
fn ten_thousand_jobs_are_fine() {
    let values: Vec<String> = (0..250).map(|number| number.to_string()).collect();
    let text: String = (0..40)
        .map(|job| format!("  j{job}: {{ run: \"true\", matrix: {{ n: [{}] }} }}\n", values.join(", ")))
        .collect();
    assert_eq!(jobs(&text).jobs.len(), 10_000);
}

#[test]
fn our_own_file_and_those_of_the_examples_are_fine() {
    let root = crate::golden::root();
    let examples = std::fs::read_dir(root.join("examples")).expect("there are examples");
    let folders = examples.map(|entry| entry.expect("it can be listed").path()).filter(|path| path.is_dir());
    let mut files: Vec<_> = folders.map(|folder| folder.join("delta-ci.yaml")).collect();
    assert!(files.len() >= 4, "{files:?}");
    files.push(root.join("delta-ci.yaml"));
    for file in files {
        let text = std::fs::read(&file).expect("each example has its file");
        let read = read(&text);
        assert!(read.is_ok(), "{}: {read:?}", file.display());
    }
}
