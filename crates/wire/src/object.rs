//! Objects within a message, taken as objects only. serde would also take a list of values, in the order in which a
//! struct happens to name its fields; [`decode`](crate::decode) refuses that for the message itself.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// For `deserialize_with`, of an object that may be left out or null.
pub fn maybe_object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let object = Option::<Object<T>>::deserialize(deserializer)?;
    Ok(object.map(|Object(object)| object))
}

/// For `deserialize_with`, of a list of objects.
pub fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|Object(object)| object).collect())
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_map(Objects(PhantomData)).map(Object)
    }
}

struct Objects<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Objects<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use crate::api::{CompleteUpload, CreateVersion, TriggerRun};
    use crate::decode;
    use crate::runner::{Commit, Complete, Heartbeat};

    const HEAD: &str = r#""lease_id":"l","runner_id":"r","ts":"2026-01-04T08:00:00Z""#;

    /// The field at fault, if the message is refused.
    fn fault<T: serde::de::DeserializeOwned>(json: &str) -> Option<String> {
        decode::<T>(json.as_bytes()).err().map(|bad| bad.field)
    }

    #[test]
    fn a_list_is_no_object_wherever_it_stands() {
        for (part, field) in [
            (r#""progress":[null,null]"#, "progress"),
            (r#""log_cursor":[7]"#, "log_cursor"),
            (r#""progress":{"step_index":-1}"#, "progress.step_index"),
        ] {
            let json = format!(r#"{{"type":"Heartbeat",{HEAD},{part}}}"#);
            assert_eq!(fault::<Heartbeat>(&json).as_deref(), Some(field), "{json}");
        }
        let json = format!(r#"{{"type":"Commit",{HEAD},"effects":[["result",1]]}}"#);
        assert_eq!(fault::<Commit>(&json).as_deref(), Some("effects[0]"));
        let rest = r#""status":"FAILED","exit_code":1,"artifacts":[["junit","x"]]"#;
        let json = format!(r#"{{"type":"Complete",{HEAD},{rest}}}"#);
        assert_eq!(fault::<Complete>(&json).as_deref(), Some("artifacts[0]"));
        let parts = r#"{"parts":[{"number":1,"etag":"a"},[2,"b"]]}"#;
        assert_eq!(fault::<CompleteUpload>(parts).as_deref(), Some("parts[1]"));
        let entries = r#"{"version":"1","entries":[["a","sha256:0"]]}"#;
        assert_eq!(fault::<CreateVersion>(entries).as_deref(), Some("entries[0]"));
        for (plan, field) in [
            ("[[]]", "plan"),
            (r#"{"jobs":[["a"]]}"#, "plan.jobs[0]"),
            (r#"{"jobs":[{"name":"a","artifacts":[["a","b"]]}]}"#, "plan.jobs[0].artifacts[0]"),
            (r#"{"jobs":[{"name":"a","caches":[["a","b",[]]]}]}"#, "plan.jobs[0].caches[0]"),
            (r#"{"jobs":[{"steps":[]}]}"#, "plan.jobs[0].name"),
        ] {
            assert_eq!(
                fault::<TriggerRun>(&format!(r#"{{"plan":{plan}}}"#)).as_deref(),
                Some(field),
                "{plan}"
            );
        }
    }

    #[test]
    fn objects_and_nothing_at_all_are_taken() {
        for part in [r#""progress":{"percent":5},"log_cursor":{"bytes_sent":7.0}"#, r#""progress":null"#] {
            assert_eq!(
                fault::<Heartbeat>(&format!(r#"{{"type":"Heartbeat",{HEAD},{part}}}"#)),
                None,
                "{part}"
            );
        }
        let effects = r#"[{"kind":"result","value":[1]},{"kind":"webhook","url":"u","body":{}}]"#;
        assert_eq!(fault::<Commit>(&format!(r#"{{"type":"Commit",{HEAD},"effects":{effects}}}"#)), None);
        let plan = r#"{"jobs":[{"name":"a","artifacts":[{"type":"a","path_glob":"b"}]}]}"#;
        assert_eq!(fault::<TriggerRun>(&format!(r#"{{"plan":{plan}}}"#)), None);
    }
}
