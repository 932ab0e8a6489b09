//! `deltaci bench kernel` runs; its figures are for `docs/benchmarks.md`, not for a test.

use serde_json::Value;

use crate::harness::wait_until;
use crate::{deltaci, stderr};

#[test]
fn the_kernel_benchmark_reports_lifecycles_beside_the_raw_limit() {
    let output =
        deltaci(&["bench", "kernel", "--rounds", "1", "--seconds", "0.2", "--callers", "8", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for figure in
        ["lifecycles_per_second", "raw_rows_per_second", "raw_commits_per_second", "raw_rows_per_lifecycle"]
    {
        assert!(report[figure].as_f64().is_some_and(|value| value > 0.0), "{figure} in {report}");
    }
    assert_eq!(report["latencies"].as_array().unwrap().len(), 5);
}

#[test]
fn postgres_needs_an_address() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_deltaci"));
    command.args(["bench", "kernel", "--store", "postgres"]).env_remove("DELTACI_TEST_POSTGRES");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--database postgres://"));
}

#[test]
fn amounts_that_measure_nothing_are_wrong_usage() {
    for words in [
        "kernel --seconds nan",
        "kernel --seconds 1e30",
        "kernel --seconds 0",
        "kernel --callers 0",
        "kernel --rounds 0",
        "protocol --seconds=-1",
        "protocol --connections 0",
        "artifacts --large 0",
        "artifacts --small-kib 99999999999",
        "collection --garbage 0",
        "local --jobs 0",
    ] {
        let output = deltaci(&["bench"].into_iter().chain(words.split(' ')).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(" to 3600") || stderr(&output).contains("in 1..="),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn a_measurement_that_is_interrupted_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = crate::harness::binary(&["bench", "kernel", "--seconds", "600"]);
    let mut child = command.current_dir(folder.path()).spawn().unwrap();
    let left = || std::fs::read_dir(folder.path()).unwrap().count();
    wait_until("it has begun", || left() == 1);
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(left(), 0);
}
