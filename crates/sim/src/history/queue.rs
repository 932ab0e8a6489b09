//! A queue: what comes out was put in, and after it was drained all that was put in has come out.

use std::collections::{BTreeMap, BTreeSet};

use super::{History, Op, Violation, rules};

#[derive(Default)]
struct Queue<'h> {
    /// When each item was handed in at the earliest.
    offered: BTreeMap<&'h str, u64>,
    accepted: BTreeMap<&'h str, u64>,
    /// When each item had come out at the latest.
    out: BTreeMap<&'h str, u64>,
    drained: Option<u64>,
}

pub fn check(history: &History) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, queue) in queues(history) {
        for (item, at) in &queue.out {
            if queue.offered.get(item).is_none_or(|offered| offered > at) {
                violations.push(Violation::new(rules::INVENTED, format!("{item} came out of {name}")));
            }
        }
        let Some(drained) = queue.drained else { continue };
        let out: BTreeSet<&str> = queue.out.keys().copied().collect();
        for (item, accepted) in &queue.accepted {
            if *accepted < drained && !out.contains(item) {
                violations.push(Violation::new(rules::LOST, format!("{item} was put into {name}")));
            }
        }
    }
    violations
}

fn queues(history: &History) -> BTreeMap<&str, Queue<'_>> {
    let mut queues: BTreeMap<&str, Queue<'_>> = BTreeMap::new();
    for entry in history.entries().iter().filter(|entry| entry.may_have_happened()) {
        match &entry.op {
            Op::Put { queue, item } => {
                let queue = queues.entry(queue).or_default();
                queue.offered.entry(item).or_insert(entry.began);
                if let Some(done) = entry.done_at() {
                    queue.accepted.entry(item).or_insert(done);
                }
            }
            Op::Take { queue, item } => {
                if let Some(done) = entry.done_at() {
                    queues.entry(queue).or_default().out.entry(item).or_insert(done);
                }
            }
            Op::Drained { queue } => queues.entry(queue).or_default().drained = Some(entry.began),
            Op::Acquire { .. } | Op::Use { .. } | Op::Finish { .. } | Op::Name { .. } => {}
            Op::Add { .. } | Op::Count { .. } | Op::Grow { .. } | Op::Length { .. } => {}
            Op::Keep { .. } | Op::Look { .. } => {}
        }
    }
    queues
}
