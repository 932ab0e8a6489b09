//! Names: nobody is given one that somebody has.

use std::collections::BTreeMap;

use super::{History, Op, Violation, rules};

pub fn check(history: &History) -> Vec<Violation> {
    let mut given: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in history.entries().iter().filter(|entry| entry.is_ok()) {
        let Op::Name { of, name: Some(name) } = &entry.op else { continue };
        if let Some(first) = given.insert((of, name), &entry.client) {
            let what = format!("{of}: {name} to {first} and to {}", entry.client);
            violations.push(Violation::new(rules::GIVEN_TWICE, what));
        }
    }
    violations
}
