//! `deltaci machines`, in the contract's JSON, as Mermaid and as text.

use serde_json::Value;

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
