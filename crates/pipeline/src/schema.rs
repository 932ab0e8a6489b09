//! The file as a JSON Schema, for editors: made of the same table of keys that the reader uses, so it cannot say less or
//! more than that table. What lies between keys (needs, cycles, limits after matrices) only the reader knows.

use serde_json::{Map, Value, json};

use crate::file::{Empty, FILE, Key, List, Named, Shape, retried_classes};

/// The whole document, as it is kept in `docs/delta-ci.schema.json`.
pub fn document() -> String {
    let mut schema = object_of(FILE);
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("$id".into(), "urn:delta-ci:pipeline:1".into());
    schema.insert("title".into(), "A pipeline of Delta CI: delta-ci.yaml".into());
    let text = serde_json::to_string_pretty(&Value::Object(schema)).expect("a tree of plain values is JSON");
    text + "\n"
}

fn object_of(shape: &Shape) -> Map<String, Value> {
    match schema_of(shape) {
        Value::Object(schema) => schema,
        other => unreachable!("a schema is an object: {other}"),
    }
}

/// As deep as the table of keys.
fn schema_of(shape: &Shape) -> Value {
    match shape {
        Shape::Version => json!({ "const": 1 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Text(format) => {
            // `1.10` and `true` are texts here, as they are written; a pattern looks only at strings.
            let mut schema = json!({ "type": ["string", "number", "boolean"] });
            if let Some(pattern) = format.pattern() {
                schema["pattern"] = pattern.into();
            }
            schema
        }
        Shape::OneOf(words) => json!({ "enum": words }),
        Shape::Class => json!({ "enum": retried_classes().collect::<Vec<_>>() }),
        Shape::List(list) => list_of(list),
        Shape::TextOrList(list) => json!({ "anyOf": [schema_of(list.of), list_of(list)] }),
        Shape::Table(keys) => table_of(keys),
        Shape::Named(named) => named_of(named),
    }
}

fn list_of(List { of, most, empty }: &List) -> Value {
    json!({ "type": "array", "items": schema_of(of), "minItems": least(empty), "maxItems": most })
}

fn named_of(Named { name, of, most, empty }: &Named) -> Value {
    let mut schema = json!({
        "type": "object",
        "additionalProperties": schema_of(of),
        "minProperties": least(empty),
        "maxProperties": most,
    });
    if let Some(pattern) = name.pattern() {
        schema["propertyNames"] = json!({ "pattern": pattern });
    }
    schema
}

fn table_of(keys: &[Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut schema = object_of(&key.shape);
        schema.insert("description".into(), key.about.into());
        properties.insert(key.name.into(), schema.into());
    }
    let required: Vec<&str> = keys.iter().filter(|key| !key.missing.is_empty()).map(|key| key.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn least(empty: &Empty) -> usize {
    match empty {
        Empty::Allowed => 0,
        Empty::Refused { .. } => 1,
    }
}
