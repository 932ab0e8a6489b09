//! What a file holds. A copy of a node is cheap, because an alias is a copy.

use std::sync::Arc;

use super::core::{Kind, kind_of};
use crate::problem::Place;

#[derive(Debug, Clone)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Debug, Clone)]
pub enum Value {
    Scalar(Scalar),
    List(Arc<[Node]>),
    /// In the order it was written, each key once.
    Table(Arc<[Entry]>),
}

#[derive(Debug, Clone)]
pub struct Scalar {
    /// As it was written: `1.10` is not `1.1`.
    pub text: Arc<str>,
    /// Without quotes; only then may it be more than a text.
    pub plain: bool,
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub key: Arc<str>,
    pub place: Place,
    pub value: Node,
}

impl Node {
    /// The value of a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| &*entry.key == key).map(|entry| &entry.value)
    }

    /// Empty if this is no table.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            Value::Scalar(_) | Value::List(_) => &[],
        }
    }

    /// Empty if this is no list.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Scalar(_) | Value::Table(_) => &[],
        }
    }

    pub fn kind(&self) -> Kind {
        match &self.value {
            Value::Scalar(scalar) => scalar.kind(),
            Value::List(_) => Kind::List,
            Value::Table(_) => Kind::Table,
        }
    }

    /// A scalar as it was written; nothing for what is empty, a list or a table.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) if scalar.kind() != Kind::Null => Some(&scalar.text),
            Value::Scalar(_) | Value::List(_) | Value::Table(_) => None,
        }
    }
}

impl Scalar {
    pub fn kind(&self) -> Kind {
        if self.plain { kind_of(&self.text) } else { Kind::Text }
    }
}
