//! What jobs did outside: never two at a time, never a fenced one after its successor, never more often than allowed.

use std::collections::{BTreeMap, BTreeSet};

use super::Broken;
use crate::verify::record::{Ask, Happened, JobSeen, Outcome, Record, Word};

const OVERLAP: &str = "two executions of a job are never alive at a time";
const FENCED: &str = "nothing is done by an execution after its successor has begun";
const UNKNOWN: &str = "nothing is executed without a record of it";
const UNDONE: &str = "a success was executed from begin to end";
const ONCE: &str = "what may happen once is not begun again without a person's word";

/// What each execution wrote.
type Done<'r> = BTreeMap<&'r str, BTreeSet<Word>>;

pub fn check(record: &Record) -> Vec<Broken> {
    let jobs = &record.settled.jobs;
    let executions = jobs.iter().flat_map(|job| &job.executions);
    let tokens: BTreeMap<&str, u64> =
        executions.map(|execution| (execution.id.as_str(), execution.token)).collect();
    let (mut found, mut done) = (Vec::new(), Done::new());
    let mut newest: BTreeMap<&str, u64> = BTreeMap::new();
    for moment in &record.moments {
        let Happened::Effect { word, payload, job, execution } = &moment.what else { continue };
        done.entry(execution).or_default().insert(*word);
        if *word == Word::Overlap {
            found.push((OVERLAP, format!("{payload} in {execution}")));
        }
        let Some(token) = tokens.get(execution.as_str()) else {
            found.push((UNKNOWN, format!("{payload} in {execution}")));
            continue;
        };
        let newest = newest.entry(job).or_insert(*token);
        if *newest > *token {
            found.push((FENCED, format!("{payload}: token {token} after {newest}")));
        }
        *newest = (*newest).max(*token);
    }
    let retries = retries(record);
    found.extend(jobs.iter().filter_map(|job| undone(job, &done)));
    found.extend(jobs.iter().filter_map(|job| begun_again(job, &done, &retries)));
    found
}

fn undone(job: &JobSeen, done: &Done<'_>) -> Option<Broken> {
    let whole = |words: &BTreeSet<Word>| words.contains(&Word::Begin) && words.contains(&Word::End);
    let winner = job.executions.iter().find(|execution| execution.committed);
    let is_done = winner.is_some_and(|winner| done.get(winner.id.as_str()).is_some_and(whole));
    (job.state == "SUCCEEDED" && !is_done).then(|| (UNDONE, job.payload.clone()))
}

fn begun_again(job: &JobSeen, done: &Done<'_>, retries: &BTreeMap<&str, usize>) -> Option<Broken> {
    let begun = job.executions.iter().filter(|execution| done.contains_key(execution.id.as_str())).count();
    let allowed = 1 + retries.get(job.id.as_str()).copied().unwrap_or(0);
    let again = job.once && begun > allowed;
    again.then(|| (ONCE, format!("{} was begun {begun} times, {allowed} allowed", job.payload)))
}

/// How often a person may have said so.
fn retries(record: &Record) -> BTreeMap<&str, usize> {
    let refused = record.moments.iter().filter_map(|moment| match moment.what {
        Happened::Answered { of, outcome: Outcome::Fail } => Some(of),
        _ => None,
    });
    let refused: BTreeSet<usize> = refused.collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, moment) in record.moments.iter().enumerate() {
        if let Happened::Asked { ask: Ask::Retry { job }, .. } = &moment.what
            && !refused.contains(&number)
        {
            *counts.entry(job).or_default() += 1;
        }
    }
    counts
}
