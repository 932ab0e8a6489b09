//! Reading a message: what is wrong is said with the name of the field it is wrong in.

use serde::de::DeserializeOwned;

/// The bytes are not the message they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", if field.is_empty() { String::new() } else { format!("field `{field}`: ") })]
pub struct BadMessage {
    /// The path to the field, such as `progress.percent`; empty when the message as a whole is at fault.
    pub field: String,
    pub problem: String,
}

/// Reads one JSON message. Unknown fields pass; a missing or ill-typed one is named.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BadMessage> {
    // serde would also take a list of values, in the order in which a struct happens to name its fields.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(BadMessage { field: String::new(), problem: "expected a JSON object".into() });
    }
    // Naming a field costs a piece of memory for every key on the way: only when something is wrong.
    serde_json::from_slice(bytes).or_else(|_| decode_naming_fields(bytes))
}

fn decode_naming_fields<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BadMessage> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let message: T = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let problem = without_position(&error.into_inner().to_string());
        bad_message(&path, problem)
    })?;
    reader
        .end()
        .map_err(|_| BadMessage { field: String::new(), problem: "more follows after the message".into() })?;
    Ok(message)
}

/// serde names a field that is missing or said twice in its text only, below the path of the object it belongs to.
fn bad_message(path: &str, problem: String) -> BadMessage {
    let parent = if path == "." { "" } else { path };
    let of_object = [("missing field `", "missing"), ("duplicate field `", "said twice")];
    for (beginning, short) in of_object {
        if let Some(name) = problem.strip_prefix(beginning).and_then(|rest| rest.split('`').next()) {
            let field = if parent.is_empty() { name.into() } else { format!("{parent}.{name}") };
            return BadMessage { field, problem: short.into() };
        }
    }
    BadMessage { field: parent.into(), problem }
}

/// The field says where; line and column would only repeat it.
fn without_position(problem: &str) -> String {
    problem.split(" at line ").next().unwrap_or(problem).into()
}
