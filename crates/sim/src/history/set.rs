//! A set of what is kept for good: all that was acknowledged is seen by every later look, and nothing else but what was
//! handed in.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, History, Op, Violation, rules};

pub fn check(history: &History) -> Vec<Violation> {
    let mut kept: BTreeMap<&str, Vec<(&str, &Entry)>> = BTreeMap::new();
    for entry in history.entries().iter().filter(|entry| entry.may_have_happened()) {
        if let Op::Keep { set, item } = &entry.op {
            kept.entry(set).or_default().push((item, entry));
        }
    }
    let mut violations = Vec::new();
    for look in history.entries().iter().filter(|entry| entry.is_ok()) {
        let Op::Look { set, items: Some(items) } = &look.op else { continue };
        let seen: BTreeSet<&str> = items.iter().map(String::as_str).collect();
        let handed_in = kept.get(set.as_str()).map(Vec::as_slice).unwrap_or_default();
        for (item, entry) in handed_in {
            if entry.latest() < look.began && !seen.contains(item) {
                violations.push(Violation::new(rules::FORGOTTEN, format!("{item} is not in {set}")));
            }
        }
        let offered: BTreeSet<&str> = handed_in
            .iter()
            .filter(|(_, entry)| entry.began < look.latest())
            .map(|(item, _)| *item)
            .collect();
        for item in seen.difference(&offered) {
            violations.push(Violation::new(rules::NEVER_KEPT, format!("{item} is in {set}")));
        }
    }
    violations
}
