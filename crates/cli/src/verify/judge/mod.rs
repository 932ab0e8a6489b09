//! Who looks at a record and says which promises it breaks. Nobody here knows how anything was made to hold.
//!
//! What a queue, a lease, a counter and a set promise is checked by `sim::history`; what only our jobs, logs and
//! subscribers can show is checked here.

mod effects;
mod logs;
mod order;
mod told;

use std::collections::BTreeMap;

use super::calm::is_over;
use super::record::Record;

/// A record that breaks one rule a thousand times says so, and not a thousand times.
const SHOWN_PER_RULE: usize = 5;

/// A promise, and what breaks it.
type Broken = (&'static str, String);

pub fn findings(record: &Record) -> Vec<String> {
    let settled = &record.settled;
    let mut found = settled.unrest.clone();
    let open = settled.jobs.iter().filter(|job| !is_over(&job.state));
    found.extend(open.map(|job| format!("{} has come to rest as {}", job.payload, job.state)));
    found.extend(settled.doctor.iter().map(|problem| format!("deltaci doctor: {problem}")));
    let violations = sim::history::check(&told::history(record));
    let violations = violations.iter().map(|violation| (violation.rule, violation.what.clone()));
    let own = effects::check(record).into_iter().chain(logs::check(record)).chain(order::check(record));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (rule, what) in violations.chain(own) {
        let count = counts.entry(rule).or_default();
        *count += 1;
        if *count <= SHOWN_PER_RULE {
            found.push(format!("{rule}: {what}"));
        }
    }
    let more = counts.iter().filter(|(_, count)| **count > SHOWN_PER_RULE);
    found.extend(more.map(|(rule, count)| format!("{rule}: {count} times in all")));
    found
}

/// How often each promise was put to the test.
pub fn tried(record: &Record) -> Vec<(String, u64)> {
    let settled = &record.settled;
    let executions = || settled.jobs.iter().flat_map(|job| &job.executions);
    let again = settled.jobs.iter().map(|job| job.executions.len().saturating_sub(1) as u64);
    vec![
        ("jobs accepted, each came to an end".into(), settled.jobs.len() as u64),
        ("executions, their tokens rising".into(), executions().count() as u64),
        ("executions after one that was lost".into(), again.sum()),
        ("messages, each told, once in effect".into(), settled.messages.len() as u64),
        (
            "bytes of logs, line by line".into(),
            executions().map(|execution| execution.log.len() as u64).sum(),
        ),
    ]
}
