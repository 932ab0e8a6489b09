//! JSON in one spelling: no spaces, the keys of every object sorted by their bytes.

use serde_json::Value;

/// The same value gives the same text, whatever order its objects were built in.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(b.0));
            between(text, '{', '}', sorted, |text, (name, value)| {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(value, text);
            });
        }
        Value::Array(values) => between(text, '[', ']', values, |text, value| write(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string())
        }
    }
}

fn between<T>(
    text: &mut String,
    open: char,
    close: char,
    items: impl IntoIterator<Item = T>,
    item: impl Fn(&mut String, T),
) {
    text.push(open);
    for (place, each) in items.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        item(text, each);
    }
    text.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_fields_does_not_matter_and_that_of_lists_does() {
        let parsed = |text| canonical(&serde_json::from_str(text).expect("JSON"));
        assert_eq!(
            parsed(r#"{"b": [2, 1], "a": {"d": null, "c": "\n\""}}"#),
            r#"{"a":{"c":"\n\"","d":null},"b":[2,1]}"#
        );
        assert_eq!(parsed(r#"{"a":1,"b":2}"#), parsed(r#"{"b":2,"a":1}"#));
        assert_ne!(parsed("[1,2]"), parsed("[2,1]"));
    }
}
