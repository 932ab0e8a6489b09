//! `docs/pipeline.md` is what writers of a file read, so it may not lag behind the code.

use pipeline::problem::Code;
use serde_json::Value;

use crate::golden;

fn text() -> String {
    std::fs::read_to_string(golden::root().join("docs/pipeline.md")).expect("the document is there")
}

#[test]
fn every_example_of_the_document_is_read() {
    let text = text();
    let examples: Vec<&str> =
        text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() > 10, "{}", examples.len());
    for example in examples {
        // Most show one job's keys.
        let whole = if example.starts_with("version:") {
            example.to_owned()
        } else if example.starts_with("jobs:") || example.starts_with("defaults:") {
            format!("version: 1\n{example}")
        } else {
            let run = if example.contains("run:") { "" } else { "    run: x\n" };
            let lines: String = example.lines().map(|line| format!("    {line}\n")).collect();
            format!("version: 1\njobs:\n  lint: {{ run: x }}\n  job:\n{run}{lines}")
        };
        assert!(
            pipeline::file::read(whole.as_bytes()).is_ok(),
            "{whole}\n{:#?}",
            pipeline::file::read(whole.as_bytes()).err()
        );
    }
}

#[test]
fn every_key_and_every_code_is_in_the_document() {
    let text = text();
    for name in keys(&serde_json::from_str(&pipeline::schema::document()).expect("JSON")) {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
    for code in Code::ALL {
        assert!(text.contains(&format!("`{}`", code.as_str())), "{code:?}");
    }
}

/// Every key that the schema names, at any depth.
fn keys(schema: &Value) -> Vec<String> {
    let Some(table) = schema.as_object() else { return Vec::new() };
    let named = table.get("properties").and_then(Value::as_object);
    let mut names: Vec<String> = named.into_iter().flat_map(|named| named.keys().cloned()).collect();
    names.extend(table.values().flat_map(keys));
    names.extend(named.into_iter().flat_map(|named| named.values().flat_map(keys)));
    names
}
