//! Logs: of the execution that won every line, of the others the first ones; none twice, none out of order.

use super::Broken;
use crate::verify::record::{ExecutionSeen, JobSeen, Record};

const LINES: &str = "a log holds each line that was printed, once and in order";
const HOLES: &str = "a log has no holes";

pub fn check(record: &Record) -> Vec<Broken> {
    let mut found = Vec::new();
    for job in &record.settled.jobs {
        for execution in &job.executions {
            found.extend(execution.gaps.iter().map(|gap| (HOLES, format!("{}: {gap}", job.payload))));
            found.extend(wrong(job, execution).map(|problem| (LINES, format!("{}: {problem}", job.payload))));
        }
    }
    found
}

fn wrong(job: &JobSeen, execution: &ExecutionSeen) -> Option<String> {
    let begin = format!("{} line ", job.payload);
    // What was cut off in the middle of a line is a first part too.
    let whole = execution.log.rfind('\n').map_or("", |end| &execution.log[..=end]);
    let numbers: Vec<&str> = whole.lines().filter_map(|line| line.strip_prefix(begin.as_str())).collect();
    let misplaced = numbers.iter().enumerate().find(|(place, number)| **number != place.to_string());
    if let Some((place, number)) = misplaced {
        return Some(format!("line {number} stands where line {place} belongs"));
    }
    let missing = execution.committed && numbers.len() != job.lines;
    missing.then(|| format!("{} of {} lines", numbers.len(), job.lines))
}
