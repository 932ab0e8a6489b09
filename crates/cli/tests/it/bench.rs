//! `deltaci bench kernel` runs; its figures are for `docs/benchmarks.md`, not for a test.

use serde_json::Value;

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
