//! The JSON Schema is current, and editors that use it accept what we accept.

use std::fs;

use pipeline::file::read;
use pipeline::problem::{Code, Problems};
use pipeline::yaml::{Kind, Node, parse};
use regex::Regex;
use serde_json::{Value, json};

use crate::golden;

#[test]
fn the_schema_is_current() {
    golden::compare(&golden::root().join("docs/delta-ci.schema.json"), &pipeline::schema::document());
}

#[test]
fn the_schema_accepts_what_is_read() {
    for path in golden::files("good", ".yaml") {
        let bytes = fs::read(&path).expect("it can be read");
        assert!(read(&bytes).is_ok(), "{}: {:#?}", path.display(), read(&bytes).err());
        assert_eq!(faults(&schema(), &value(&bytes)), [""; 0], "{}", path.display());
    }
}

#[test]
fn the_schema_refuses_what_it_can_know_to_be_wrong() {
    let good = json!({ "version": 1, "jobs": { "a": { "run": "x" } } });
    assert_eq!(faults(&schema(), &good), [""; 0]);
    for (pointer, wrong) in [
        ("/version", json!(2)),
        ("/jobs", json!({})),
        ("/jobs", json!([])),
        ("/jobs/a", json!({ "needs": [] })),
        ("/jobs/a", json!({ "run": "x", "need": [] })),
        ("/jobs/a/run", json!([])),
        ("/jobs/a/run", json!({})),
        ("/jobs/a", json!({ "run": "x", "timeout": "soon" })),
        ("/jobs/a", json!({ "run": "x", "effect": "twice" })),
        ("/jobs/a", json!({ "run": "x", "retry": { "max": 100 } })),
        ("/jobs/a", json!({ "run": "x", "retry": { "on": ["test"] } })),
        ("/jobs/a", json!({ "run": "x", "matrix": { "os": [] } })),
        ("/jobs/a", json!({ "run": "x", "env": { "1ST": "x" } })),
        ("/jobs/a", json!({ "run": "x", "workdir": "/etc" })),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).expect("it is there") = wrong;
        assert_ne!(faults(&schema(), &changed), [""; 0], "{changed}");
    }
}

/// What the schema says of files that we refuse for their form, it says of the same files.
#[test]
fn a_wrong_form_is_wrong_for_both() {
    let form = [Code::UnknownKey, Code::MissingKey, Code::WrongType, Code::Empty, Code::OutOfRange];
    let mut seen = 0;
    for path in golden::files("problems", ".yaml") {
        let bytes = fs::read(&path).expect("it can be read");
        let problems = read(&bytes).map(|_| ()).expect_err("a problem");
        let mut of_yaml = Problems::default();
        let root = parse(&bytes, &mut of_yaml).filter(|_| of_yaml.is_empty());
        if root.is_some() && problems.iter().all(|problem| form.contains(&problem.code)) {
            assert_ne!(faults(&schema(), &value(&bytes)), [""; 0], "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen}");
}

fn schema() -> Value {
    serde_json::from_str(&pipeline::schema::document()).expect("JSON")
}

/// As an editor reads the file.
fn value(bytes: &[u8]) -> Value {
    let mut problems = Problems::default();
    json_of(&parse(bytes, &mut problems).expect("YAML"))
}

fn json_of(node: &Node) -> Value {
    let text = node.text().unwrap_or_default();
    match node.kind() {
        Kind::Null => Value::Null,
        Kind::Flag(flag) => flag.into(),
        Kind::Whole(Some(number)) => number.into(),
        Kind::Whole(None) | Kind::Decimal => text.parse::<f64>().unwrap_or_default().into(),
        Kind::Text => text.into(),
        Kind::List => node.items().iter().map(json_of).collect(),
        Kind::Table => {
            node.entries().iter().map(|entry| (entry.key.to_string(), json_of(&entry.value))).collect()
        }
    }
}

/// A validator for the words that our schema uses; it stops at a word that it does not know.
fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (word, rule) in schema.as_object().expect("a schema is an object") {
        let holds = match word.as_str() {
            "$schema" | "$id" | "title" | "description" => true,
            "const" => value == rule,
            "enum" => rule.as_array().expect("a list").contains(value),
            "type" => types(rule).any(|name| is_type(value, name)),
            "pattern" => value.as_str().is_none_or(|text| pattern(rule).is_match(text)),
            "minimum" => value.as_i64().is_none_or(|number| number >= rule.as_i64().expect("a number")),
            "maximum" => value.as_i64().is_none_or(|number| number <= rule.as_i64().expect("a number")),
            "minItems" => value.as_array().is_none_or(|items| items.len() >= count(rule)),
            "maxItems" => value.as_array().is_none_or(|items| items.len() <= count(rule)),
            "minProperties" => value.as_object().is_none_or(|table| table.len() >= count(rule)),
            "maxProperties" => value.as_object().is_none_or(|table| table.len() <= count(rule)),
            "required" => {
                value.as_object().is_none_or(|table| types(rule).all(|name| table.contains_key(name)))
            }
            "anyOf" => rule.as_array().expect("a list").iter().any(|rule| faults(rule, value).is_empty()),
            "items" => {
                let items = value.as_array().into_iter().flatten();
                found.extend(items.flat_map(|item| faults(rule, item)));
                true
            }
            "propertyNames" => {
                let names = value.as_object().into_iter().flat_map(|table| table.keys());
                found.extend(names.flat_map(|name| faults(rule, &json!(name))));
                true
            }
            "properties" => {
                let table = value.as_object().into_iter().flatten();
                found.extend(table.flat_map(|(name, value)| match rule.get(name) {
                    Some(rule) => faults(rule, value),
                    None => Vec::new(),
                }));
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let table = value.as_object().into_iter().flatten();
                let mut others =
                    table.filter(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)));
                if rule == &Value::Bool(false) {
                    others.next().is_none()
                } else {
                    found.extend(others.flat_map(|(_, value)| faults(rule, value)));
                    true
                }
            }
            other => panic!("the test's validator does not know `{other}`"),
        };
        if !holds {
            found.push(format!("{word}: {value}"));
        }
    }
    found
}

fn types(rule: &Value) -> impl Iterator<Item = &str> {
    let many = rule.as_array().into_iter().flatten();
    many.chain(rule.is_string().then_some(rule)).filter_map(Value::as_str)
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the test's validator does not know `{other}`"),
    }
}

fn pattern(rule: &Value) -> Regex {
    Regex::new(rule.as_str().expect("a text")).expect("a pattern")
}

fn count(rule: &Value) -> usize {
    rule.as_u64().expect("a number") as usize
}
