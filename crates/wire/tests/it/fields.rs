//! A message that is wrong is refused with the name of the field it is wrong in.

use serde_json::{Value, json};
use wire::BadMessage;

use crate::samples::{Sample, all, job_spec};

/// A field's path as a person writes it, and as JSON finds it.
struct Place {
    path: String,
    pointer: String,
}

/// Every field, deep or not, of an object; what stands inside free-form values is not ours to check.
fn places(value: &Value, at: &Place) -> Vec<Place> {
    let inner: Vec<(Place, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, inner)| (below(at, name), inner)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, inner)| (item(at, index), inner)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let mut found = Vec::new();
    for (place, inner) in inner {
        if !is_free_form(&place.path) {
            found.extend(places(inner, &place));
        }
        found.push(place);
    }
    found
}

fn is_free_form(path: &str) -> bool {
    ["job_spec", "effects[0].body", "effects[1].value"].contains(&path)
}

fn below(at: &Place, name: &str) -> Place {
    let dot = if at.path.is_empty() { "" } else { "." };
    Place { path: format!("{}{dot}{name}", at.path), pointer: format!("{}/{name}", at.pointer) }
}

fn item(at: &Place, index: usize) -> Place {
    Place { path: format!("{}[{index}]", at.path), pointer: format!("{}/{index}", at.pointer) }
}

fn all_places(value: &Value) -> Vec<Place> {
    places(value, &Place { path: String::new(), pointer: String::new() })
}

fn messages() -> Vec<Sample> {
    let mut samples = all();
    samples.push(job_spec());
    samples
}

fn without(value: &Value, pointer: &str) -> Value {
    let mut value = value.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Object(fields) => drop(fields.remove(name)),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            unreachable!("a parent holds others")
        }
    }
    value
}

#[test]
fn every_field_of_every_message_is_known_to_be_required_or_not() {
    for sample in messages() {
        let mut found: Vec<String> =
            all_places(&sample.value()).into_iter().map(|place| place.path).collect();
        let mut listed: Vec<&str> = sample.required.iter().chain(sample.optional).copied().collect();
        found.sort();
        listed.sort();
        assert_eq!(found, listed, "{}", sample.name);
    }
}

#[test]
fn a_missing_field_is_named() {
    for sample in messages() {
        for place in all_places(&sample.value()) {
            let rest = without(&sample.value(), &place.pointer);
            if sample.required.contains(&place.path.as_str()) {
                let bad = sample.reread_value(&rest).expect_err(&place.path);
                assert_eq!(
                    (bad.field.as_str(), bad.problem.as_str()),
                    (&*place.path, "missing"),
                    "{}",
                    sample.name
                );
                assert_eq!(bad.to_string(), format!("field `{}`: missing", place.path));
            } else {
                sample.reread_value(&rest).unwrap_or_else(|bad| panic!("{} may go, but {bad}", place.path));
            }
        }
    }
}

/// A value of another type than the one that stands there.
fn other_type(value: &Value) -> Value {
    match value {
        Value::Null | Value::String(_) | Value::Object(_) | Value::Array(_) => json!(7),
        Value::Bool(_) | Value::Number(_) => json!("seven"),
    }
}

#[test]
fn an_ill_typed_field_is_named() {
    for sample in messages() {
        for place in all_places(&sample.value()) {
            if is_free_form(&place.path) {
                continue;
            }
            let mut wrong = sample.value();
            let there = wrong.pointer_mut(&place.pointer).unwrap();
            *there = other_type(there);
            let bad = sample.reread_value(&wrong).expect_err(&place.path);
            assert!(names(&bad, &place.path), "{}: {} was wrong, but `{bad}`", sample.name, place.path);
            assert!(!bad.problem.contains(" at line "), "{bad}");
        }
    }
}

/// A kind decides how the rest of an effect is read, so it is read ahead of it: the effect is named, not its field.
fn names(bad: &BadMessage, path: &str) -> bool {
    bad.field == path
        || (path.starts_with("effects[") && path.starts_with(&bad.field) && !bad.field.is_empty())
}

#[test]
fn nothing_but_a_field_that_may_be_left_out_is_null() {
    let nullable =
        ["run_id", "job_spec", "cancel_token", "progress", "log_cursor", "timings", "reason", "job_id"];
    let nullable_inside = ["progress.", "tenant_id", "workdir", "image"];
    for sample in messages() {
        for place in all_places(&sample.value()) {
            let mut wrong = sample.value();
            *wrong.pointer_mut(&place.pointer).unwrap() = Value::Null;
            let may_be_left_out = sample.optional.contains(&place.path.as_str());
            let may_be_null = nullable.contains(&place.path.as_str())
                || nullable_inside.iter().any(|prefix| place.path.starts_with(prefix));
            if is_free_form(&place.path) || (may_be_left_out && may_be_null) {
                sample.reread_value(&wrong).unwrap_or_else(|bad| panic!("{}: {bad}", sample.name));
            } else {
                let bad = sample.reread_value(&wrong).expect_err(&place.path);
                assert!(names(&bad, &place.path), "{}: {} was null, but `{bad}`", sample.name, place.path);
            }
        }
    }
}

#[test]
fn a_message_of_another_type_is_refused() {
    for sample in all().into_iter().filter(|sample| sample.value().get("type").is_some()) {
        let right = sample.value()["type"].clone();
        for name in
            ["", "complete", "Completed", "LeaseGranted", "Complete", "AckLeaseAck", "StaleLease", "Commit"]
        {
            let mut other = sample.value();
            other["type"] = json!(name);
            let reread = sample.reread_value(&other);
            if json!(name) == right {
                reread.unwrap();
                continue;
            }
            let bad = reread.expect_err(name);
            assert_eq!((bad.field.as_str(), bad.problem), ("type", format!("expected {right}")));
        }
    }
}

#[test]
fn values_out_of_range_are_named_too() {
    let cases = [
        ("Heartbeat", "/progress/percent", json!(-1), "progress.percent"),
        ("Heartbeat", "/progress/step_index", json!(-1), "progress.step_index"),
        ("Heartbeat", "/progress/step_index", json!(4294967296u64), "progress.step_index"),
        ("Heartbeat", "/log_cursor/bytes_sent", json!(-1), "log_cursor.bytes_sent"),
        ("Heartbeat", "/ts", json!("yesterday"), "ts"),
        ("Heartbeat", "/runner_id", json!(""), "runner_id"),
        ("Heartbeat", "/runner_id", json!("two words"), "runner_id"),
        ("Complete", "/exit_code", json!(2147483648u64), "exit_code"),
        ("Complete", "/exit_code", json!(0.5), "exit_code"),
        ("Complete", "/status", json!("CANCELED"), "status"),
        ("Complete", "/timings/started_at", json!("2026-13-04T08:00:05Z"), "timings.started_at"),
        ("Complete", "/timings/started_at", json!("2026-01-04 08:00"), "timings.started_at"),
        ("Complete", "/artifacts/0/uri", json!(["s3://"]), "artifacts[0].uri"),
        ("CancelAck", "/final_status", json!("SUCCEEDED"), "final_status"),
        ("StaleLease", "/reason", json!("LEASE_LOST"), "reason"),
        ("LeaseRequest", "/wait_seconds", json!(-0.5), "wait_seconds"),
        ("LeaseRequest", "/tenant_id", json!("ten_1"), "tenant_id"),
        ("LeaseRequest", "/tenant_id", json!("run_01kfb3n7g08x2s5jq9d4c6vwhz"), "tenant_id"),
    ];
    for (name, pointer, value, field) in cases {
        let sample = all().into_iter().find(|sample| sample.name == name).unwrap();
        let mut wrong = sample.value();
        *wrong.pointer_mut(pointer).unwrap() = value.clone();
        let bad = sample.reread_value(&wrong).expect_err(field);
        assert_eq!(bad.field, field, "{name}: {value}");
    }
}

#[test]
fn a_field_said_twice_is_named() {
    let nested = br#"{"type":"Heartbeat","lease_id":"l","runner_id":"r","ts":"2026-01-04T08:00:00Z",
        "progress":{"percent":1,"percent":2}}"#;
    let bad = wire::decode::<wire::runner::Heartbeat>(nested).unwrap_err();
    assert_eq!(bad.to_string(), "field `progress.percent`: said twice");
    for sample in all() {
        let text = sample.value().to_string();
        let names = sample.required.iter().chain(sample.optional).filter(|name| !name.contains(['.', '[']));
        for name in names {
            let twice = format!("{{\"{name}\":{},{}", sample.value()[name], &text[1..]);
            let bad = (sample.reread)(twice.as_bytes()).expect_err(name);
            assert_eq!((bad.field.as_str(), bad.problem.as_str()), (*name, "said twice"), "{}", sample.name);
        }
    }
}
