//! A counter: what it shows lies between what was surely counted before and what may have been counted by then.

use std::collections::BTreeMap;

use super::{Entry, History, Op, Violation, rules};

pub fn check(history: &History) -> Vec<Violation> {
    let mut added: BTreeMap<&str, Vec<(u64, &Entry)>> = BTreeMap::new();
    for entry in history.entries().iter().filter(|entry| entry.may_have_happened()) {
        if let Op::Add { counter, by } = &entry.op {
            added.entry(counter).or_default().push((*by, entry));
        }
    }
    let mut violations = Vec::new();
    for entry in history.entries() {
        let (Op::Count { counter, is: Some(is) }, Some(done)) = (&entry.op, entry.done_at()) else {
            continue;
        };
        let adds = || added.get(counter.as_str()).into_iter().flatten();
        let surely: u64 = adds().filter(|(_, add)| add.latest() < entry.began).map(|(by, _)| by).sum();
        let perhaps: u64 = adds().filter(|(_, add)| add.began < done).map(|(by, _)| by).sum();
        if !(surely..=perhaps).contains(is) {
            let what = format!("{counter} shows {is}, between {surely} and {perhaps} were counted");
            violations.push(Violation::new(rules::COUNTED, what));
        }
    }
    violations
}
