//! What only grows: acknowledged bytes are there, none is there that nobody sent, and no look shows less than one before.

use std::collections::BTreeMap;

use super::{Entry, History, Op, Violation, rules};

#[derive(Default)]
struct Growing<'h> {
    grown: Vec<(u64, &'h Entry)>,
    seen: Vec<(u64, &'h Entry)>,
}

pub fn check(history: &History) -> Vec<Violation> {
    let mut logs: BTreeMap<&str, Growing<'_>> = BTreeMap::new();
    for entry in history.entries().iter().filter(|entry| entry.may_have_happened()) {
        match &entry.op {
            Op::Grow { log, to } => logs.entry(log).or_default().grown.push((*to, entry)),
            Op::Length { log, is: Some(is) } if entry.is_ok() => {
                logs.entry(log).or_default().seen.push((*is, entry));
            }
            _ => {}
        }
    }
    logs.iter().flat_map(|(name, log)| log.violations(name)).collect()
}

impl Growing<'_> {
    fn violations(&self, name: &str) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut broken = |rule, what: String| violations.push(Violation::new(rule, what));
        for (index, (is, look)) in self.seen.iter().enumerate() {
            let before = |entry: &Entry| entry.done_at().is_some_and(|done| done < look.began);
            let acknowledged = self.grown.iter().filter(|(_, grow)| before(grow)).map(|(to, _)| *to).max();
            if acknowledged.is_some_and(|acknowledged| acknowledged > *is) {
                let acknowledged = acknowledged.unwrap_or_default();
                broken(rules::FORGOTTEN, format!("{name}: {is} of {acknowledged} acknowledged bytes"));
            }
            let sent = self.grown.iter().filter(|(_, grow)| grow.began < look.latest()).map(|(to, _)| *to);
            if sent.max().unwrap_or(0) < *is {
                broken(rules::NEVER_KEPT, format!("{name}: {is} bytes are more than were sent"));
            }
            let longest = self.seen[..index].iter().filter(|(_, seen)| before(seen)).map(|(is, _)| *is).max();
            if longest.is_some_and(|longest| longest > *is) {
                broken(rules::SHRUNK, format!("{name}: {} became {is}", longest.unwrap_or_default()));
            }
        }
        violations
    }
}
