//! `deltaci machines`, in the contract's JSON, as Mermaid and as text.

use serde_json::Value;

use crate::harness::binary;
use crate::{deltaci, stderr, stdout};

#[test]
fn the_json_has_the_contracts_shape() {
    let output = deltaci(&["machines", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let machines = value["machines"].as_array().unwrap();
    let names: Vec<_> = machines.iter().map(|machine| machine["name"].as_str().unwrap()).collect();
    let expected = "run attempt lease execution upload version delivery blob tenant job workflow";
    assert_eq!(names.join(" "), expected);
    for machine in machines {
        let derived = matches!(machine["name"].as_str(), Some("job" | "workflow"));
        assert_eq!(machine["derived"] == true, derived, "{}", machine["name"]);
        assert!(
            machine["states"].as_array().unwrap().iter().any(|state| state["name"] == machine["initial"])
        );
        for row in machine["transitions"].as_array().unwrap() {
            for field in ["from", "event", "to", "owner", "source", "why"] {
                assert!(row[field].is_string(), "{field} of {row}");
            }
            assert_eq!(row["source"] == "extension", row["why"] != "", "{row}");
        }
    }
    let lease = machines.iter().find(|machine| machine["name"] == "lease").unwrap();
    let ack = serde_json::json!({
        "from": "GRANTED", "event": "Ack", "to": "ACTIVE", "owner": "Orchestrator", "source": "seed", "why": "",
    });
    assert!(lease["transitions"].as_array().unwrap().contains(&ack));
    assert_eq!(lease["states"][0]["final"], false);
}

#[test]
fn one_machine_can_be_asked_for_in_each_form() {
    let mermaid = deltaci(&["machines", "lease", "--mermaid"]);
    assert!(
        stdout(&mermaid).contains("stateDiagram-v2") && stdout(&mermaid).contains("GRANTED --> ACTIVE: Ack")
    );
    let text = deltaci(&["machines", "lease"]);
    assert!(stdout(&text).starts_with("lease:") && !stdout(&text).contains("attempt:"), "{}", stdout(&text));
}

#[test]
fn an_unknown_machine_is_a_usage_error_that_lists_the_known_ones() {
    let output = deltaci(&["machines", "jobs"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no machine is called `jobs`") && stderr(&output).contains("attempt"));
    assert!(stdout(&output).is_empty());
}

/// Every way in which something is printed, on a disk that is full and into a pipe that nobody reads.
#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_none() {
    for words in [
        "version",
        "version --json",
        "machines",
        "machines --json",
        "machines --mermaid",
        "bench kernel --rounds 1 --seconds 0.01 --callers 1",
        "bench kernel --rounds 1 --seconds 0.01 --callers 1 --json",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = binary(&words.split(' ').collect::<Vec<_>>());
        command.current_dir(folder.path());
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains("No space left"), "{words}: {}", stderr(&output));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{words}");
    }
}
