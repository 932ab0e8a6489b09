//! The examples of the runner protocol's specification, decoded and encoded again: nothing added, nothing dropped.

use serde_json::{Value, json};
use wire::decode;
use wire::runner::{
    CompleteRefused, CompleteStatus, Effect, Heartbeat, JobSpec, LeaseGranted, Phase, StaleLease,
    StaleReason, tag,
};

use crate::samples::{all, contract, job_spec, seed};

#[test]
fn every_example_of_the_specification_is_encoded_as_it_was() {
    for sample in seed() {
        assert_eq!(sample.reread_value(&sample.value()).unwrap(), sample.value(), "{}", sample.name);
    }
}

#[test]
fn every_message_of_the_contract_is_encoded_as_it_was() {
    for sample in contract() {
        assert_eq!(sample.reread_value(&sample.value()).unwrap(), sample.value(), "{}", sample.name);
    }
}

#[test]
fn the_specification_of_a_job_inside_a_lease_is_passed_on_and_readable() {
    let granted: LeaseGranted = decode(include_bytes!("golden/lease_granted.json")).unwrap();
    let spec: JobSpec = decode(granted.job_spec.unwrap().get().as_bytes()).unwrap();
    assert_eq!(spec.steps, ["dotnet test -c Release"]);
    assert_eq!(job_spec().reread_value(&job_spec().value()).unwrap(), job_spec().value());
}

#[test]
fn a_job_may_say_what_to_check_out_and_whether_it_needs_the_network() {
    let text = json!({
        "name": "a", "steps": [], "env": {}, "artifacts": [], "caches": [],
        "checkout": {"repository": "https://example.com/r.git", "ref": "refs/heads/main", "commit": "c0ffee"},
        "network": false,
    });
    let spec: JobSpec = decode(text.to_string().as_bytes()).unwrap();
    assert_eq!(serde_json::to_value(&spec).unwrap(), text);
    let checkout = spec.checkout.unwrap();
    assert_eq!(
        (checkout.r#ref.as_deref(), checkout.commit.as_deref()),
        (Some("refs/heads/main"), Some("c0ffee"))
    );
    assert_eq!(spec.network, Some(false));
    let bare: JobSpec = decode(br#"{"name":"a","checkout":{"repository":"."}}"#).unwrap();
    let checkout = bare.checkout.unwrap();
    assert_eq!(
        (checkout.repository.as_str(), checkout.r#ref, checkout.commit, bare.network),
        (".", None, None, None)
    );
    let missing = decode::<JobSpec>(br#"{"name":"a","checkout":{}}"#).unwrap_err();
    assert_eq!(missing.field, "checkout.repository");
}

/// The letters of a specification are the submitter's; a digest over them must not change on the way.
#[test]
fn an_embedded_specification_keeps_its_very_letters() {
    let letters = r#"{"b":1.0, "a" : [1e3,  "\u00fc"], "a2":12345678901234567890}"#;
    let text = format!(
        r#"{{"type":"LeaseGranted","job_id":"j","run_id":null,"lease_id":"l","lease_ttl_seconds":1,
            "heartbeat_interval_seconds":1,"max_runtime_seconds":1,"job_spec":{letters}}}"#
    );
    let granted: LeaseGranted = decode(text.as_bytes()).unwrap();
    assert_eq!(granted.job_spec.as_ref().unwrap().get(), letters);
    assert!(serde_json::to_string(&granted).unwrap().contains(letters));
}

/// The specification's own form says less than our answers do: what it leaves out must read as the same refusal.
#[test]
fn a_stale_lease_in_the_words_of_the_specification_is_stale() {
    let said: StaleLease = decode(include_bytes!("golden/stale_lease.json")).unwrap();
    assert_eq!(said.reason, StaleReason::LeaseExpired);
    assert_eq!((said.extend_lease, said.stale, said.accepted), (false, true, false));
}

#[test]
fn our_stale_lease_keeps_every_field_of_the_specification() {
    let theirs: Value = serde_json::from_str(include_str!("golden/stale_lease.json")).unwrap();
    let ours: Value = serde_json::from_str(include_str!("golden/stale_lease_answer.json")).unwrap();
    for (field, value) in theirs.as_object().unwrap() {
        assert_eq!(ours.get(field), Some(value), "{field}");
    }
}

#[test]
fn a_newer_peer_may_say_more() {
    for sample in all() {
        let mut more = sample.value();
        insert_everywhere(&mut more, "said_by_a_newer_peer", &json!({"deep": [1, {"er": null}]}));
        let reread = sample.reread_value(&more).unwrap_or_else(|bad| panic!("{}: {bad}", sample.name));
        let kept_specs = more.get("job_spec").is_some() || sample.name == "Commit";
        assert!(kept_specs || reread == sample.value(), "{}: {reread}", sample.name);
    }
}

fn insert_everywhere(value: &mut Value, field: &str, new: &Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|inner| insert_everywhere(inner, field, new));
            fields.insert(field.into(), new.clone());
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| insert_everywhere(inner, field, new)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn nothing_may_follow_a_message() {
    for sample in all() {
        for tail in ["{}", "x", "]", "\0", sample.json] {
            let bad = (sample.reread)(format!("{}{tail}", sample.json).as_bytes()).unwrap_err();
            assert_eq!((bad.field.as_str(), bad.problem.as_str()), ("", "more follows after the message"));
        }
        (sample.reread)(format!("\n\t {}\r\n  ", sample.json).as_bytes()).expect("blanks are no message");
    }
}

#[test]
fn what_is_cut_off_or_no_json_is_refused() {
    for sample in all() {
        let whole = sample.json.trim_end();
        for length in 0..whole.len() {
            if !whole.is_char_boundary(length) {
                continue;
            }
            assert!((sample.reread)(&whole.as_bytes()[..length]).is_err(), "{} cut at {length}", sample.name);
        }
        for text in ["", "null", "7", "\"Complete\"", "[]", "{}", "\u{feff}{}"] {
            assert!((sample.reread)(text.as_bytes()).is_err(), "{}: {text}", sample.name);
        }
        assert!((sample.reread)(b"{\"type\": \"\xff\"}").is_err(), "{}: not UTF-8", sample.name);
    }
}

/// serde would read a struct from a list of its values, in the order in which a struct happens to name them.
#[test]
fn a_message_is_an_object() {
    for sample in all() {
        let fields = sample.value();
        let values: Vec<&Value> = fields.as_object().unwrap().values().collect();
        for order in [values.clone(), in_order_of_the_text(sample.json, &fields)] {
            let list = serde_json::to_string(&order).unwrap();
            assert!((sample.reread)(list.as_bytes()).is_err(), "{}: {list}", sample.name);
        }
    }
}

/// The examples list fields in the order of our structs, or close to it.
fn in_order_of_the_text<'v>(text: &str, fields: &'v Value) -> Vec<&'v Value> {
    let mut placed: Vec<(usize, &Value)> = Vec::new();
    for (name, value) in fields.as_object().unwrap() {
        placed.push((text.find(&format!("\"{name}\":")).unwrap(), value));
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, value)| value).collect()
}

#[test]
fn names_of_the_protocol_are_spelled_as_it_spells_them() {
    let spelled = |value: Value| value.as_str().unwrap().to_owned();
    assert_eq!(spelled(json!(CompleteStatus::Succeeded)), "SUCCEEDED");
    assert_eq!(spelled(json!(CompleteStatus::Failed)), "FAILED");
    assert_eq!(spelled(json!(CompleteRefused::CancelRequested)), "CANCEL_REQUESTED");
    assert_eq!(
        [Phase::Running, Phase::Uploading].map(|phase| spelled(json!(phase))),
        ["running", "uploading"]
    );
    let reasons = [
        (StaleReason::LeaseExpired, "LEASE_EXPIRED"),
        (StaleReason::LeaseRevoked, "LEASE_REVOKED"),
        (StaleReason::LeaseCompleted, "LEASE_COMPLETED"),
        (StaleReason::LeaseCanceled, "LEASE_CANCELED"),
        (StaleReason::LeaseUnknown, "LEASE_UNKNOWN"),
    ];
    for (reason, name) in reasons {
        assert_eq!(spelled(json!(reason)), name);
        assert_eq!(serde_json::from_value::<StaleReason>(json!(name)).unwrap(), reason);
    }
    assert_eq!(json!(tag::Complete), json!("Complete"));
}

#[test]
fn the_phase_of_a_heartbeat_is_read() {
    let mut value: Value = serde_json::from_str(include_str!("golden/heartbeat.json")).unwrap();
    for (text, phase) in [("running", Phase::Running), ("uploading", Phase::Uploading)] {
        value["progress"]["phase"] = json!(text);
        let beat: Heartbeat = decode(value.to_string().as_bytes()).unwrap();
        assert_eq!(beat.progress.unwrap().phase, Some(phase));
    }
    value["progress"]["phase"] = json!("dancing");
    let bad = decode::<Heartbeat>(value.to_string().as_bytes()).unwrap_err();
    assert_eq!(bad.field, "progress.phase");
}

#[test]
fn an_effect_says_what_kind_it_is() {
    let result = Effect::Result { value: json!({"a": 1}) };
    assert_eq!(json!(result), json!({"kind": "result", "value": {"a": 1}}));
    let webhook = Effect::Webhook { url: "u".into(), body: json!(null) };
    assert_eq!(json!(webhook), json!({"kind": "webhook", "url": "u", "body": null}));
    assert!(serde_json::from_value::<Effect>(json!({"kind": "deploy"})).is_err());
}
