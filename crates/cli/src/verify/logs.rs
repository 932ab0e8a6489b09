//! A job's log as the API streams it, put together again for each execution.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::api::sse::{Parser, SentEvent};

/// For each execution its text, and what is wrong with the offsets.
pub type Logs = BTreeMap<String, (String, Vec<String>)>;

pub fn read(stream: &[u8]) -> Logs {
    let mut events = VecDeque::new();
    let whole = Parser::default().feed(stream, &mut events);
    let mut logs = Logs::new();
    let mut next: BTreeMap<String, u64> = BTreeMap::new();
    for SentEvent { name, data, .. } in events {
        let data: Value = serde_json::from_str(&data).unwrap_or(Value::Null);
        let Some(execution) = data["exec_id"].as_str() else { continue };
        let (text, gaps) = logs.entry(execution.into()).or_default();
        let (offset, expected) =
            (data["offset"].as_u64().unwrap_or(0), next.entry(execution.into()).or_default());
        match name.as_str() {
            "log" => {
                let part = data["text"].as_str().unwrap_or_default();
                if offset != *expected {
                    gaps.push(format!("bytes {expected} to {offset}"));
                }
                text.push_str(part);
                *expected = offset + part.len() as u64;
            }
            "gap" => gaps.push(format!("{} bytes from {offset} on are not kept", data["bytes"])),
            _ => {}
        }
    }
    if whole.is_err() {
        logs.values_mut().for_each(|(_, gaps)| gaps.push("the stream could not be read".into()));
    }
    logs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_and_holes_are_named() {
        let stream = "event: execution\ndata: {\"exec_id\":\"a\"}\n\n\
                      event: log\ndata: {\"exec_id\":\"a\",\"offset\":0,\"text\":\"one\\n\"}\n\n\
                      event: log\ndata: {\"exec_id\":\"a\",\"offset\":9,\"text\":\"two\\n\"}\n\n";
        let logs = read(stream.as_bytes());
        assert_eq!(logs["a"].0, "one\ntwo\n");
        assert_eq!(logs["a"].1, ["bytes 4 to 9"]);
    }
}
